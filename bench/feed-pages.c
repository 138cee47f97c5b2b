/* Pages of home timelines at the reader's owner: ids of a page of 20, with nothing around them (no HTTP, no texts).
 *
 *     bench-feed-pages [--authors N] [--posts N] [--readers N] [--pages N] [--rounds N] [--json FILE]
 *
 * A page costs all that starling-feed does for it in its stores: it reads the reader's lists of follows and of mutes, leaves out whom a
 * block is with (under "lists"; STRANGERS others have blocks, the readers only in the last row), finds the inbox, and merges (feed/timelines.c). Lists and inboxes are in RocksDB's cache; the rows "reader in memory" have them in the process's own
 * memory (feed/recent.h), as those of readers who have read a page lately are.
 *
 *     hot       every author's posts are in the lists of hot posts; inboxes are complete and empty
 *     inbox     the newest 800 posts of whom the reader follows are in the inbox; there are no hot posts
 *
 * The floor of `hot` is memory alone: for each followed author, one random read from a table as large as the authors' slots. The
 * floor of `inbox` is RocksDB alone: values as large as the list and the inbox are looked up, and not decoded. CPU is that of the
 * process; each figure is the median of the rounds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "bench/arguments.h"
#include "bench/feed_world.h"
#include "bench/stores.h"
#include "feed/blocks.h"
#include "feed/inboxes.h"
#include "feed/page.h"
#include "feed/relations.h"

enum {
    PARTITIONS = 12,
    INBOX_MAX = 800,
    PAGE = 20,
    SPARE = 4,
    FEW = 500,
    MANY = 5000,
    MANY_READERS = 500,
    LOT = 200000,
    STRANGERS = 100000
};
enum { ROUNDS_MAX = 99, AHEAD = 12, INBOX_BYTES = 8, LIST_BYTES = 4, DAY_MS = 86400000 };
#define MEMORY ((size_t)2 << 30)
#define CACHE ((size_t)256 << 20) /* of lists, and of inboxes */

struct options {
    int64_t posts, readers, pages;
    int rounds;
    FILE *json;
    struct feed_world world;
};

/* Readers 0 to options.readers - 1 follow FEW, MANY_READERS behind them follow MANY. */
struct bench {
    const struct options *options;
    const char *folder;
    struct relation_lists *lists;
    struct store *store;
    struct table_store *blocks;
    struct inboxes *inboxes;
    struct hot *hot;
    struct page_scratch *scratch;
    struct page page;
    struct inbox inbox;
    struct id_list following, muted;
    uint64_t sum; /* of all that was found, so that nothing is left out */
};

/* ---- the stores ---- */

static void open_stores(struct bench *bench, size_t cache_bytes) {
    struct error error;
    char *lists = mem_format("%s/follows", bench->folder), *posts = mem_format("%s/posts", bench->folder);
    struct relation_lists_options options = {.path = lists,
                                             .partitions = PARTITIONS,
                                             .memory_bytes = MEMORY,
                                             .max_age_ms = DAY_MS,
                                             .cache_bytes = cache_bytes};
    struct store_options store = {.memory_bytes = MEMORY, .point_lookups = true};
    if (relation_lists_open(&options, &bench->lists, &error)) bench_die(lists, error.text);
    if (store_open(posts, &store, &bench->store, &error)) bench_die(posts, error.text);
    bench->blocks = blocks_new(bench->store, PARTITIONS, NULL, NULL);
    bench->inboxes = inboxes_new(&(struct inboxes_options){.store = bench->store,
                                                           .partitions = PARTITIONS,
                                                           .max = INBOX_MAX,
                                                           .memory_bytes = MEMORY,
                                                           .away_ms = (int64_t)30 * DAY_MS,
                                                           .cache_bytes = cache_bytes});
    for (int32_t p = 0; p < PARTITIONS; p++) {
        if (list_store_open(relation_lists_store(bench->lists), p, clock_wall_ms(), 0, &error))
            bench_die(lists, error.text);
        if (table_store_open(bench->blocks, p, 0, 0, &error) || inboxes_open(bench->inboxes, p, 0, 0, &error))
            bench_die(posts, error.text);
    }
    free(lists);
    free(posts);
}

static void close_stores(struct bench *bench) {
    inboxes_free(bench->inboxes);
    table_store_free(bench->blocks);
    store_close(bench->store);
    relation_lists_close(bench->lists);
}

static void load_list(struct bench *bench, int64_t person, int64_t following, int64_t *offset) {
    int64_t ids[MANY], reader = feed_world_id(person);
    int32_t partition = feed_world_partition(&bench->options->world, reader);
    struct error error;
    size_t count = feed_world_following(&bench->options->world, person, following, ids);
    for (size_t i = 0; i < count; i++) {
        struct relation_half half = {.user = reader, .other = ids[i], .relation = RELATION_FOLLOWING};
        struct list_entry entry = relation_entry(partition, &half, 0, true);
        list_store_add(relation_lists_store(bench->lists), (*offset)++, &entry);
    }
    if (adjacency_queued(relation_lists_adjacency(bench->lists), partition) >= LOT &&
        list_store_apply(relation_lists_store(bench->lists), partition, *offset, clock_wall_ms(), true, &error))
        bench_die("lists", error.text);
}

static void load_lists(struct bench *bench) {
    struct error error;
    int64_t offset = 0, readers = bench->options->readers;
    for (int64_t i = 0; i < readers; i++) load_list(bench, i, FEW, &offset);
    for (int64_t i = 0; i < MANY_READERS; i++) load_list(bench, readers + i, MANY, &offset);
    for (int32_t p = 0; p < PARTITIONS; p++) {
        if (list_store_apply(relation_lists_store(bench->lists), p, offset, clock_wall_ms(), true, &error) ||
            adjacency_finish(relation_lists_adjacency(bench->lists), p, clock_wall_ms(), &error))
            bench_die("lists", error.text);
    }
}

static void take(struct bench *bench, int64_t person, int64_t offset, const struct timeline_item *item) {
    int64_t reader = feed_world_id(person);
    inboxes_take(bench->inboxes, feed_world_partition(&bench->options->world, reader), offset, clock_wall_ms(), &reader,
                 1, item);
}

static void write_inboxes(struct bench *bench) {
    struct error error;
    for (int32_t p = 0; p < PARTITIONS; p++) {
        static int64_t next; // any that rises: no topic is behind it
        inboxes_read_to(bench->inboxes, p, ++next);
    }
    while (inboxes_write(bench->inboxes, SIZE_MAX, &error) > 0) continue;
    stores_merge_inboxes(bench->store, PARTITIONS); // as most of a store is
}

/* Everybody has an inbox that is complete; of the first `filled` readers it is full. */
static void load_inboxes(struct bench *bench, int64_t filled) {
    const struct feed_world *world = &bench->options->world;
    struct timeline_item begin = {.kind = TIMELINE_ITEM_BEGIN};
    int64_t ids[MANY];
    for (int64_t person = 0; person < bench->options->readers + MANY_READERS; person++) {
        take(bench, person, 1000, &begin);
        if (person >= filled) continue;
        size_t count = feed_world_following(world, person, FEW, ids);
        for (int64_t i = 0; i < INBOX_MAX; i++) {
            int64_t author = ids[hash_u64((uint64_t)(person * INBOX_MAX + i)) % count];
            int64_t time = world->begin_ms + i * 60000; // one a minute
            struct timeline_item push = {
                .kind = TIMELINE_ITEM_PUSH,
                .push = {.author = author,
                         .id = ids_make(ids_tick(time, person, -1), feed_world_partition(world, author))}};
            take(bench, person, 1001, &push);
        }
    }
    write_inboxes(bench);
}

/* Each has a block with somebody whom nobody follows. */
static void load_blocks(struct bench *bench, int64_t first, int64_t people) {
    struct error error;
    static int64_t offset;
    for (int64_t person = first; person < first + people; person++) {
        int64_t user = feed_world_id(person);
        blocks_take(bench->blocks, feed_world_partition(&bench->options->world, user), offset++, user, 0, true);
    }
    if (table_store_write(bench->blocks, &error)) bench_die("blocks", error.text);
    for (int32_t p = 0; p < PARTITIONS; p++) store_compact(bench->store, table_store_family(bench->blocks, p, 0));
}

static double load_hot(struct bench *bench) {
    const struct options *options = bench->options;
    double making = bench_cpu_s();
    for (int64_t i = 0; i < options->posts; i++)
        bench->sum += (uint64_t)(feed_world_author(&options->world, i) ^ feed_world_post_id(&options->world, i));
    making = bench_cpu_s() - making;
    double before = bench_cpu_s();
    for (int64_t i = 0; i < options->posts; i++)
        hot_put(bench->hot, feed_world_author(&options->world, i), feed_world_post_id(&options->world, i));
    return bench_cpu_s() - before - making;
}

/* ---- pages ---- */

struct parts {
    double lists, inbox, merge; /* seconds */
};

/* As starling-feed makes a page; up to which step: 1 the lists, 2 the inbox as well, 3 all. */
static void make_page(struct bench *bench, const struct hot *hot, int64_t person, int steps) {
    int64_t reader = feed_world_id(person);
    int32_t partition = feed_world_partition(&bench->options->world, reader);
    struct error error;
    if (steps > 1 && inboxes_find(bench->inboxes, partition, reader, SPARE * PAGE, &bench->inbox, &error))
        bench_die("an inbox", error.text);
    if (relation_lists_all(bench->lists, partition, reader, RELATION_FOLLOWING, &bench->following, &error) ||
        blocks_leave_out(bench->store, bench->blocks, partition, reader, &bench->following, &bench->muted, &error) ||
        relation_lists_all(bench->lists, partition, reader, RELATION_MUTED, &bench->muted, &error))
        bench_die("lists", error.text);
    bench->sum += bench->following.count;
    if (steps < 3) return;
    page_merge(bench->scratch, &bench->inbox, hot, bench->following.items, bench->following.count, bench->muted.items,
               bench->muted.count, 0, INT64_MAX, PAGE, &bench->page);
    if (bench->page.count != PAGE || !inbox_complete(&bench->inbox)) bench_fail("a page is not full");
    bench->sum += (uint64_t)bench->page.posts[0].id;
}

static double pages_seconds(struct bench *bench, const struct hot *hot, int64_t first, int64_t readers, int64_t pages,
                            int steps, uint64_t seed) {
    double before = bench_cpu_s();
    for (int64_t i = 0; i < pages; i++)
        make_page(bench, hot, first + (int64_t)(hash_u64(seed + (uint64_t)i) % (uint64_t)readers), steps);
    return bench_cpu_s() - before;
}

/* ---- floors ---- */

static double memory_floor(struct bench *bench, const uint64_t *table, size_t lines, int64_t following, int64_t pages,
                           uint64_t seed) {
    double before = bench_cpu_s();
    for (int64_t page = 0; page < pages; page++) {
        uint64_t from = seed + (uint64_t)(page * following);
        for (uint64_t i = 0; i < (uint64_t)following + AHEAD; i++) {
            if (i < (uint64_t)following) __builtin_prefetch(&table[hash_u64(from + i) % lines * 8]);
            if (i >= AHEAD) bench->sum += table[hash_u64(from + i - AHEAD) % lines * 8];
        }
    }
    return bench_cpu_s() - before;
}

static void load_store_floor(struct bench *bench, struct store_family **family) {
    struct error error;
    struct store_batch *batch = store_batch_new();
    uint8_t *value = mem_zero(INBOX_MAX, INBOX_BYTES);
    if (store_family(bench->store, "floor", family, &error)) bench_die("floor", error.text);
    for (int64_t i = 0; i < bench->options->readers; i++) {
        for (int64_t k = 0; k < 2; k++) {
            int64_t key = i * 2 + k;
            store_batch_put(batch, *family, &key, sizeof key, value, k ? INBOX_MAX * INBOX_BYTES : FEW * LIST_BYTES);
        }
        if (store_batch_count(batch) < 1000 && i < bench->options->readers - 1) continue;
        if (store_write(bench->store, batch, false, &error)) bench_die("floor", error.text);
        store_batch_clear(batch);
    }
    store_batch_free(batch);
    free(value);
    store_compact(bench->store, *family);
}

static double store_floor(struct bench *bench, struct store_family *family, int64_t pages, uint64_t seed) {
    double before = bench_cpu_s();
    struct error error;
    for (int64_t i = 0; i < pages; i++) {
        for (int64_t k = 0; k < 2; k++) {
            int64_t key = (int64_t)(hash_u64(seed + (uint64_t)i) % (uint64_t)bench->options->readers) * 2 + k;
            struct store_pin pin = {.handle = NULL};
            if (store_get_pinned(bench->store, family, &key, sizeof key, &pin, &error) != 1)
                bench_die("floor", error.text);
            bench->sum += pin.data[pin.size / 2];
            store_pin_release(&pin);
        }
    }
    return bench_cpu_s() - before;
}

/* ---- rows ---- */

static double median(double *values, int count) {
    bench_sort(values, (size_t)count);
    return bench_quantile(values, (size_t)count, .5);
}

struct row {
    const char *name;
    const struct hot *hot;
    int64_t first, readers, following, pages;
    const uint64_t *table; /* of the memory's floor; NULL: the store's */
    size_t lines;
    struct store_family *family;
    double target;
};

/* Everything into the caches. */
static void warm(struct bench *bench, const struct row *row) {
    for (int64_t i = 0; i < row->readers; i++) make_page(bench, row->hot, row->first + i, 3);
}

static void measure(struct bench *bench, const struct row *row, bool first) {
    double whole[ROUNDS_MAX], lists[ROUNDS_MAX], inbox[ROUNDS_MAX], floor[ROUNDS_MAX];
    const struct options *options = bench->options;
    warm(bench, row);
    for (int i = 0; i < options->rounds; i++) {
        uint64_t seed = hash_u64((uint64_t)i) >> 1;
        double us = 1e6 / (double)row->pages;
        lists[i] = us * pages_seconds(bench, row->hot, row->first, row->readers, row->pages, 1, seed);
        inbox[i] = us * pages_seconds(bench, row->hot, row->first, row->readers, row->pages, 2, seed);
        whole[i] = us * pages_seconds(bench, row->hot, row->first, row->readers, row->pages, 3, seed);
        floor[i] = us * (row->table ? memory_floor(bench, row->table, row->lines, row->following, row->pages, seed)
                                    : store_floor(bench, row->family, row->pages, seed));
    }
    double all = median(whole, options->rounds), some = median(inbox, options->rounds);
    double list = median(lists, options->rounds), least = median(floor, options->rounds);
    printf("%-30s %10.0f %9.2f %8.2f %8.2f %8.2f %9.2f %7.2f %9.0f\n", row->name, 1e6 / all, all, list, some - list,
           all - some, least, all / least, row->target);
    if (options->json)
        fprintf(options->json,
                "%s{\"row\":\"%s\",\"pages_per_s_core\":%.0f,\"us\":%.3f,\"lists_us\":%.3f,\"inbox_us\":%.3f,"
                "\"merge_us\":%.3f,\"floor_us\":%.3f,\"target\":%.0f}",
                first ? "" : ",", row->name, 1e6 / all, all, list, some - list, all - some, least, row->target);
    fflush(stdout);
}

static void measure_all(struct bench *bench) {
    static const char *const CACHED[] = {"500, hot, reader in memory", "500, inbox, reader in memory",
                                         "500, both, reader in memory", "5,000, hot, reader in memory"};
    const struct options *options = bench->options;
    struct error error;
    struct hot *none = hot_new();
    struct store_family *family;
    int64_t few = options->readers / 2;
    double fill = load_hot(bench);
    struct hot_usage used = hot_used(bench->hot);
    load_lists(bench);
    load_inboxes(bench, few);
    load_blocks(bench, options->readers + MANY_READERS, STRANGERS);
    load_store_floor(bench, &family);
    size_t lines = used.authors * 30 / 64, bytes = (lines * 64 / MEM_LARGE_PAGE + 1) * MEM_LARGE_PAGE;
    uint64_t *table = mem_pages(bytes, true);
    memset(table, 1, bytes);

    printf("%zu hot ids of %zu authors: %.1f bytes an id (target 16), %.2f M ids/s/core taken in (target 1), "
           "%.0f MB resident\n",
           used.ids, used.authors, (double)used.bytes / (double)used.ids, (double)used.ids / fill / 1e6,
           bench_peak_rss() / 1e6);
    printf("%" PRId64 " readers; pages of %d; us of CPU a page, medians of %d rounds\n\n", options->readers, PAGE,
           options->rounds);
    printf("%-30s %10s %9s %8s %8s %8s %9s %7s %9s\n", "", "pages/s", "us", "lists", "inbox", "merge", "floor us",
           "ratio", "target/s");
    if (options->json)
        fprintf(options->json,
                "\"hot_ids\":%zu,\"hot_authors\":%zu,\"bytes_per_hot_id\":%.2f,\"hot_ids_per_s_core\":%.0f,\"rows\":[",
                used.ids, used.authors, (double)used.bytes / (double)used.ids, (double)used.ids / fill);
    struct row rows[] = {
        {.name = "500 followed, all hot",
         .hot = bench->hot,
         .first = few,
         .readers = few,
         .following = FEW,
         .pages = options->pages,
         .table = table,
         .lines = lines,
         .target = 70000},
        {.name = "500 followed, from the inbox",
         .hot = none,
         .first = 0,
         .readers = few,
         .following = FEW,
         .pages = options->pages,
         .family = family,
         .target = 150000},
        {.name = "500 followed, both",
         .hot = bench->hot,
         .first = 0,
         .readers = few,
         .following = FEW,
         .pages = options->pages,
         .table = table,
         .lines = lines},
        {.name = "5,000 followed, all hot",
         .hot = bench->hot,
         .first = options->readers,
         .readers = MANY_READERS,
         .following = MANY,
         .pages = options->pages / 10,
         .table = table,
         .lines = lines,
         .target = 8000},
    };
    enum { ROWS = sizeof rows / sizeof rows[0] };
    for (size_t i = 0; i < ROWS; i++) measure(bench, &rows[i], i == 0);
    close_stores(bench);
    open_stores(bench, CACHE);
    if (store_family(bench->store, "floor", &family, &error)) bench_die("floor", error.text);
    for (size_t i = 0; i < ROWS; i++) {
        rows[i].name = CACHED[i];
        if (rows[i].family) rows[i].family = family;
        measure(bench, &rows[i], false);
    }
    load_blocks(bench, rows[1].first, rows[1].readers);
    rows[1].name = "500, inbox, a block, in memory";
    measure(bench, &rows[1], false);
    if (options->json) fputc(']', options->json);
    mem_pages_free(table, bytes);
    hot_free(none);
}

int main(int argc, char **argv) {
    struct options options = {.posts = 50000000,
                              .readers = 40000,
                              .pages = 40000,
                              .rounds = 7,
                              .world = {.people = 5000000, .partitions = PARTITIONS, .step_us = 12000}};
    const struct argument known[] = {ARGUMENT("--authors", &options.world.people), ARGUMENT("--posts", &options.posts),
                                     ARGUMENT("--readers", &options.readers),      ARGUMENT("--pages", &options.pages),
                                     ARGUMENT("--rounds", &options.rounds),        ARGUMENT("--json", &options.json)};
    if (arguments_read(argc, argv, known, ARRAY_SIZE(known)) != 1 || options.rounds < 1 || options.rounds > ROUNDS_MAX)
        bench_fail("its head says which arguments there are");
    char *folder = bench_folder();
    options.world.begin_ms = clock_wall_ms() - DAY_MS - options.posts * options.world.step_us / 1000;
    if (options.json) fputc('{', options.json);
    bench_print_machine(stdout, options.json, "feed pages");
    struct bench bench = {.options = &options,
                          .folder = folder,
                          .hot = hot_new(),
                          .scratch = page_scratch_new(),
                          .inbox = {.request = -1}};
    open_stores(&bench, 0);
    measure_all(&bench);
    if (options.json) {
        fputs("}\n", options.json);
        fclose(options.json);
    }
    close_stores(&bench);
    hot_free(bench.hot);
    page_scratch_free(bench.scratch);
    page_free(&bench.page);
    inbox_free(&bench.inbox);
    id_list_free(&bench.following);
    id_list_free(&bench.muted);
    bench_folder_remove(folder);
    return 0;
}
