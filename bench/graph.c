/* Friend lists on disk and in memory:
 *
 *     bench-graph [--memory MB] [--times N] [--changes N] [--pairs FILE] [--json FILE]
 *
 * disk: bytes a half-edge after the lists were built and compacted, of the synthetic graph (graph_data.h) and of FILE.
 * look-up: reading and decoding the list of a user with about 400 friends, of users whose lists are in the block cache, and
 * of users all over a graph that is four times (--times) as large as RocksDB's memory. The floor is decoding alone.
 * changes: friendships made and ended all over that graph, 2,000 to a batch, as fast as they go; meanwhile the resident memory
 * is measured every 5 ms. RocksDB's is what the process has, less what it had before the store was opened (the lists were
 * built by another process). Once more after compaction.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "bench/arguments.h"
#include "bench/graph_data.h"
#include "router/graph_private.h"

enum { PARTITIONS = 4, LOT = 65536, BATCH = 2000, LOOKUPS = 200000, WARM_USERS = 200, MEAN = 400, BYTES_A_USER = 1050 };

struct options {
    size_t memory_mb, times, changes;
    const char *pairs;
    FILE *json;
};

static void apply(struct graph *graph, int32_t partition, int64_t next, bool restoring) {
    struct error error;
    if (adjacency_apply(graph_lists(graph), partition, next, clock_wall_ms(), restoring, &error))
        bench_die("applying", error.text);
}

static void add(struct graph *graph, int64_t offset, int64_t user, int64_t other, bool made, bool restoring) {
    int32_t partition = hash_user_partition(user, PARTITIONS);
    struct friendship half = {.state = made ? FRIENDSHIP_FRIENDS : FRIENDSHIP_NONE, .since = made ? 1 : 0};
    graph_add(graph, partition, offset, user, other, &half);
    if (restoring && adjacency_queued(graph_lists(graph), partition) >= LOT) apply(graph, partition, offset + 1, true);
}

static void finish(struct graph *graph, int64_t next) {
    struct error error;
    for (int32_t p = 0; p < PARTITIONS; p++) {
        apply(graph, p, next, true);
        if (adjacency_finish(graph_lists(graph), p, clock_wall_ms(), &error)) bench_die("finishing", error.text);
        if (adjacency_compact(graph_lists(graph), p, &error)) bench_die("compacting", error.text);
    }
}

/* Builds it in a process of its own, whose memory is nobody's afterwards. Returns the number of half-edges. */
static size_t built(const char *path, size_t users, const char *pairs) {
    int ends[2];
    size_t count = 0;
    if (pipe(ends)) bench_die("pipe", "cannot be made");
    pid_t child = fork();
    if (child == 0) {
        struct error error;
        struct bench_graph data = {.halves = NULL};
        struct graph *graph = bench_graph_open(path, PARTITIONS, 64 << 20, 0);
        if (pairs && bench_graph_read(pairs, &data, &error)) bench_die(pairs, error.text);
        // A piece of the users at a time: the whole would be many times what ends up on disk.
        size_t pieces = pairs ? 1 : users / 20000 + 1;
        for (size_t piece = 0; piece < pieces; piece++) {
            if (!pairs) data = bench_graph_synthetic_part(users, MEAN, 1, piece * 20000, 20000);
            for (size_t i = 0; i < data.count; i++)
                add(graph, (int64_t)count++, data.halves[i].user, data.halves[i].other, true, true);
            bench_graph_free(&data);
        }
        finish(graph, (int64_t)count);
        graph_close(graph);
        _exit(write(ends[1], &count, sizeof count) == sizeof count ? 0 : 1);
    }
    int status = 1;
    close(ends[1]);
    if (child < 0 || read(ends[0], &count, sizeof count) != sizeof count) count = 0;
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) < 0 || status || !count) bench_die("building", "the child has failed");
    return count;
}

/* ---- memory ---- */

/* Resident bytes of this process; anonymous: without the pages of files, which are code. */
static size_t resident(bool anonymous) {
    char line[128];
    size_t kib = 0, found;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, anonymous ? "RssAnon: %zu" : "VmRSS: %zu", &found) == 1) kib = found;
    if (file) fclose(file);
    return kib << 10;
}

struct memory_peak {
    pthread_t thread;
    atomic_bool end;
    size_t before, before_anonymous, most, most_anonymous;
};

static void *watch_run(void *context) {
    struct memory_peak *watch = context;
    while (!atomic_load(&watch->end)) {
        size_t now = resident(false), anonymous = resident(true);
        if (now > watch->most) watch->most = now;
        if (anonymous > watch->most_anonymous) watch->most_anonymous = anonymous;
        usleep(5000);
    }
    return NULL;
}

/* ---- look-ups ---- */

struct lookups {
    double us, decode_us, friends, hits;
};

/* Of `count` users, again and again. */
static struct lookups look_up(struct graph *graph, const int64_t *users, size_t count) {
    struct id_list list = {.items = NULL}, copy = {.items = NULL};
    struct buffer bytes = {.data = NULL};
    struct error error;
    size_t friends = 0;
    for (size_t i = 0; i < count && i < WARM_USERS; i++)
        if (graph_friends(graph, hash_user_partition(users[i], PARTITIONS), users[i], &list, &error))
            bench_die("reading", error.text);
    struct store_usage first = adjacency_used(graph_lists(graph)).store;
    double before = bench_cpu_s();
    for (size_t i = 0; i < LOOKUPS; i++) {
        int64_t user = users[i % count];
        if (graph_friends(graph, hash_user_partition(user, PARTITIONS), user, &list, &error))
            bench_die("reading", error.text);
        friends += list.count;
    }
    double seconds = bench_cpu_s() - before;
    struct store_usage last = adjacency_used(graph_lists(graph)).store;
    double hits = (double)(last.cache_hits - first.cache_hits),
           misses = (double)(last.cache_misses - first.cache_misses);
    id_list_encode(&bytes, list.items, list.count);
    before = bench_cpu_s();
    for (size_t i = 0; i < LOOKUPS; i++)
        if (id_list_decode(&copy, bytes.data, bytes.size)) bench_die("decoding", "damaged");
    double decoding = (bench_cpu_s() - before) / (double)list.count * (double)friends / LOOKUPS;
    id_list_free(&list);
    id_list_free(&copy);
    buffer_free(&bytes);
    return (struct lookups){.us = seconds / LOOKUPS * 1e6,
                            .decode_us = decoding / LOOKUPS * 1e6,
                            .friends = (double)friends / LOOKUPS,
                            .hits = hits / (hits + misses)};
}

/* Users of the graph with about 400 friends, in no order; caller frees. */
static int64_t *with_400(size_t users, size_t *count) {
    int64_t *found = mem_alloc(users * sizeof *found);
    *count = 0;
    for (size_t i = 0; i < users; i++) {
        size_t friends = bench_friends(i, MEAN, 1);
        if (friends >= 350 && friends <= 450) found[(*count)++] = bench_user(i, users);
    }
    for (size_t i = *count; i > 1; i--) {
        size_t at = hash_u64(i) % i;
        int64_t user = found[at];
        found[at] = found[i - 1];
        found[i - 1] = user;
    }
    return found;
}

static void print_lookups(const struct options *options, const char *what, struct lookups l) {
    printf("%-34s %8.2f us %10.2f us %8.2f  (%.0f friends, %.0f%% of blocks in the cache)\n", what, l.us, l.decode_us,
           l.us / l.decode_us, l.friends, l.hits * 100);
    if (options->json)
        fprintf(options->json, "\"%s\":{\"us\":%.3f,\"decode_us\":%.3f,\"friends\":%.1f},", what, l.us, l.decode_us,
                l.friends);
}

/* ---- changes ---- */

static double change(struct graph *graph, size_t users, int64_t *next, size_t changes) {
    double before = bench_cpu_s();
    uint64_t seed = 99;
    for (size_t i = 0; i < changes; i++) {
        int64_t user = bench_user(hash_u64(seed++) % users, users);
        bool made = hash_u64(seed++) & 1;
        // Of those that are ended few were there: as with friendships that are made, a list is read and a half looked for.
        add(graph, (*next)++, user, (int64_t)(hash_u64(seed++) % BENCH_IDS), made, false);
        if (i % BATCH != BATCH - 1) continue;
        for (int32_t p = 0; p < PARTITIONS; p++) apply(graph, p, *next, false);
    }
    return (double)changes / (bench_cpu_s() - before);
}

static double disk_bytes(struct graph *graph) { return (double)adjacency_used(graph_lists(graph)).store.sst_files; }

static void print_disk(const struct options *options, const char *what, double bytes, size_t halves) {
    printf("%-34s %8.2f bytes a half-edge (%zu half-edges, %.0f MB)\n", what, bytes / (double)halves, halves,
           bytes / 1e6);
    if (options->json) fprintf(options->json, "\"%s\":%.3f,", what, bytes / (double)halves);
}

static void measure_pairs(const struct options *options, const char *folder) {
    char *path = mem_format("%s/pairs", folder);
    size_t halves = built(path, 0, options->pairs);
    struct graph *graph = bench_graph_open(path, PARTITIONS, options->memory_mb << 20, 0);
    print_disk(options, "disk: the file's graph", disk_bytes(graph), halves);
    graph_close(graph);
    free(path);
}

static void measure(const struct options *options, const char *folder) {
    char *path = mem_format("%s/friends", folder);
    size_t users = options->memory_mb * options->times * ((1 << 20) / BYTES_A_USER), count;
    size_t halves = built(path, users, NULL);
    int64_t next = (int64_t)halves, *some = with_400(users, &count);
    malloc_trim(0);
    struct memory_peak watch = {.before = resident(false), .before_anonymous = resident(true)};
    pthread_create(&watch.thread, NULL, watch_run, &watch);
    struct graph *graph = bench_graph_open(path, PARTITIONS, options->memory_mb << 20, 0);
    print_disk(options, "disk: synthetic", disk_bytes(graph), halves);

    printf("\n%-34s %11s %13s %8s\n", "look-up", "whole", "decoding", "ratio");
    print_lookups(options, "in the block cache", look_up(graph, some, WARM_USERS));
    print_lookups(options, "all over the graph", look_up(graph, some, count));

    double rate = change(graph, users, &next, options->changes);
    struct store_usage usage = adjacency_used(graph_lists(graph)).store;
    struct error error;
    printf("\n%-34s %8.0f half-edges/s/core\n", "changes all over the graph", rate);
    size_t most = watch.most - watch.before;
    for (int32_t p = 0; p < PARTITIONS; p++)
        if (adjacency_compact(graph_lists(graph), p, &error)) bench_die("compacting", error.text);
    print_disk(options, "disk: after changes and compaction", disk_bytes(graph), halves + options->changes / 2);
    atomic_store(&watch.end, true);
    pthread_join(watch.thread, NULL);
    double cap = (double)(options->memory_mb << 20);
    printf("\n%-34s %8.1f MB, graph of %.1f times that\n", "RocksDB's memory: cap", cap / 1e6, disk_bytes(graph) / cap);
    printf("%-34s %8.1f MB, %.2f of the cap (anonymous %.1f MB)\n", "most resident",
           (double)(watch.most - watch.before) / 1e6, (double)(watch.most - watch.before) / cap,
           (double)(watch.most_anonymous - watch.before_anonymous) / 1e6);
    printf("%-34s %8.1f MB\n", "most resident before compaction", (double)most / 1e6);
    printf("%-34s cache %.1f, memtables %.1f, readers %.1f MB\n", "what it says itself, after changes",
           (double)usage.block_cache / 1e6, (double)usage.memtables / 1e6, (double)usage.table_readers / 1e6);
    if (options->json)
        fprintf(options->json, "\"changes_per_s_core\":%.0f,\"cap\":%.0f,\"most_resident\":%zu,\"ratio\":%.3f", rate,
                cap, watch.most - watch.before, (double)(watch.most - watch.before) / cap);
    graph_close(graph);
    free(some);
    free(path);
}

int main(int argc, char **argv) {
    struct options options = {.memory_mb = 64, .times = 4, .changes = 300000};
    const struct argument known[] = {ARGUMENT("--memory", &options.memory_mb), ARGUMENT("--times", &options.times),
                                     ARGUMENT("--changes", &options.changes), ARGUMENT("--pairs", &options.pairs),
                                     ARGUMENT("--json", &options.json)};
    if (arguments_read(argc, argv, known, ARRAY_SIZE(known)) != 1) bench_die(argv[1], "is not known");
    mallopt(M_ARENA_MAX, 2); // as the router does
    char *folder = bench_folder();
    if (options.json) fputc('{', options.json);
    bench_print_machine(stdout, options.json, "graph");
    printf("synthetic: %d friends on average, ids below %d; %d partitions\n\n", MEAN, BENCH_IDS, PARTITIONS);
    if (options.pairs) measure_pairs(&options, folder);
    measure(&options, folder);
    if (options.json) fputs("}\n", options.json);
    bench_folder_remove(folder);
    return 0;
}
