/* The pure restore, and what the restore from Kafka needs (bench/restore.py runs that):
 *
 *     bench-restore pure [--users N] [--friends MEAN] [--partitions P] [--build MB] [--json FILE]
 *     bench-restore fill BOOTSTRAP PREFIX [--users N] [--friends MEAN] [--partitions P]
 *     bench-restore read BOOTSTRAP PREFIX [--partitions P]
 *
 * pure: half-edges in no order, from memory through the sorted runs into a store on disk; once with the runs in memory and
 * once with nearly all of them on disk. The floor is sorting the half-edges alone (qsort of 16 bytes).
 * fill: the same half-edges as records of the topic friendships, made by the routers' encoder; prints how many, and a user
 * with the number of their friends. read: reads them all and does nothing with them, the floor of what a router does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "bench/graph_data.h"
#include "bench/machine.h"
#include "event/codec.h"
#include "event/topics.h"
#include "kafka/producer.h"
#include "router/graph_private.h"

enum { LOT = 65536, MANY = 100000 };

struct options {
    size_t users, partitions, build_mb;
    double friends;
    FILE *json;
};

struct figures {
    double seconds, cpu, rss_mb;
    double disk_bytes;
};

/* An old friendship: its `since` is not kept. */
static struct friendship old_half(size_t at) {
    return (struct friendship){.state = FRIENDSHIP_FRIENDS, .since = INT64_C(1700000000000) + (int64_t)(at * 7)};
}

static struct figures restore(const struct bench_graph *data, const struct options *wanted, size_t build_bytes) {
    char folder[] = "/tmp/bench-restore-XXXXXX", command[128];
    struct error error;
    if (!mkdtemp(folder)) bench_die(folder, "cannot be made");
    char *path = mem_format("%s/friends", folder);
    int32_t partitions = (int32_t)wanted->partitions;
    struct graph *graph = bench_graph_open(path, partitions, 0, build_bytes);
    double cpu = bench_cpu_s();
    int64_t before = clock_monotonic_us();
    for (size_t i = 0; i < data->count; i++) {
        int32_t partition = hash_user_partition(data->halves[i].user, partitions);
        struct friendship half = old_half(i);
        graph_add(graph, partition, (int64_t)i, data->halves[i].user, data->halves[i].other, &half);
        if (adjacency_queued(graph_lists(graph), partition) < LOT) continue;
        if (adjacency_apply(graph_lists(graph), partition, (int64_t)i + 1, clock_wall_ms(), true, &error))
            bench_die("applying", error.text);
    }
    for (int32_t p = 0; p < partitions; p++) {
        if (adjacency_apply(graph_lists(graph), p, (int64_t)data->count, clock_wall_ms(), true, &error))
            bench_die("applying", error.text);
        if (adjacency_finish(graph_lists(graph), p, clock_wall_ms(), &error)) bench_die("finishing", error.text);
    }
    struct figures figures = {
        .seconds = (double)(clock_monotonic_us() - before) / 1e6,
        .cpu = bench_cpu_s() - cpu,
        .rss_mb = bench_peak_rss() / 1e6,
        .disk_bytes = (double)adjacency_used(graph_lists(graph)).store.sst_files,
    };
    graph_close(graph);
    free(path);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) bench_die(folder, "cannot be removed");
    return figures;
}

static int by_user_and_other(const void *a, const void *b) {
    const struct bench_half *x = a, *y = b;
    if (x->user != y->user) return x->user < y->user ? -1 : 1;
    return (x->other > y->other) - (x->other < y->other);
}

static void print_row(const struct options *options, const char *what, const struct bench_graph *data, struct figures f,
                      double floor) {
    double rate = (double)data->count / f.cpu;
    printf("%-28s %10.2fM %12.2fM %8.2f s %8.2f\n", what, rate / 1e6, (double)data->count / f.seconds / 1e6, f.seconds,
           floor > 0 ? rate / floor : 1);
    if (options->json)
        fprintf(options->json,
                "%s{\"restore\":\"%s\",\"half_edges_per_s_core\":%.0f,\"seconds\":%.3f,\"disk_bytes\":%.0f}",
                floor > 0 ? "," : "", what, rate, f.seconds, f.disk_bytes);
}

static int pure(struct options *options) {
    if (options->json) fputc('{', options->json);
    bench_print_machine(stdout, options->json, "restore (pure)");
    struct bench_graph data = bench_graph_synthetic(options->users, options->friends, 1);
    bench_graph_shuffle(&data, 2);
    printf("%zu users, %zu half-edges in no order, %zu partitions\n\n", data.users, data.count, options->partitions);
    printf("%-28s %11s %13s %10s %8s\n", "", "/s/core", "/s", "time", "ratio");
    if (options->json) fprintf(options->json, "\"half_edges\":%zu,\"rows\":[", data.count);
    struct figures memory = restore(&data, options, options->build_mb << 20), disk = restore(&data, options, 1 << 20);
    struct figures floor = {.cpu = bench_cpu_s(), .seconds = (double)clock_monotonic_us() / 1e6};
    qsort(data.halves, data.count, sizeof *data.halves, by_user_and_other);
    floor.cpu = bench_cpu_s() - floor.cpu;
    floor.seconds = (double)clock_monotonic_us() / 1e6 - floor.seconds;
    double best = (double)data.count / floor.cpu;
    print_row(options, "floor: sorting alone", &data, floor, 0);
    print_row(options, "runs in memory", &data, memory, best);
    print_row(options, "runs on disk (1 MiB kept)", &data, disk, best);
    printf("\n%.2f bytes a half-edge on disk; peak RSS %.0f MB, of which %.0f MB are the half-edges of this program\n",
           memory.disk_bytes / (double)data.count, memory.rss_mb, (double)(data.capacity * sizeof *data.halves) / 1e6);
    if (options->json) fputs("]}\n", options->json);
    bench_graph_free(&data);
    return 0;
}

/* ---- into a topic ---- */

static void on_delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                         int64_t offset) {
    if (code) bench_die("producing", strerror(-code));
}

static int fill(const char *bootstrap, const char *prefix, const struct options *options) {
    uv_loop_t loop;
    struct error error;
    struct kafka_settings settings = {
        .topics = &TOPICS_ALL, .bootstrap = bootstrap, .prefix = prefix, .client_id = "bench-restore"};
    struct kafka_producer_options wanted = {
        .loop = &loop, .settings = &settings, .linger_ms = 50, .on_delivered = on_delivered};
    struct kafka_producer *producer;
    struct buffer value = {.data = NULL};
    struct bench_graph data = bench_graph_synthetic(options->users, options->friends, 1);
    bench_graph_shuffle(&data, 2);
    uv_loop_init(&loop);
    if (kafka_producer_new(&wanted, &producer, &error)) bench_die("producer", error.text);
    size_t friends = 0;
    for (size_t i = 0; i < data.count; i++) {
        uint8_t key[16];
        struct friendship half = old_half(i);
        bytes_put_be64(key, (uint64_t)data.halves[i].user);
        bytes_put_be64(key + 8, (uint64_t)data.halves[i].other);
        buffer_clear(&value);
        event_encode_friendship(&value, &half);
        int32_t partition = hash_user_partition(data.halves[i].user, (int32_t)options->partitions);
        int code;
        while ((code = kafka_producer_send(producer, &TOPIC_FRIENDSHIPS, partition, key, sizeof key, value.data,
                                           value.size, NULL)) == -EAGAIN)
            uv_run(&loop, UV_RUN_ONCE);
        if (code) bench_die("producing", strerror(-code));
        if (i % MANY == 0) uv_run(&loop, UV_RUN_NOWAIT);
        friends += data.halves[i].user == data.halves[0].user;
    }
    printf("{\"half_edges\":%zu,\"user\":%" PRId64 ",\"friends\":%zu}\n", data.count, data.halves[0].user, friends);
    kafka_producer_free(producer, 60000);
    uv_run(&loop, UV_RUN_DEFAULT);
    buffer_free(&value);
    bench_graph_free(&data);
    return 0;
}

enum { MOST_PARTITIONS = 1024 };

struct reading {
    struct kafka_consumer *consumer;
    int64_t ends[MOST_PARTITIONS];
    size_t partitions, records;
    uv_loop_t loop;
};

static void count_records(void *context, const struct kafka_record *records, size_t count) {
    struct reading *reading = context;
    reading->records += count;
}

static bool read_all(const struct reading *reading) {
    for (size_t p = 0; p < reading->partitions; p++)
        if (kafka_consumer_position(reading->consumer, &TOPIC_FRIENDSHIPS, (int32_t)p) < reading->ends[p]) return false;
    return true;
}

static int read_topic(const char *bootstrap, const char *prefix, const struct options *options) {
    static struct reading reading;
    struct error error;
    reading.partitions = options->partitions;
    uv_loop_init(&reading.loop);
    struct kafka_settings settings = {
        .topics = &TOPICS_ALL, .bootstrap = bootstrap, .prefix = prefix, .client_id = "bench-restore"};
    struct kafka_consumer_options wanted = {
        .loop = &reading.loop, .settings = &settings, .batch = 1000, .context = &reading, .on_records = count_records};
    double cpu = bench_cpu_s();
    if (kafka_consumer_new(&wanted, &reading.consumer, &error)) bench_die("consumer", error.text);
    struct kafka_position *positions = mem_zero(reading.partitions, sizeof *positions);
    for (size_t p = 0; p < reading.partitions; p++) {
        int64_t low;
        positions[p] = (struct kafka_position){
            .topic = &TOPIC_FRIENDSHIPS, .partition = (int32_t)p, .offset = KAFKA_OFFSET_BEGINNING};
        if (kafka_consumer_watermarks(reading.consumer, &TOPIC_FRIENDSHIPS, (int32_t)p, &low, &reading.ends[p], 10000,
                                      &error))
            bench_die("ends", error.text);
    }
    if (kafka_consumer_read(reading.consumer, positions, reading.partitions, &error)) bench_die("reading", error.text);
    while (!read_all(&reading)) uv_run(&reading.loop, UV_RUN_ONCE);
    printf("{\"records\":%zu,\"cpu_s\":%.3f}\n", reading.records, bench_cpu_s() - cpu);
    kafka_consumer_free(reading.consumer);
    free(positions);
    return 0;
}

int main(int argc, char **argv) {
    struct options options = {.users = 40000, .partitions = 4, .build_mb = 256, .friends = 100};
    const char *words[3] = {""};
    int count = 0;
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--users"))
            options.users = (size_t)atoll(next), i++;
        else if (!strcmp(argv[i], "--friends"))
            options.friends = atof(next), i++;
        else if (!strcmp(argv[i], "--partitions"))
            options.partitions = (size_t)atoll(next), i++;
        else if (!strcmp(argv[i], "--build"))
            options.build_mb = (size_t)atoll(next), i++;
        else if (!strcmp(argv[i], "--json"))
            options.json = fopen(next, "w"), i++;
        else if (count < 3)
            words[count++] = argv[i];
    }
    if (count == 1 && !strcmp(words[0], "pure")) return pure(&options);
    if (count == 3 && !strcmp(words[0], "fill")) return fill(words[1], words[2], &options);
    if (count == 3 && !strcmp(words[0], "read")) return read_topic(words[1], words[2], &options);
    fprintf(stderr,
            "usage: bench-restore pure | fill|read BOOTSTRAP PREFIX [--users N] [--friends MEAN] [--partitions P]\n");
    return 2;
}
