#include "feed/hot.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/sorted.h"
#include "feed/id_table.h"

/* Tables are a few, chosen by the highest bits of the author's hash: one that grows is copied, which takes some 10 ns an author. */
enum { PART_BITS = 3, PARTS = 1 << PART_BITS };

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
    struct hot_bounds bounds;
    int64_t horizon;
    struct id_table gone;     /* ids of posts that were here and are deleted */
    struct edited *moderated; /* for an even number, the post is hidden */
    size_t at_part, at;       /* of hot_expire; the part behind the last one is `gone` */
    size_t authors, ids, bytes;
};

struct hot *hot_new(void) {
    struct hot *hot = mem_zero(1, sizeof *hot);
    hot_bounds_init(&hot->bounds);
    for (size_t i = 0; i < PARTS; i++)
        hot->parts[i] = (struct id_table){.size = sizeof(struct hot_author), .skip = PART_BITS};
    hot->gone = (struct id_table){.size = sizeof(uint64_t)};
    hot->moderated = edited_new();
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
    hot_bounds_free(&hot->bounds);
    edited_free(hot->moderated);
    free(hot);
}

static size_t part_of(int64_t author) { return id_table_hash((uint64_t)author + 1) >> (64 - PART_BITS); }

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
    hot_bounds_raise(&hot->bounds, hot->authors, author, id);
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

const struct hot_author *hot_find(const struct hot *hot, int64_t author) {
    return author < 0 ? NULL : id_table_find(&hot->parts[part_of(author)], author);
}

static int64_t newest_of(const struct hot *hot, const struct hot_author *author) {
    return author->newest > hot->horizon ? author->newest : 0;
}

int64_t hot_newest(const struct hot *hot, int64_t author) {
    const struct hot_author *slot = hot_find(hot, author);
    return slot ? newest_of(hot, slot) : 0;
}

void hot_prefetch_older(const struct hot_author *author) {
    const uint8_t *older = (const uint8_t *)author->older;
    if (!older) return;
    __builtin_prefetch(older);
    __builtin_prefetch(older + 64);
}

static int64_t newest_before(const struct hot *hot, const struct hot_author *author, int64_t above, int64_t before) {
    const struct hot_older *older = author->older;
    int64_t id = author->newest;
    if (id >= before) {
        uint32_t at = count_below(older, before);
        id = at ? older->ids[at - 1] : 0;
    }
    return id > above && id > hot->horizon ? id : 0;
}

int64_t hot_before(const struct hot *hot, const struct hot_author *author, int64_t above, int64_t before) {
    int64_t id = newest_before(hot, author, above, before);
    while (id && hot_is_hidden(hot, id)) id = newest_before(hot, author, above, id);
    return id;
}

bool hot_has(const struct hot *hot, int64_t author, int64_t id) {
    const struct hot_author *slot = hot_find(hot, author);
    return slot && newest_before(hot, slot, id - 1, id + 1) == id;
}

/* A post of which nothing is known is 1 there (feed/edited.h). */
bool hot_moderate(struct hot *hot, int64_t id, int32_t times, bool hidden, int64_t time_ms, int64_t now_ms) {
    return edited_put(hot->moderated, id, 2 * (int64_t)times + !hidden, time_ms, now_ms);
}

bool hot_is_hidden(const struct hot *hot, int64_t id) { return edited_version(hot->moderated, id) % 2 == 0; }

const struct hot_bounds *hot_all_bounds(const struct hot *hot) { return &hot->bounds; }

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
                              .bytes = sizeof *hot + hot_bounds_bytes(&hot->bounds) + id_table_bytes(&hot->gone) +
                                       hot->bytes};
}
