/* Rows in memory against a table: a row is what was put last, or it is not there; it is never another one. Rows that are asked for stay
 * longer. */
#include "feed/recent.h"
#include "unit/kit/kit.h"

enum { READERS = 60, KINDS = 3, PARTITIONS = 4, RING = 1 << 14, LARGEST = 1400, STEPS = 200000, SMALL = 8 };

struct world {
    struct recent *rows;
    uint64_t random;
    struct {
        bool there;
        uint8_t first; /* each byte is one more than that before it */
        size_t size;
    } table[READERS][KINDS];
};

static uint64_t chance(struct world *w, uint64_t of) { return hash_u64(w->random++) % of; }

static struct recent_key key_of(size_t reader, size_t kind) {
    return (struct recent_key){
        .reader = (int64_t)(reader * 7), .partition = (int32_t)(reader % PARTITIONS), .kind = (uint8_t)kind};
}

static void put(struct world *w, size_t reader, size_t kind) {
    uint8_t bytes[LARGEST];
    size_t size = chance(w, chance(w, 4) ? 100 : LARGEST);
    uint8_t first = (uint8_t)chance(w, 256);
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(first + i);
    recent_put(w->rows, key_of(reader, kind), bytes, size);
    w->table[reader][kind].there = true;
    w->table[reader][kind].first = first;
    w->table[reader][kind].size = size;
}

/* Returns whether it was found. */
static bool expect(struct world *w, size_t reader, size_t kind) {
    size_t size = 0;
    const uint8_t *bytes = recent_find(w->rows, key_of(reader, kind), &size);
    if (!bytes) return false;
    assert_true(w->table[reader][kind].there);
    assert_int_equal(size, w->table[reader][kind].size);
    for (size_t i = 0; i < size; i++) assert_int_equal(bytes[i], (uint8_t)(w->table[reader][kind].first + i));
    return true;
}

static void drop_partition(struct world *w, size_t partition) {
    recent_drop_all(w->rows, (int32_t)partition);
    for (size_t reader = partition; reader < READERS; reader += PARTITIONS)
        for (size_t kind = 0; kind < KINDS; kind++) w->table[reader][kind].there = false;
}

TEST(test_a_row_is_what_was_put_last) {
    struct world w = {.rows = recent_new(RING, PARTITIONS)};
    size_t found = 0, asked = 0;
    for (int step = 0; step < STEPS; step++) {
        size_t reader = chance(&w, READERS), kind = chance(&w, KINDS);
        switch (chance(&w, 8)) {
        case 0:
        case 1: put(&w, reader, kind); break;
        case 2:
            recent_drop(w.rows, key_of(reader, kind));
            w.table[reader][kind].there = false;
            break;
        case 3:
            if (!chance(&w, 100)) drop_partition(&w, chance(&w, PARTITIONS));
            break;
        default: asked += w.table[reader][kind].there; found += expect(&w, reader, kind);
        }
    }
    assert_in_range(found, asked / 4, asked); // what fits is kept
    assert_int_equal(recent_used(w.rows).hits, found);
    assert_true(recent_used(w.rows).rows <= READERS * KINDS);
    recent_free(w.rows);
}

TEST(test_rows_that_are_asked_for_stay) {
    struct recent *rows = recent_new(RING, 1);
    uint8_t bytes[100] = {0};
    size_t size;
    for (int64_t reader = 0; reader < 10000; reader++) {
        recent_put(rows, (struct recent_key){.reader = reader}, bytes, sizeof bytes);
        for (int64_t hot = 0; hot < SMALL && hot < reader; hot++)
            assert_non_null(recent_find(rows, (struct recent_key){.reader = hot}, &size));
    }
    assert_null(recent_find(rows, (struct recent_key){.reader = SMALL}, &size));
    assert_non_null(recent_find(rows, (struct recent_key){.reader = 9999}, &size));
    recent_free(rows);
}

TEST(test_without_memory_nothing_is_kept) {
    struct recent *rows = recent_new(0, 1);
    size_t size;
    recent_put(rows, (struct recent_key){.reader = 1}, NULL, 0);
    assert_null(recent_find(rows, (struct recent_key){.reader = 1}, &size));
    recent_drop(rows, (struct recent_key){.reader = 1});
    recent_free(rows);
}
