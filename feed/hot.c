#include "feed/hot.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/sorted.h"
#include "feed/id_table.h"

/* Tables are a few, chosen by the highest bits of the author's hash: one that grows is copied, which takes some 10 ns an author. */
enum { PART_BITS = 3, PARTS = 1 << PART_BITS, BOUND_BITS_MIN = 6 };

struct hot_older {
    uint32_t count, capacity;
    int64_t ids[]; /* rising, all below the newest one */
};

struct hot_author {
    uint64_t key;
    int64_t newest;
    struct hot_older *older; /* NULL: none */
};

struct hot {
    struct id_table parts[PARTS];
    uint32_t *bounds; /* by the highest bits of the author's hash; 2^bound_bits of them */
    unsigned bound_bits;
    int64_t horizon;
    struct id_table gone; /* ids of posts that were here and are deleted */
    size_t at_part, at;   /* of hot_expire; the part behind the last one is `gone` */
    size_t authors, ids, bytes;
};

static size_t bounds_bytes(unsigned bits) { return sizeof(uint32_t) << bits; }

static uint32_t *bounds_new(unsigned bits) {
    size_t bytes = bounds_bytes(bits);
    return bytes < MEM_LARGE_PAGE ? mem_zero(bytes, 1) : mem_pages(bytes, true);
}

static void bounds_free(uint32_t *bounds, unsigned bits) {
    if (bounds_bytes(bits) < MEM_LARGE_PAGE)
        free(bounds);
    else
        mem_pages_free(bounds, bounds_bytes(bits));
}

struct hot *hot_new(void) {
    struct hot *hot = mem_zero(1, sizeof *hot);
    hot->bounds = bounds_new(BOUND_BITS_MIN);
    hot->bound_bits = BOUND_BITS_MIN;
    for (size_t i = 0; i < PARTS; i++)
        hot->parts[i] = (struct id_table){.size = sizeof(struct hot_author), .skip = PART_BITS};
    hot->gone = (struct id_table){.size = sizeof(uint64_t)};
    return hot;
}

void hot_free(struct hot *hot) {
    if (!hot) return;
    for (size_t i = 0; i < PARTS; i++) {
        struct hot_author *author;
        for (size_t at = 0; (author = id_table_next(&hot->parts[i], &at));) free(author->older);
        id_table_free(&hot->parts[i]);
    }
    id_table_free(&hot->gone);
    bounds_free(hot->bounds, hot->bound_bits);
    free(hot);
}

static size_t part_of(int64_t author) { return hash_fold((uint64_t)author + 1) >> (64 - PART_BITS); }

static const struct hot_author *find(const struct hot *hot, int64_t author) {
    return author < 0 ? NULL : id_table_find(&hot->parts[part_of(author)], author);
}

/* ---- bounds ---- */

static uint32_t *bound_at(const struct hot *hot, int64_t author) {
    return &hot->bounds[hash_fold((uint64_t)author + 1) >> (64 - hot->bound_bits)];
}

/* Doubles the number of bounds. Each old bound becomes two equal ones, each for about half of its authors. */
static void double_bounds(struct hot *hot) {
    uint32_t *bounds = bounds_new(hot->bound_bits + 1);
    for (size_t i = 0; i < (size_t)2 << hot->bound_bits; i++) bounds[i] = hot->bounds[i / 2];
    bounds_free(hot->bounds, hot->bound_bits);
    hot->bounds = bounds;
    hot->bound_bits++;
}

static void raise_bound(struct hot *hot, int64_t author, int64_t id) {
    if (hot->authors > (size_t)1 << hot->bound_bits) double_bounds(hot);
    uint32_t *bound = bound_at(hot, author), now = hot_bound(id);
    if (now > *bound) *bound = now;
}

/* One random read each: many of them are under way at once. */
void hot_bounds(const struct hot *hot, const int64_t *authors, size_t count, uint32_t *bounds) {
    for (size_t i = 0; i < count; i++) bounds[i] = *bound_at(hot, authors[i]);
}

/* ---- putting ---- */

static size_t older_bytes(const struct hot_older *older) {
    return older ? sizeof *older + older->capacity * sizeof older->ids[0] : 0;
}

/* Room for `capacity` ids. The allocator gives 16 bytes at a time, of which 8 are its own: an even count fills what it gives. */
static struct hot_older *older_resize(struct hot *hot, struct hot_older *older, uint32_t capacity) {
    uint32_t count = older ? older->count : 0;
    capacity += capacity % 2;
    hot->bytes -= older_bytes(older);
    older = mem_resize(older, 1, sizeof *older + capacity * sizeof older->ids[0]);
    older->count = count;
    older->capacity = capacity;
    hot->bytes += older_bytes(older);
    return older;
}

/* How many ids of the list are below this one. */
static uint32_t count_below(const struct hot_older *older, int64_t id) {
    return older ? (uint32_t)sorted_below(older->ids, older->count, id) : 0;
}

static bool put_older(struct hot *hot, struct hot_author *slot, int64_t id) {
    struct hot_older *older = slot->older;
    uint32_t at = count_below(older, id);
    if (older && at < older->count && older->ids[at] == id) return false;
    if (!older || older->count == older->capacity)
        slot->older = older = older_resize(hot, older, older ? older->capacity + older->capacity / 4 + 1 : 1);
    memmove(&older->ids[at + 1], &older->ids[at], (older->count - at) * sizeof older->ids[0]);
    older->ids[at] = id;
    older->count++;
    return true;
}

void hot_put(struct hot *hot, int64_t author, int64_t id) {
    if (author < 0 || id <= hot->horizon || hot_is_gone(hot, id)) return;
    struct id_table *part = &hot->parts[part_of(author)];
    size_t bytes = id_table_bytes(part);
    bool created;
    struct hot_author *slot = id_table_put(part, author, &created);
    hot->bytes += id_table_bytes(part) - bytes;
    hot->authors += created;
    raise_bound(hot, author, id);
    if (created) {
        slot->newest = id;
    } else if (id > slot->newest) {
        put_older(hot, slot, slot->newest);
        slot->newest = id;
    } else if (id == slot->newest || !put_older(hot, slot, id)) {
        return;
    }
    hot->ids++;
}

/* ---- reading: as if all at or below the horizon were forgotten ---- */

void hot_prefetch(const struct hot *hot, int64_t author) {
    if (author >= 0) id_table_prefetch(&hot->parts[part_of(author)], author);
}

void hot_prefetch_older(const struct hot *hot, int64_t author) {
    const struct hot_author *slot = find(hot, author);
    const uint8_t *older = slot ? (const uint8_t *)slot->older : NULL;
    if (!older) return;
    __builtin_prefetch(older);
    __builtin_prefetch(older + 64);
}

int64_t hot_newest(const struct hot *hot, int64_t author) {
    const struct hot_author *slot = find(hot, author);
    return slot && slot->newest > hot->horizon ? slot->newest : 0;
}

size_t hot_of(const struct hot *hot, int64_t author, int64_t above, int64_t before, int64_t *ids, size_t max) {
    const struct hot_author *slot = find(hot, author);
    size_t count = 0;
    if (above < hot->horizon) above = hot->horizon;
    if (!slot || slot->newest <= above) return 0;
    if (slot->newest < before && max) ids[count++] = slot->newest;
    const struct hot_older *older = slot->older;
    if (!older) return count;
    uint32_t at = slot->newest < before ? older->count : count_below(older, before);
    while (at && count < max && older->ids[at - 1] > above) ids[count++] = older->ids[--at];
    return count;
}

bool hot_has(const struct hot *hot, int64_t author, int64_t id) {
    int64_t found;
    return hot_of(hot, author, id - 1, id + 1, &found, 1) > 0;
}

bool hot_is_gone(const struct hot *hot, int64_t id) { return hot->gone.count && id_table_find(&hot->gone, id); }

/* ---- forgetting ---- */

static void drop_older(struct hot *hot, struct hot_author *slot, uint32_t from, uint32_t count) {
    struct hot_older *older = slot->older;
    hot->ids -= count;
    older->count -= count;
    if (!older->count) {
        hot->bytes -= older_bytes(older);
        free(older);
        slot->older = NULL;
        return;
    }
    memmove(&older->ids[from], &older->ids[from + count], (older->count - from) * sizeof older->ids[0]);
    if (older->count <= older->capacity / 2) slot->older = older_resize(hot, older, older->count);
}

static bool remove_id(struct hot *hot, int64_t author, int64_t id) {
    struct id_table *part = &hot->parts[part_of(author)];
    struct hot_author *slot = author < 0 ? NULL : id_table_find(part, author);
    struct hot_older *older = slot ? slot->older : NULL;
    uint32_t at = count_below(older, id);
    bool is_newest = slot && slot->newest == id;
    if (is_newest && !older) {
        id_table_remove(part, slot);
        hot->authors--;
        hot->ids--;
    } else if (is_newest) {
        slot->newest = older->ids[older->count - 1];
        drop_older(hot, slot, older->count - 1, 1);
    } else if (older && at < older->count && older->ids[at] == id) {
        drop_older(hot, slot, at, 1);
    } else {
        return false;
    }
    return true;
}

void hot_remove(struct hot *hot, int64_t author, int64_t id) {
    bool created;
    if (remove_id(hot, author, id)) id_table_put(&hot->gone, id, &created);
}

static void expire_next(struct hot *hot, struct hot_author *slot) {
    struct id_table *part = &hot->parts[hot->at_part];
    uint32_t count =
        slot->newest <= hot->horizon && slot->older ? slot->older->count : count_below(slot->older, hot->horizon + 1);
    if (count) drop_older(hot, slot, 0, count);
    if (slot->newest > hot->horizon) return;
    id_table_remove(part, slot);
    hot->at--; // another may stand there now
    hot->authors--;
    hot->ids--;
}

static void expire_gone(struct hot *hot, void *slot) {
    if (id_table_id(slot) > hot->horizon) return;
    id_table_remove(&hot->gone, slot);
    hot->at--;
}

void hot_expire(struct hot *hot, int64_t horizon, size_t slice) {
    if (horizon > hot->horizon) hot->horizon = horizon;
    while (slice--) {
        bool gone = hot->at_part == PARTS;
        void *slot = id_table_next(gone ? &hot->gone : &hot->parts[hot->at_part], &hot->at);
        if (slot && gone) {
            expire_gone(hot, slot);
        } else if (slot) {
            expire_next(hot, slot);
        } else {
            hot->at = 0;
            hot->at_part = (hot->at_part + 1) % (PARTS + 1);
            if (!hot->at_part) return;
        }
    }
}

int64_t hot_horizon(const struct hot *hot) { return hot->horizon; }

struct hot_usage hot_used(const struct hot *hot) {
    return (struct hot_usage){.authors = hot->authors,
                              .ids = hot->ids,
                              .gone = hot->gone.count,
                              .bytes = sizeof *hot + bounds_bytes(hot->bound_bits) + id_table_bytes(&hot->gone) +
                                       hot->bytes};
}
