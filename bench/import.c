/* The parts of bench/import that are too many for a script:
 *
 *     bench-import write FRIENDSHIPS USERS SEED FILE      the graph, two ids a line
 *     bench-import check FRIENDSHIPS USERS SEED PARTITIONS FOLDER
 *                                                         whether a router's friend lists are exactly that graph
 *     bench-import floor BOOTSTRAP PREFIX FRIENDSHIPS USERS SEED PARTITIONS
 *                                                         librdkafka alone: produces as many records as the import, consumes
 *                                                         them, produces twice as many in transactions with their offsets,
 *                                                         and reads those back
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "bench/floor.h"
#include "bench/import_graph.h"
#include "router/graph.h"

enum { BATCH = 10000, COMMAND_BYTES = 22, HALF_BYTES = 14, KEY_BYTES = 16 };

/* ---- the graph ---- */

static int write_graph(char **arguments) {
    struct bench_graph graph =
        bench_graph_new(atoll(arguments[0]), atoll(arguments[1]), strtoull(arguments[2], NULL, 10));
    FILE *file = fopen(arguments[3], "we");
    uint64_t a, b;
    if (!file) bench_die(arguments[3], "cannot be written");
    while (bench_graph_next(&graph, &a, &b)) fprintf(file, "%" PRIu64 " %" PRIu64 "\n", a, b);
    if (fclose(file)) bench_die(arguments[3], "cannot be written");
    bench_graph_free(&graph);
    return 0;
}

static uint64_t half_hash(uint64_t user, uint64_t friend) { return hash_u64(hash_u64(user + 1) + friend); }

static int check(char **arguments) {
    struct bench_graph wanted =
        bench_graph_new(atoll(arguments[0]), atoll(arguments[1]), strtoull(arguments[2], NULL, 10));
    int32_t partitions = (int32_t)atoi(arguments[3]);
    uint64_t a, b, want = 0, have = 0, halves = 0;
    size_t most = 0;
    int64_t users = (int64_t)wanted.users, friendships = wanted.left;
    while (bench_graph_next(&wanted, &a, &b)) want += half_hash(a, b) + half_hash(b, a);
    bench_graph_free(&wanted);

    struct graph_options options = {
        .path = arguments[4], .partitions = partitions, .cap = 5000, .max_age_ms = INT64_MAX / 4};
    struct graph *graph;
    struct id_list list = {.items = NULL};
    struct error error;
    if (graph_open(&options, &graph, &error)) bench_die("the router's store", error.text);
    for (int32_t p = 0; p < partitions; p++) {
        int64_t from;
        if (adjacency_attach(graph_lists(graph), p, 0, &from, &error)) bench_die("a partition", error.text);
    }
    for (int64_t user = 0; user < users; user++) {
        if (graph_friends(graph, hash_user_partition(user, partitions), user, &list, &error))
            bench_die("a friend list", error.text);
        for (size_t i = 0; i < list.count; i++) have += half_hash((uint64_t)user, (uint64_t)list.items[i]);
        halves += list.count;
        if (list.count > most) most = list.count;
    }
    id_list_free(&list);
    graph_close(graph);
    printf("{\"halves\":%" PRIu64 ",\"exact\":%s,\"most\":%zu}\n", halves,
           have == want && halves == (uint64_t)friendships * 2 ? "true" : "false", most);
    return have == want ? 0 : 1;
}

/* ---- the floor ---- */

struct floor {
    const char *bootstrap, *prefix;
    int64_t friendships, users;
    uint64_t seed;
    int32_t partitions;
    _Atomic int64_t produced, handled, read;
};

static rd_kafka_topic_t *topic(const struct floor *floor, rd_kafka_t *kafka, const char *name) {
    char full[128];
    snprintf(full, sizeof full, "%s%s", floor->prefix, name);
    return rd_kafka_topic_new(kafka, full, NULL);
}

static void produce(rd_kafka_t *kafka, rd_kafka_topic_t *to, int32_t partition, const void *key, size_t key_size,
                    size_t size) {
    char value[COMMAND_BYTES] = {0};
    while (rd_kafka_produce(to, partition, RD_KAFKA_MSG_F_COPY, value, size, key, key_size, NULL))
        rd_kafka_poll(kafka, 10);
}

static void *produce_commands(void *context) {
    struct floor *floor = context;
    rd_kafka_t *kafka = floor_client(
        RD_KAFKA_PRODUCER,
        floor_settings("bootstrap.servers=%s acks=all enable.idempotence=true linger.ms=20", floor->bootstrap));
    rd_kafka_topic_t *commands = topic(floor, kafka, "friend-commands");
    struct bench_graph graph = bench_graph_new(floor->friendships, floor->users, floor->seed);
    uint64_t a, b;
    while (bench_graph_next(&graph, &a, &b)) {
        uint8_t key[KEY_BYTES];
        uint64_t lower = a < b ? a : b;
        bytes_put_be64(key, lower);
        produce(kafka, commands, hash_user_partition((int64_t)lower, floor->partitions), key, 8, COMMAND_BYTES);
        if (++floor->produced % 1000 == 0) rd_kafka_poll(kafka, 0);
    }
    bench_graph_free(&graph);
    rd_kafka_flush(kafka, 30000);
    rd_kafka_topic_destroy(commands);
    rd_kafka_destroy(kafka);
    return NULL;
}

static rd_kafka_t *reader(const struct floor *floor, const char *more) {
    return floor_client(RD_KAFKA_CONSUMER,
                        floor_settings("bootstrap.servers=%s enable.auto.commit=false fetch.wait.max.ms=50 %s",
                                       floor->bootstrap, more));
}

static rd_kafka_queue_t *read_all(const struct floor *floor, rd_kafka_t *kafka, const char *name) {
    char full[128];
    snprintf(full, sizeof full, "%s%s", floor->prefix, name);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(floor->partitions);
    for (int32_t p = 0; p < floor->partitions; p++)
        rd_kafka_topic_partition_list_add(list, full, p)->offset = RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_poll_set_consumer(kafka);
    rd_kafka_assign(kafka, list);
    rd_kafka_topic_partition_list_destroy(list);
    return rd_kafka_queue_get_consumer(kafka);
}

static void good(rd_kafka_error_t *failure, const char *what) {
    if (failure) bench_die(what, rd_kafka_error_string(failure));
}

static void *handle_commands(void *context) {
    struct floor *floor = context;
    rd_kafka_t *consumer = reader(floor, "group.id=bench-floor");
    rd_kafka_t *kafka =
        floor_client(RD_KAFKA_PRODUCER,
                     floor_settings("bootstrap.servers=%s acks=all transactional.id=bench-floor", floor->bootstrap));
    rd_kafka_topic_t *halves = topic(floor, kafka, "friendships");
    rd_kafka_queue_t *queue = read_all(floor, consumer, "friend-commands");
    rd_kafka_message_t **messages = mem_alloc(BATCH * sizeof(rd_kafka_message_t *));
    good(rd_kafka_init_transactions(kafka, 30000), "starting transactions");
    while (floor->handled < floor->friendships) {
        int64_t taken = 0;
        rd_kafka_topic_partition_list_t *offsets = rd_kafka_topic_partition_list_new(floor->partitions);
        while (!taken) taken = rd_kafka_consume_batch_queue(queue, 100, messages, BATCH);
        good(rd_kafka_begin_transaction(kafka), "beginning a transaction");
        for (int64_t i = 0; i < taken; i++) {
            const rd_kafka_message_t *m = messages[i];
            uint8_t key[KEY_BYTES] = {0};
            memcpy(key + 8, m->key, 8);
            produce(kafka, halves, m->partition, key, sizeof key, HALF_BYTES);
            produce(kafka, halves, (m->partition + (int32_t)i) % floor->partitions, key, sizeof key, HALF_BYTES);
            rd_kafka_topic_partition_t *place =
                rd_kafka_topic_partition_list_find(offsets, rd_kafka_topic_name(m->rkt), m->partition);
            if (!place) place = rd_kafka_topic_partition_list_add(offsets, rd_kafka_topic_name(m->rkt), m->partition);
            place->offset = m->offset + 1;
        }
        for (int64_t i = 0; i < taken; i++) rd_kafka_message_destroy(messages[i]);
        rd_kafka_consumer_group_metadata_t *metadata = rd_kafka_consumer_group_metadata_new("bench-floor");
        good(rd_kafka_send_offsets_to_transaction(kafka, offsets, metadata, 30000), "offsets");
        good(rd_kafka_commit_transaction(kafka, 30000), "committing");
        rd_kafka_consumer_group_metadata_destroy(metadata);
        rd_kafka_topic_partition_list_destroy(offsets);
        floor->handled += taken;
    }
    free(messages);
    rd_kafka_queue_destroy(queue);
    rd_kafka_topic_destroy(halves);
    rd_kafka_destroy(kafka);
    rd_kafka_consumer_close(consumer);
    rd_kafka_destroy(consumer);
    return NULL;
}

static void *read_back(void *context) {
    struct floor *floor = context;
    rd_kafka_t *consumer = reader(floor, "group.id=bench-floor-reader isolation.level=read_committed");
    rd_kafka_queue_t *queue = read_all(floor, consumer, "friendships");
    rd_kafka_message_t **messages = mem_alloc(BATCH * sizeof(rd_kafka_message_t *));
    while (floor->read < floor->friendships * 2) {
        ssize_t got = rd_kafka_consume_batch_queue(queue, 100, messages, BATCH);
        for (ssize_t i = 0; i < got; i++) rd_kafka_message_destroy(messages[i]);
        if (got > 0) floor->read += got;
    }
    free(messages);
    rd_kafka_queue_destroy(queue);
    rd_kafka_consumer_close(consumer);
    rd_kafka_destroy(consumer);
    return NULL;
}

static int run_floor(char **arguments) {
    struct floor floor = {.bootstrap = arguments[0],
                          .prefix = arguments[1],
                          .friendships = atoll(arguments[2]),
                          .users = atoll(arguments[3]),
                          .seed = strtoull(arguments[4], NULL, 10),
                          .partitions = (int32_t)atoi(arguments[5])};
    static void *(*const PARTS[])(void *) = {produce_commands, handle_commands, read_back};
    pthread_t threads[3];
    int64_t before = clock_monotonic_us();
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, PARTS[i], &floor);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    printf("{\"seconds\":%.3f,\"cpu\":%.3f}\n", (double)(clock_monotonic_us() - before) / 1e6, bench_cpu_s());
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 6 && !strcmp(argv[1], "write")) return write_graph(argv + 2);
    if (argc == 7 && !strcmp(argv[1], "check")) return check(argv + 2);
    if (argc == 8 && !strcmp(argv[1], "floor")) return run_floor(argv + 2);
    if (argc == 2 && !strcmp(argv[1], "machine")) {
        bench_print_machine(stdout, NULL, "import");
        return 0;
    }
    bench_die("usage", "write | check | floor | machine: see bench/import");
}
