/* Friends by user: open addressing by the user's hash, 24 bytes each, at most 7/8 of the slots in use.
 *
 *     +------+----------+------+-------------------------------+
 *     | user | lat, lng | time | HELD KNOWN ... (0: free)      |
 *     +------+----------+------+-------------------------------+
 *     tags (behind the slots, one byte each: seven more bits of the hash; 0: free): they say where an entry is, without a look at
 *     slots that are others'
 *
 *     marks        a bit a slot (or a few, in a large table) that may be dirty, so that one update among hundreds of friends is
 *                  told without a look at the others
 *
 * An entry that is neither HELD nor KNOWN is dead: it keeps its slot until it is taken out, or until a sweep. Taking out moves
 * entries, as growing and sweeping do. Pointers to entries are valid until the next of these. Memory comes from the lists' pools.
 * Pure. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "fanout/nearby/lists.h"
#include "geo/geo.h"

enum {
    NEARBY_HELD = 1,    /* on the screen */
    NEARBY_KNOWN = 2,   /* the phone has it on its list */
    NEARBY_DIRTY = 4,   /* it differs from what the phone was told */
    NEARBY_MUTED = 8,   /* HELD, but the user does not want to see it: the phone is not told, or that it is gone */
    NEARBY_ROUNDED = 16 /* HELD, at a rounded place */
};

struct nearby_friend {
    int64_t user;
    struct geo_point at;
    int64_t time : 56;
    uint64_t flags : 8;
};

enum { TABLE_MARKS = 8, TABLE_MARK_BITS = 9 /* 1 << 9 == 64 * TABLE_MARKS */, TABLE_TAGS_AT_ONCE = 8 };

/* All zero: empty. table.c and the functions below write it; the slots are written by the table's owner, too. */
struct nearby_table {
    struct nearby_friend *slots;
    uint32_t capacity; /* slots: a power of two, or 0 */
    uint32_t count;    /* of them in use */
    uint64_t marks[TABLE_MARKS];
    uint32_t shuffles;   /* how often entries have moved */
    uint32_t mark_shift; /* 1 << mark_shift slots a mark */
    uint32_t dead;       /* entries that table_bury was told of, since the last sweep */
};

void table_free(struct nearby_table *table, struct lists *lists);
/* A new entry, all zero but for the user, who has none yet; it is put to use at once, or it would count as dead. */
struct nearby_friend *table_insert(struct nearby_table *table, struct lists *lists, int64_t user);
/* Frees a dead entry's slot. */
void table_take_out(struct nearby_table *table, struct lists *lists, struct nearby_friend *friend);
/* Frees the slots of all dead entries, of which there are so many. */
void table_sweep(struct nearby_table *table, struct lists *lists, uint32_t dead);

/* The next slot that is marked, from *cursor (0 at the start) on; NULL: no more. Marks that were walked over are cleared. */
struct nearby_friend *table_next_marked(struct nearby_table *table, uint32_t *cursor);
void table_unmark_all(struct nearby_table *table);

static inline void table_mark(struct nearby_table *table, const struct nearby_friend *friend) {
    uint32_t at = (uint32_t)(friend - table->slots) >> table->mark_shift;
    table->marks[at / 64] |= (uint64_t)1 << at % 64;
}

static inline void table_bury(struct nearby_table *table, bool dead) { table->dead += dead; }

/* ---- looking up ---- */

/* For the table; a Digest's is another. */
static inline uint64_t table_hash(int64_t user) { return hash_fold((uint64_t)user); }

static inline uint32_t table_home(const struct nearby_table *table, uint64_t hash) {
    return (uint32_t)hash & (table->capacity - 1);
}

static inline uint8_t *table_tags(const struct nearby_table *table) {
    return (uint8_t *)(table->slots + table->capacity);
}

static inline uint8_t table_tag(uint64_t hash) { return (uint8_t)(hash >> 57 | 0x80); }

/* Bit 7 of each of eight tags in a row, the first one's lowest. */
struct table_group {
    uint64_t equal; /* it is this one, and nothing before it is free (or, rarely, it differs in its lowest bit) */
    uint64_t free;
};

static inline struct table_group table_look(const struct nearby_table *table, uint32_t slot, uint8_t tag) {
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones * 0x80;
    uint64_t tags = bytes_get_le64(table_tags(table) + slot), other = tags ^ ones * tag, free = ~tags & highs;
    return (struct table_group){.equal = (other - ones) & ~other & highs & ((free & -free) - 1), .free = free};
}

static inline uint32_t table_which(uint64_t bits) { return (uint32_t)__builtin_ctzll(bits) / 8; }

/* The user's slot, or the free one where it would go. There is a table, and it is never full. */
static inline uint32_t table_probe(const struct nearby_table *table, int64_t user) {
    uint64_t hash = table_hash(user);
    uint32_t mask = table->capacity - 1;
    for (uint32_t from = table_home(table, hash);; from = (from + TABLE_TAGS_AT_ONCE) & mask) {
        struct table_group group = table_look(table, from, table_tag(hash));
        for (; group.equal; group.equal &= group.equal - 1) {
            uint32_t slot = (from + table_which(group.equal)) & mask;
            if (table->slots[slot].user == user) return slot;
        }
        if (group.free) return (from + table_which(group.free)) & mask;
    }
}

static inline struct nearby_friend *table_find(const struct nearby_table *table, int64_t user) {
    if (!table->count) return NULL;
    uint32_t slot = table_probe(table, user);
    return table_tags(table)[slot] ? &table->slots[slot] : NULL; /* who is not here costs no look at a slot */
}

/* The slot whose tag is equal, or that the entry would go to, in all likelihood: no look at the slots themselves. */
static inline uint32_t table_likely(const struct nearby_table *table, int64_t user) {
    uint64_t hash = table_hash(user);
    uint32_t mask = table->capacity - 1;
    for (uint32_t from = table_home(table, hash);; from = (from + TABLE_TAGS_AT_ONCE) & mask) {
        struct table_group group = table_look(table, from, table_tag(hash));
        uint64_t bits = group.equal ? group.equal : group.free;
        if (bits) return (from + table_which(bits)) & mask;
    }
}
