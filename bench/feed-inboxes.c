/* What an entry of a full inbox takes on disk, and costs to write: the real inboxes (feed/inboxes.h) over a store, with nothing around.
 *
 *     bench-feed-inboxes [--readers N] [--batch N] [--json FILE]
 *
 * Each reader follows 500 of 10 million, who post three times a day: a post a minute or so. Inboxes are written when each reader has got
 * `batch` posts (5: as within inbox.write.s of 300). Readers get from 1,600 to 2,400 posts each, so that inboxes are full, and at
 * every distance from their last merge. The bytes are those of the families after RocksDB has merged them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "bench/arguments.h"
#include "bench/feed_world.h"
#include "bench/stores.h"
#include "feed/inboxes.h"

enum {
    PARTITIONS = 12,
    INBOX_MAX = 800,
    FOLLOWING = 500,
    LEAST = 2 * INBOX_MAX,
    SPREAD = INBOX_MAX,
    BETWEEN_MS = 60000
};
#define MEMORY ((size_t)1 << 30)
#define DAY_MS INT64_C(86400000)

struct bench {
    int64_t readers, batch;
    struct feed_world world;
    struct store *store;
    struct inboxes *inboxes;
    int64_t *authors; /* FOLLOWING a reader */
};

static void open_inboxes(struct bench *bench, const char *folder) {
    struct error error;
    struct store_options store = {.memory_bytes = MEMORY, .point_lookups = true};
    if (store_open(folder, &store, &bench->store, &error)) bench_die(folder, error.text);
    bench->inboxes = inboxes_new(&(struct inboxes_options){.store = bench->store,
                                                           .partitions = PARTITIONS,
                                                           .max = INBOX_MAX,
                                                           .memory_bytes = MEMORY,
                                                           .away_ms = 30 * DAY_MS});
    for (int32_t p = 0; p < PARTITIONS; p++) {
        if (inboxes_open(bench->inboxes, p, 0, 0, &error)) bench_die(folder, error.text);
    }
}

static void take(struct bench *bench, int64_t person, int64_t offset, const struct timeline_item *item) {
    int64_t reader = feed_world_id(person);
    int32_t partition = feed_world_partition(&bench->world, reader);
    inboxes_take(bench->inboxes, partition, offset, bench->world.begin_ms, &reader, 1, item);
}

/* A reader's next post, at a time that is drawn from its minute. */
static void push(struct bench *bench, int64_t person, int64_t number) {
    uint64_t drawn = hash_u64((uint64_t)person << 20 | (uint64_t)number);
    int64_t author = bench->authors[person * FOLLOWING + (int64_t)(drawn % FOLLOWING)];
    int64_t time = bench->world.begin_ms + number * BETWEEN_MS + (int64_t)(drawn >> 32) % BETWEEN_MS;
    struct timeline_item item = {.kind = TIMELINE_ITEM_PUSH,
                                 .push = {.author = author,
                                          .id = ids_make(ids_tick(time, (int64_t)(drawn >> 20), -1),
                                                         feed_world_partition(&bench->world, author))}};
    take(bench, person, 1 + number, &item);
}

static void write_all(struct bench *bench, int64_t offset) {
    struct error error;
    int code;
    for (int32_t p = 0; p < PARTITIONS; p++) inboxes_read_to(bench->inboxes, p, offset);
    while ((code = inboxes_write(bench->inboxes, SIZE_MAX, &error)) > 0) continue;
    if (code) bench_die("writing", error.text);
}

static int64_t posts_of(int64_t person) { return LEAST + (int64_t)(hash_u64((uint64_t)person) % SPREAD); }

/* Returns how many entries were pushed. */
static int64_t fill(struct bench *bench) {
    struct timeline_item begin = {.kind = TIMELINE_ITEM_BEGIN};
    int64_t entries = 0;
    for (int64_t person = 0; person < bench->readers; person++) take(bench, person, 0, &begin);
    write_all(bench, 1);
    for (int64_t number = 0; number < LEAST + SPREAD; number += bench->batch) {
        for (int64_t person = 0; person < bench->readers; person++) {
            for (int64_t i = number; i < number + bench->batch && i < posts_of(person); i++, entries++)
                push(bench, person, i);
        }
        write_all(bench, 1 + number + bench->batch);
    }
    return entries;
}

static uint64_t bytes_on_disk(struct bench *bench) {
    stores_merge_inboxes(bench->store, PARTITIONS);
    return store_usage(bench->store).sst_files;
}

int main(int argc, char **argv) {
    struct bench bench = {.readers = 2000, .batch = 5, .world = {.people = 10000000, .partitions = PARTITIONS}};
    FILE *json = NULL;
    const struct argument known[] = {ARGUMENT("--readers", &bench.readers), ARGUMENT("--batch", &bench.batch),
                                     ARGUMENT("--json", &json)};
    if (arguments_read(argc, argv, known, ARRAY_SIZE(known)) != 1)
        bench_fail("its head says which arguments there are");
    bench.world.begin_ms = clock_wall_ms() - 2 * DAY_MS;
    char *folder = bench_folder();
    bench.authors = mem_alloc((size_t)(bench.readers * FOLLOWING) * sizeof *bench.authors);
    for (int64_t i = 0; i < bench.readers * FOLLOWING; i++) bench.authors[i] = feed_world_author(&bench.world, i);
    open_inboxes(&bench, folder);
    double cpu = bench_cpu_s();
    int64_t entries = fill(&bench);
    cpu = bench_cpu_s() - cpu;
    double us = cpu / (double)entries * 1e6,
           bytes = (double)bytes_on_disk(&bench) / (double)(bench.readers * INBOX_MAX);
    printf("full inboxes: %.1f bytes on disk an entry (target 12); an entry costs %.2f us to take and write, %" PRId64
           " at once to each inbox\n",
           bytes, us, bench.batch);
    if (json) {
        fprintf(json, "{\"bytes\":%.2f,\"us\":%.3f}\n", bytes, us);
        fclose(json);
    }
    inboxes_free(bench.inboxes);
    store_close(bench.store);
    free(bench.authors);
    bench_folder_remove(folder);
    return 0;
}
