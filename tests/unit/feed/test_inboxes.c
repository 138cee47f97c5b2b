/* Tests inboxes.c, inboxes_read.c, inboxes_write.c and inbox_lot.c. The inboxes of partitions against plain ones that are folded over
 * all records: random records, writes in slices, crashes, detaching and attaching, and lost records. */
#include "feed/inboxes.h"
#include "unit/feed/items.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 3, READERS = 12, LOG = 300, ITEMS = 3, NAMED = 8, MAX = 9, HISTORIES = 80, STEPS = 500 };
enum { SECOND = 1024, AWAY_MS = 60 * SECOND };

struct record {
    int64_t offset, time_ms;
    size_t count;
    struct feed_item items[ITEMS];
    int64_t readers[ITEMS][NAMED];
    size_t reader_counts[ITEMS];
};

/* A partition. Numbers are of records in the log. */
struct part {
    bool attached;
    struct record *log;
    size_t count, read;
    size_t begun;   /* inboxes reflect records from it on */
    size_t written; /* a write may have put records before it into the store */
    size_t ahead;   /* until this many are read, inboxes may be ahead of what is read */
    bool again;     /* inboxes were ahead: records were applied to them again */
    int64_t requests[READERS];
    struct plain_inbox plain[READERS];
    size_t folded; /* records that `plain` reflects */
};

struct world {
    uint64_t seed;
    struct feed_chance chance;
    char *folder;
    struct store *store;
    struct inboxes *inboxes;
    struct part parts[PARTITIONS];
    bool writing; /* a write is under way: what is in the store already is applied again */
    struct inboxes_usage sum;
};

static uint64_t chance(struct world *w, uint64_t of) { return feed_chance(&w->chance, of); }

/* Readers of a partition: some have great ids. */
static int64_t reader_at(size_t i) { return i % 2 ? (int64_t)i : INT64_MAX - 1 - (int64_t)i; }

static void open_inboxes(struct world *w) {
    w->inboxes = inboxes_new(&(struct inboxes_options){.store = w->store,
                                                       .partitions = PARTITIONS,
                                                       .max = MAX,
                                                       .memory_bytes = 1000,
                                                       .away_ms = AWAY_MS,
                                                       .cache_bytes = 1 << 13});
}

static void open_store(struct world *w) {
    struct store_options options = {.memory_bytes = 8 << 20, .point_lookups = true};
    if (store_open(w->folder, &options, &w->store, &failure)) fail_msg("%s", failure.text);
}

static void attach(struct world *w, int32_t p) {
    struct part *part = &w->parts[p];
    if (inboxes_open(w->inboxes, p, 0, 0, &failure))
        fail_msg("seed %llu: %s", (unsigned long long)w->seed, failure.text);
    int64_t next = inboxes_next(w->inboxes, p, 0);
    part->attached = true;
    part->ahead = part->written;
    part->read = 0;
    if (next < 0) { // nobody has read anything: from anywhere on
        part->read = part->begun = chance(w, part->count + 1);
        part->ahead = part->written = 0;
        part->again = false;
        part->folded = SIZE_MAX;
    } else {
        while (part->read < part->count && part->log[part->read].offset < next) part->read++;
        assert_true(part->read >= part->begun && part->read <= part->written);
        part->again |= part->read < part->ahead;
    }
}

static void detach_all(struct world *w) {
    for (int32_t p = 0; p < PARTITIONS; p++) w->parts[p].attached = false;
}

static void crash(struct world *w) {
    struct inboxes_usage usage = inboxes_used(w->inboxes);
    w->sum.chunks += usage.chunks;
    w->sum.merges += usage.merges;
    w->sum.taken += usage.taken;
    w->sum.dropped += usage.dropped;
    detach_all(w);
    w->writing = false;
    inboxes_free(w->inboxes);
    if (!chance(w, 4)) {
        store_close(w->store);
        open_store(w);
    }
    open_inboxes(w);
}

/* ---- records ---- */

static void produce(struct world *w, struct part *part) {
    if (part->count == LOG) return;
    struct record *record = &part->log[part->count];
    const struct record *last = part->count ? record - 1 : NULL;
    record->offset = last ? last->offset + 1 + (int64_t)chance(w, 3) : (int64_t)chance(w, 5);
    record->time_ms = (last ? last->time_ms : 1000 * SECOND) + (int64_t)chance(w, 40) * (chance(w, 40) ? 20 : SECOND);
    record->count = 1 + chance(w, ITEMS);
    for (size_t i = 0; i < record->count; i++) {
        size_t first = chance(w, READERS), count = 1 + (chance(w, 2) ? chance(w, NAMED) : 0);
        feed_item_make(&w->chance, &record->items[i], record->offset, record->time_ms, part->requests[first], 100);
        if (record->items[i].item.kind != TIMELINE_ITEM_PUSH) count = 1;
        for (size_t j = 0; j < count; j++) record->readers[i][j] = reader_at((first + j) % READERS);
        record->reader_counts[i] = count;
        if (record->items[i].item.kind == TIMELINE_ITEM_BEGIN) part->requests[first] = record->offset;
        if (!chance(w, 30)) record->items[i].item = (struct timeline_item){.kind = TIMELINE_ITEM_HOT, .hot = {.id = 5}};
    }
    part->count++;
}

static bool write_some(struct world *w) {
    for (int32_t p = 0; p < PARTITIONS; p++) {
        struct part *part = &w->parts[p];
        if (part->attached && part->written < part->read) part->written = part->read;
    }
    int code = inboxes_write(w->inboxes, 1 + chance(w, 6), &failure);
    if (code < 0) fail_msg("seed %llu: %s", (unsigned long long)w->seed, failure.text);
    w->writing = code == 1;
    return w->writing;
}

static void read_record(struct world *w, int32_t p) {
    struct part *part = &w->parts[p];
    if (!part->attached || part->read == part->count) return;
    const struct record *record = &part->log[part->read++];
    for (size_t i = 0; i < record->count; i++) {
        inboxes_take(w->inboxes, p, record->offset, record->time_ms, record->readers[i], record->reader_counts[i],
                     &record->items[i].item);
        if (!chance(w, 20)) write_some(w); // in the middle of a record
    }
    if (!chance(w, 5)) // again: it does nothing, as the record before was read
        for (size_t i = 0; part->read > part->begun + 1 && i < record[-1].count; i++)
            inboxes_take(w->inboxes, p, record[-1].offset, record[-1].time_ms, record[-1].readers[i],
                         record[-1].reader_counts[i], &record[-1].items[i].item);
    inboxes_read_to(w->inboxes, p, record->offset + 1);
}

/* ---- what there is ---- */

static void fold_item(struct part *part, const struct record *record, size_t item) {
    const struct feed_item *made = &record->items[item];
    if (made->item.kind == TIMELINE_ITEM_HOT) return;
    for (size_t i = 0; i < record->reader_counts[item]; i++) {
        size_t reader = 0;
        while (reader_at(reader) != record->readers[item][i]) reader++;
        struct plain_inbox *plain = &part->plain[reader];
        if (made->item.kind != TIMELINE_ITEM_BEGIN && plain->open &&
            record->time_ms / SECOND - plain->opened_ms / SECOND > AWAY_MS / SECOND)
            *plain = (struct plain_inbox){.open = false};
        plain_inbox_take(plain, made, MAX);
    }
}

static void fold(struct part *part) {
    if (part->folded > part->read) {
        memset(part->plain, 0, sizeof part->plain);
        part->folded = part->begun;
    }
    for (; part->folded < part->read; part->folded++)
        for (size_t i = 0; i < part->log[part->folded].count; i++) fold_item(part, &part->log[part->folded], i);
}

static void check_reader(struct world *w, int32_t p, size_t reader, size_t newest) {
    struct part *part = &w->parts[p];
    struct inbox inbox = {.request = -1};
    if (inboxes_find(w->inboxes, p, reader_at(reader), newest, &inbox, &failure))
        fail_msg("seed %llu: %s", (unsigned long long)w->seed, failure.text);
    if (part->read >= part->ahead) {
        fold(part);
        const struct plain_inbox *plain = &part->plain[reader];
        bool above = newest != SIZE_MAX || (plain->lost && (part->again || w->writing));
        const char *differs = above ? plain_inbox_differs_above(plain, &inbox) : plain_inbox_differs(plain, &inbox);
        if (differs)
            fail_msg("seed %llu, partition %d, reader %zu: %s", (unsigned long long)w->seed, p, reader, differs);
    }
    inbox_free(&inbox);
}

static void check_part(struct world *w, int32_t p) {
    for (size_t i = 0; w->parts[p].attached && i < READERS; i++)
        check_reader(w, p, i, chance(w, 2) ? SIZE_MAX : chance(w, MAX + 1));
}

/* ---- histories ---- */

static void step(struct world *w) {
    int32_t p = (int32_t)chance(w, PARTITIONS);
    struct part *part = &w->parts[p];
    uint64_t what = chance(w, 200);
    if (what < 60) {
        for (uint64_t i = chance(w, 8); i; i--) produce(w, part);
    } else if (what < 120) {
        for (uint64_t i = chance(w, 12); i; i--) read_record(w, p);
    } else if (what < 160) {
        write_some(w);
    } else if (what < 170) {
        while (write_some(w)) {}
    } else if (what < 190) {
        check_part(w, p);
    } else if (what < 193) {
        if (part->attached) inboxes_close(w->inboxes, p);
        part->attached = false;
    } else if (what < 197) {
        if (!part->attached) attach(w, p);
    } else if (what == 197) {
        crash(w);
        for (p = 0; p < PARTITIONS; p++)
            if (chance(w, 5)) attach(w, p);
    } else if (what == 198 && part->attached && !chance(w, 4)) {
        assert_int_equal(inboxes_reset(w->inboxes, p, 0, &failure), 0);
        part->begun = part->read = part->read + chance(w, part->count - part->read + 1);
        part->written = part->ahead = 0;
        part->again = false;
        part->folded = SIZE_MAX;
    }
}

static struct world *world_new(uint64_t seed) {
    struct world *w = mem_zero(1, sizeof *w);
    w->seed = seed;
    w->chance.state = seed << 32;
    w->folder = kit_folder();
    open_store(w);
    open_inboxes(w);
    for (int32_t p = 0; p < PARTITIONS; p++) {
        w->parts[p].log = mem_zero(LOG, sizeof *w->parts[p].log);
        attach(w, p);
    }
    return w;
}

static void world_free(struct world *w) {
    inboxes_free(w->inboxes);
    store_close(w->store);
    kit_remove(w->folder);
    for (int32_t p = 0; p < PARTITIONS; p++) free(w->parts[p].log);
    free(w);
}

TEST(test_histories) {
    struct inboxes_usage sum = {.taken = 0};
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        struct world *w = world_new(seed);
        for (int i = 0; i < STEPS; i++) step(w);
        for (int32_t p = 0; p < PARTITIONS; p++) {
            if (!w->parts[p].attached) attach(w, p);
            while (w->parts[p].read < w->parts[p].count) read_record(w, p);
            check_part(w, p);
        }
        for (int round = 0; round < 2; round++) // the one that is under way, and one of all
            while (write_some(w)) {}
        struct inboxes_usage usage = inboxes_used(w->inboxes);
        assert_int_equal(usage.readers, 0);
        assert_int_equal(usage.bytes, 0);
        assert_false(inboxes_full(w->inboxes));
        crash(w);
        for (int32_t p = 0; p < PARTITIONS; p++) {
            attach(w, p);
            if (w->parts[p].read < w->parts[p].ahead)
                fail_msg("seed %llu: not all is written", (unsigned long long)seed);
            check_part(w, p);
        }
        sum.chunks += w->sum.chunks;
        sum.merges += w->sum.merges;
        sum.taken += w->sum.taken;
        sum.dropped += w->sum.dropped;
        world_free(w);
    }
    assert_true(sum.chunks > 1000 && sum.merges > 1000 && sum.taken > 1000 && sum.dropped > 1000);
}
