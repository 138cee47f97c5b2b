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

#include "base/clock.h"
#include "bench/arguments.h"
#include "bench/graph_data.h"
#include "bench/sender.h"
#include "event/codec.h"
#include "router/graph_private.h"

enum { LOT = 65536, LINGER_MS = 50 };

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
    struct error error;
    char *folder = bench_folder(), *path = mem_format("%s/friends", folder);
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
    bench_folder_remove(folder);
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

static int fill(const char *bootstrap, const char *prefix, const struct options *options) {
    struct sender sender;
    struct bench_graph data = bench_graph_synthetic(options->users, options->friends, 1);
    bench_graph_shuffle(&data, 2);
    sender_open(&sender, bootstrap, prefix, LINGER_MS);
    size_t friends = 0;
    for (size_t i = 0; i < data.count; i++) {
        uint8_t key[16];
        struct friendship half = old_half(i);
        bytes_put_be64(key, (uint64_t)data.halves[i].user);
        bytes_put_be64(key + 8, (uint64_t)data.halves[i].other);
        event_encode_friendship(&sender.value, &half);
        sender_send(&sender, &TOPIC_FRIENDSHIPS, hash_user_partition(data.halves[i].user, (int32_t)options->partitions),
                    key, sizeof key);
        friends += data.halves[i].user == data.halves[0].user;
    }
    printf("{\"half_edges\":%zu,\"user\":%" PRId64 ",\"friends\":%zu}\n", data.count, data.halves[0].user, friends);
    sender_close(&sender);
    bench_graph_free(&data);
    return 0;
}

static void count_records(void *context, const struct kafka_record *records, size_t count) {
    *(size_t *)context += count;
}

static int read_topic(const char *bootstrap, const char *prefix, const struct options *options) {
    size_t records = 0;
    double cpu = bench_cpu_s();
    reader_read(bootstrap, prefix, &TOPIC_FRIENDSHIPS, (int32_t)options->partitions, count_records, &records);
    printf("{\"records\":%zu,\"cpu_s\":%.3f}\n", records, bench_cpu_s() - cpu);
    return 0;
}

int main(int argc, char **argv) {
    struct options options = {.users = 40000, .partitions = 4, .build_mb = 256, .friends = 100};
    const struct argument known[] = {ARGUMENT("--users", &options.users), ARGUMENT("--friends", &options.friends),
                                     ARGUMENT("--partitions", &options.partitions),
                                     ARGUMENT("--build", &options.build_mb), ARGUMENT("--json", &options.json)};
    argc = arguments_read(argc, argv, known, ARRAY_SIZE(known));
    if (argc == 2 && !strcmp(argv[1], "pure")) return pure(&options);
    if (argc == 4 && !strcmp(argv[1], "fill")) return fill(argv[2], argv[3], &options);
    if (argc == 4 && !strcmp(argv[1], "read")) return read_topic(argv[2], argv[3], &options);
    bench_fail("its head says which words and arguments there are");
}
