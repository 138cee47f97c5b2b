#include "feed/recent.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"

enum { UNIT = 32, PAGE_BYTES = 4096, LARGEST_SHARE = 16, SECOND_CHANCES = 8, NOTHING = UINT8_MAX };

/* A row begins and ends at a multiple of UNIT, so that what is left at the end of the ring has room for a head. */
struct recent_row {
    int64_t reader;
    int32_t partition;
    uint32_t size;  /* of the bytes behind it */
    uint32_t epoch; /* of the partition; a former one: dropped */
    uint8_t kind;   /* NOTHING: the rest of the ring is left out */
    uint8_t asked;  /* since it went to the head */
    uint8_t bytes[];
};

struct recent {
    uint8_t *ring;
    size_t capacity;
    uint64_t head, tail; /* they only rise; the place is the rest of dividing by the capacity */
    struct map *places;  /* hash -> head when the row was put */
    uint32_t *epochs;    /* by partition */
    uint64_t hits, misses;
};

struct recent *recent_new(size_t bytes, int32_t partitions) {
    struct recent *rows = mem_alloc(sizeof *rows);
    size_t capacity = bytes / PAGE_BYTES * PAGE_BYTES;
    *rows = (struct recent){.ring = capacity ? mem_pages(capacity, capacity >= MEM_LARGE_PAGE) : NULL,
                            .capacity = capacity,
                            .places = map_new(),
                            .epochs = mem_zero((size_t)partitions, sizeof *rows->epochs)};
    return rows;
}

void recent_free(struct recent *rows) {
    if (!rows) return;
    if (rows->ring) mem_pages_free(rows->ring, rows->capacity);
    map_free(rows->places);
    free(rows->epochs);
    free(rows);
}

static uint64_t hash_of(int64_t reader, uint8_t kind) { return hash_fold((uint64_t)reader) + kind; }

static struct recent_row *row_at(const struct recent *rows, uint64_t place) {
    return (struct recent_row *)(void *)(rows->ring + place % rows->capacity);
}

static size_t row_bytes(size_t size) { return (sizeof(struct recent_row) + size + UNIT - 1) / UNIT * UNIT; }

/* Whether a look-up finds the row, as which it was put. */
static bool is_current(const struct recent *rows, const struct recent_row *row, uint64_t place) {
    const uint64_t *found = map_find(rows->places, hash_of(row->reader, row->kind));
    return found && *found == place;
}

/* ---- asking ---- */

static struct recent_row *find(struct recent *rows, struct recent_key key) {
    const uint64_t *place = map_find(rows->places, hash_of(key.reader, key.kind));
    if (!place) return NULL;
    struct recent_row *row = row_at(rows, *place);
    bool same = row->reader == key.reader && row->kind == key.kind && row->partition == key.partition;
    return same && row->epoch == rows->epochs[key.partition] ? row : NULL;
}

const uint8_t *recent_find(struct recent *rows, struct recent_key key, size_t *size) {
    struct recent_row *row = find(rows, key);
    rows->hits += row != NULL;
    rows->misses += !row;
    if (!row) return NULL;
    row->asked = 1;
    *size = row->size;
    return row->bytes;
}

/* ---- keeping ---- */

/* Where the next row of that many bytes goes; the caller has made room. */
static struct recent_row *begin_row(struct recent *rows, size_t bytes) {
    size_t rest = rows->capacity - rows->head % rows->capacity;
    if (rest < bytes) {
        struct recent_row *nothing = row_at(rows, rows->head);
        *nothing = (struct recent_row){.kind = NOTHING, .size = (uint32_t)(rest - sizeof *nothing)};
        rows->head += rest;
    }
    return row_at(rows, rows->head);
}

static void end_row(struct recent *rows, const struct recent_row *row) {
    *map_put(rows->places, hash_of(row->reader, row->kind), NULL) = rows->head;
    rows->head += row_bytes(row->size);
}

/* The oldest row goes to the head once more. Its bytes may be written over while they are moved. */
static void move_oldest(struct recent *rows, const struct recent_row *oldest, size_t bytes) {
    rows->tail += bytes;
    struct recent_row *row = begin_row(rows, bytes);
    memmove(row, oldest, bytes);
    row->asked = 0;
    end_row(rows, row);
}

/* Room for a row of that many bytes, and for what it may leave out at the end of the ring. */
static void make_room(struct recent *rows, size_t bytes) {
    int chances = SECOND_CHANCES;
    while (rows->capacity - (size_t)(rows->head - rows->tail) < 2 * bytes) {
        const struct recent_row *oldest = row_at(rows, rows->tail);
        size_t size = row_bytes(oldest->size);
        bool current = oldest->kind != NOTHING && is_current(rows, oldest, rows->tail);
        if (current && oldest->asked && oldest->epoch == rows->epochs[oldest->partition] && chances-- > 0) {
            move_oldest(rows, oldest, size);
            continue;
        }
        if (current) map_remove(rows->places, hash_of(oldest->reader, oldest->kind), NULL);
        rows->tail += size;
    }
}

size_t recent_largest(const struct recent *rows) {
    size_t most = rows->capacity / LARGEST_SHARE;
    return most > sizeof(struct recent_row) + UNIT ? most - sizeof(struct recent_row) - UNIT : 0;
}

void recent_put(struct recent *rows, struct recent_key key, const uint8_t *bytes, size_t size) {
    size_t whole = row_bytes(size);
    recent_drop(rows, key);
    size_t largest = recent_largest(rows);
    if (!largest || size > largest) return;
    make_room(rows, whole);
    struct recent_row *row = begin_row(rows, whole);
    *row = (struct recent_row){.reader = key.reader,
                               .partition = key.partition,
                               .size = (uint32_t)size,
                               .epoch = rows->epochs[key.partition],
                               .kind = key.kind};
    if (size) memcpy(row->bytes, bytes, size);
    end_row(rows, row);
}

void recent_drop(struct recent *rows, struct recent_key key) {
    map_remove(rows->places, hash_of(key.reader, key.kind), NULL);
}

void recent_drop_all(struct recent *rows, int32_t partition) { rows->epochs[partition]++; }

struct recent_usage recent_used(const struct recent *rows) {
    return (struct recent_usage){.rows = map_count(rows->places),
                                 .bytes = (size_t)(rows->head - rows->tail) + map_bytes(rows->places),
                                 .hits = rows->hits,
                                 .misses = rows->misses};
}
