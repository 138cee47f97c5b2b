/* The floor of deciding commands (deciding.py) in Kafka's part: bare librdkafka, no code of ours.
 *
 *     bench-deciding-floor BOOTSTRAP PREFIX COPIES PARTITIONS TRANSACTIONS COMMANDS WRITTEN
 *
 * COMMANDS and WRITTEN: topics and where to read them, such as comments=12,9:40,31 (first and last offsets, one a partition), separated by
 * spaces. WRITTEN: those that the process reads back, a "+", and those that it only writes.
 *
 * Reads the commands; reads back what the process has written; and writes the same records, with the same keys and bytes, to the topics of
 * the same names under the prefix COPIES, evenly in so many transactions, each with an offset of the commands. Prints CPU seconds of each,
 * and how many records each topic got.
 */
#include <stdint.h>
#include <stdlib.h>

#include "bench/floor.h"

enum { BATCH = 1000, PARTITIONS_MAX = 1024, TOPICS_MAX = 16, WAIT_MS = 100, TIMEOUT_MS = 60000, NAME = 256 };

struct range {
    char name[NAME]; /* of the topic, without a prefix */
    int64_t first[PARTITIONS_MAX], last[PARTITIONS_MAX];
};

/* The records of a partition. */
struct kept {
    rd_kafka_message_t **messages;
    size_t count, room;
};

struct bench {
    const char *bootstrap, *prefix, *copies;
    int partitions;
    struct range ranges[TOPICS_MAX];
    int count, read_back; /* ranges[0] is of the commands, then read_back others that are read back */
    struct kept *kept;    /* [topic * partitions + partition] */
};

static void check(rd_kafka_error_t *error) {
    if (error) bench_fail(rd_kafka_error_string(error));
}

/* ---- arguments ---- */

static char *read_numbers(char *at, int64_t *into, int count) {
    for (int i = 0; i < count; i++) into[i] = strtoll(at + (i > 0), &at, 10);
    return at;
}

static void read_ranges(struct bench *bench, char *text) {
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        if (strcmp(word, "+") == 0) {
            bench->read_back = bench->count - 1;
            continue;
        }
        struct range *range = &bench->ranges[bench->count++];
        char *equals = strchr(word, '=');
        if (!equals || bench->count == TOPICS_MAX) bench_fail("a topic is name=first:last");
        snprintf(range->name, NAME, "%.*s", (int)(equals - word), word);
        char *at = read_numbers(equals + 1, range->first, bench->partitions);
        if (*at != ':' || *read_numbers(at + 1, range->last, bench->partitions))
            bench_fail("as many offsets as partitions");
    }
}

/* ---- reading ---- */

static void keep(struct bench *bench, int topic, rd_kafka_message_t *message) {
    struct kept *kept = &bench->kept[topic * bench->partitions + message->partition];
    if (kept->count == kept->room) {
        kept->room = kept->room ? 2 * kept->room : 1024;
        kept->messages = realloc(kept->messages, kept->room * sizeof(rd_kafka_message_t *));
        if (!kept->messages) bench_fail("no memory");
    }
    kept->messages[kept->count++] = message;
}

/* Reads some topics at once, to their ends, which are behind transactions' markers. Records of the first topic are not kept. */
static void read_topics(struct bench *bench, rd_kafka_t *consumer, int from, int count) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(count * bench->partitions);
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(consumer);
    rd_kafka_message_t *messages[BATCH];
    int left = 0;
    for (int t = from; t < from + count; t++) {
        char name[2 * NAME];
        snprintf(name, sizeof name, "%s%s", bench->prefix, bench->ranges[t].name);
        for (int p = 0; p < bench->partitions; p++) {
            if (bench->ranges[t].first[p] == bench->ranges[t].last[p]) continue;
            rd_kafka_topic_partition_list_add(list, name, p)->offset = bench->ranges[t].first[p];
            left++;
        }
    }
    if (rd_kafka_assign(consumer, list)) bench_fail("the partitions cannot be read");
    while (left) {
        ssize_t got = rd_kafka_consume_batch_queue(queue, WAIT_MS, messages, BATCH);
        for (ssize_t i = 0; i < got; i++) {
            left -= messages[i]->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
            int topic = from;
            const char *name = rd_kafka_topic_name(messages[i]->rkt) + strlen(bench->prefix);
            while (topic && !messages[i]->err && strcmp(bench->ranges[topic].name, name) != 0) topic++;
            if (messages[i]->err || !topic)
                rd_kafka_message_destroy(messages[i]);
            else
                keep(bench, topic, messages[i]);
        }
    }
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_queue_destroy(queue);
}

/* ---- writing ---- */

static void commit(struct bench *bench, rd_kafka_t *consumer, rd_kafka_t *producer, int64_t number) {
    char name[2 * NAME];
    snprintf(name, sizeof name, "%s%s", bench->copies, bench->ranges[0].name);
    rd_kafka_topic_partition_list_t *offsets = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(offsets, name, 0)->offset = number;
    rd_kafka_consumer_group_metadata_t *group = rd_kafka_consumer_group_metadata(consumer);
    check(rd_kafka_send_offsets_to_transaction(producer, offsets, group, TIMEOUT_MS));
    check(rd_kafka_commit_transaction(producer, TIMEOUT_MS));
    rd_kafka_consumer_group_metadata_destroy(group);
    rd_kafka_topic_partition_list_destroy(offsets);
}

static void write_some(const struct kept *kept, rd_kafka_topic_t *topic, rd_kafka_t *producer, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        const rd_kafka_message_t *message = kept->messages[i];
        while (rd_kafka_produce(topic, message->partition, RD_KAFKA_MSG_F_COPY, message->payload, message->len,
                                message->key, message->key_len, NULL))
            rd_kafka_poll(producer, WAIT_MS);
    }
}

static void write_all(struct bench *bench, rd_kafka_t *consumer, rd_kafka_t *producer, size_t transactions) {
    rd_kafka_topic_t *topics[TOPICS_MAX] = {NULL};
    for (int t = 1; t < bench->count; t++) {
        char name[2 * NAME];
        snprintf(name, sizeof name, "%s%s", bench->copies, bench->ranges[t].name);
        topics[t] = rd_kafka_topic_new(producer, name, NULL);
    }
    for (size_t n = 0; n < transactions; n++) {
        check(rd_kafka_begin_transaction(producer));
        for (int i = bench->partitions; i < bench->count * bench->partitions; i++) {
            const struct kept *kept = &bench->kept[i];
            write_some(kept, topics[i / bench->partitions], producer, kept->count * n / transactions,
                       kept->count * (n + 1) / transactions);
        }
        commit(bench, consumer, producer, (int64_t)n);
    }
    for (int t = 1; t < bench->count; t++) rd_kafka_topic_destroy(topics[t]);
}

/* A JSON object: the topics that were written, and how many records each got. */
static void print_records(const struct bench *bench) {
    for (int t = 1; t < bench->count; t++) {
        size_t count = 0;
        for (int p = 0; p < bench->partitions; p++) count += bench->kept[t * bench->partitions + p].count;
        printf("%c\"%s\":%zu", t == 1 ? '{' : ',', bench->ranges[t].name, count);
    }
    printf("}");
}

static double since(double *before) {
    double now = bench_cpu_s(), spent = now - *before;
    *before = now;
    return spent;
}

int main(int argc, char **argv) {
    struct bench *bench = calloc(1, sizeof *bench);
    if (argc != 8 || !bench) bench_fail("its head says which arguments there are");
    bench->bootstrap = argv[1];
    bench->prefix = argv[2];
    bench->copies = argv[3];
    bench->partitions = atoi(argv[4]);
    if (bench->partitions < 1 || bench->partitions > PARTITIONS_MAX) bench_fail("1 to 1024 partitions");
    size_t transactions = (size_t)atoll(argv[5]);
    read_ranges(bench, argv[6]);
    read_ranges(bench, argv[7]);
    bench->kept = calloc((size_t)bench->count * (size_t)bench->partitions, sizeof *bench->kept);
    if (!bench->kept) bench_fail("no memory");
    rd_kafka_t *consumer =
        floor_client(RD_KAFKA_CONSUMER,
                     floor_settings("bootstrap.servers=%s group.id=bench-deciding-floor enable.auto.commit=false "
                                    "isolation.level=read_committed enable.partition.eof=true fetch.wait.max.ms=50 "
                                    "socket.nagle.disable=true",
                                    bench->bootstrap));
    rd_kafka_t *producer = floor_client(
        RD_KAFKA_PRODUCER,
        floor_settings("bootstrap.servers=%s acks=all enable.idempotence=true transactional.id=bench-deciding-floor "
                       "linger.ms=100 queue.buffering.max.messages=10000000 queue.buffering.max.kbytes=65536 "
                       "socket.nagle.disable=true",
                       bench->bootstrap));
    rd_kafka_poll_set_consumer(consumer);
    check(rd_kafka_init_transactions(producer, TIMEOUT_MS));
    double before = bench_cpu_s();
    read_topics(bench, consumer, 0, 1);
    double commands = since(&before);
    read_topics(bench, consumer, 1, bench->read_back);
    double back = since(&before);
    read_topics(bench, consumer, 1 + bench->read_back, bench->count - 1 - bench->read_back);
    since(&before);
    write_all(bench, consumer, producer, transactions);
    printf("{\"commands_s\":%.4f,\"read_back_s\":%.4f,\"write_s\":%.4f,\"records\":", commands, back, since(&before));
    print_records(bench);
    printf("}\n");
    for (int i = 0; i < bench->count * bench->partitions; i++) {
        for (size_t n = 0; n < bench->kept[i].count; n++) rd_kafka_message_destroy(bench->kept[i].messages[n]);
        free(bench->kept[i].messages);
    }
    free(bench->kept);
    rd_kafka_consumer_close(consumer);
    rd_kafka_destroy(producer);
    rd_kafka_destroy(consumer);
    free(bench);
    return 0;
}
