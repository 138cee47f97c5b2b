/* A compact table from ids to small items, for millions of them: a slot is the id and the item, nothing else, and four fifths of
 * the slots are in use. (base/map.h is quicker to fill, and half empty on average.)
 *
 *     slots   | 7 . | 9 . |     | 4 . | 2 . | 5 . |     | ... |     in the order of their homes
 *                                  ^ home of 4 and 2
 *
 * An id's home is its hash, scaled to the table. Ids stand at their home or close behind it, in the order of homes: so the search
 * for an id that is not there ends as soon as that for one that is. The table grows by a quarter.
 *
 * Ids are not negative. Items begin with zeros. Pointers to slots are valid until the next put or remove. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"

/* {.size = ...} is an empty table. */
struct id_table {
    uint8_t *slots;
    size_t size;  /* of a slot: 8 bytes for the key, which is the id + 1, and the item */
    size_t homes; /* slots that are a home; others follow them, and the last one is always free */
    size_t end;
    size_t count;
    unsigned skip; /* the highest bits of hashes that are the same for all ids of this table */
};

void id_table_free(struct id_table *table); /* the table is empty afterwards */
void *id_table_put(struct id_table *table, int64_t id, bool *created);
void id_table_remove(struct id_table *table, void *slot);

/* The next slot in use at or behind *at, which becomes the index behind it: start with 0. NULL: the end. */
void *id_table_next(const struct id_table *table, size_t *at);

static inline size_t id_table_bytes(const struct id_table *table) { return table->end * table->size; }

static inline uint64_t id_table_key(const void *slot) {
    uint64_t key;
    memcpy(&key, slot, sizeof key);
    return key;
}

static inline int64_t id_table_id(const void *slot) { return (int64_t)(id_table_key(slot) - 1); }

static inline uint64_t id_table_hash(uint64_t key) { return hash_fold(key); }

static inline size_t id_table_home(const struct id_table *table, uint64_t key) {
    __extension__ typedef unsigned __int128 wide;
    return (size_t)((wide)(id_table_hash(key) << table->skip) * table->homes >> 64);
}

/* id_table_find of that id comes soon. (Inlined in any case: gcc drops the call of a function that does nothing but prefetch.) */
__attribute__((always_inline)) static inline void id_table_prefetch(const struct id_table *table, int64_t id) {
    if (!table->homes) return;
    const uint8_t *slot = table->slots + id_table_home(table, (uint64_t)id + 1) * table->size;
    __builtin_prefetch(slot);
    __builtin_prefetch(slot + 64); // most ids stand a few slots behind their home
}

static inline void *id_table_find(const struct id_table *table, int64_t id) { /* NULL: not there */
    if (!table->homes) return NULL;
    uint64_t key = (uint64_t)id + 1;
    size_t home = id_table_home(table, key);
    for (uint8_t *slot = table->slots + home * table->size;; slot += table->size) {
        uint64_t found = id_table_key(slot);
        if (found == key) return slot;
        if (!found || id_table_home(table, found) > home) return NULL;
    }
}
