/* Things that all lists of an edge share (nearby.h): memory for their tables, and what friends have reported since a list was looked
 * at last.
 *
 *     moves    | 7 at A | 9 at B | 4 at C | 7 at D | ...       each once, however many lists it is for
 *                  ^                  ^
 *     a list:  pending 0, 2
 *
 * One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/pool.h"
#include "geo/geo.h"

enum {
    LISTS_MOVES = 1 << 15,
    LISTS_PENDING = 122,    /* moves that one list may have pending */
    LISTS_POOLED_LEAST = 6, /* tables of at least 1 << 6 slots come from pools, */
    LISTS_POOLED_MOST = 11, /* of at most 1 << 11; all others from the heap */
    LISTS_VOID = -1
};

struct lists_move {
    int64_t user;
    struct geo_point at;
    int64_t time;      /* LISTS_VOID: counts for nothing */
    struct face *face; /* the user's (faces.h), once somebody was told; good while face_changes is faces_changes() */
    uint64_t face_changes : 62;
    uint64_t rounded : 1; /* `at` is */
    uint64_t anew : 1;    /* whoever is told of that place already is told again */
};

/* The slots that a list's pending seemed to go to when these were fetched: to be checked, as the table may have changed since. */
struct lists_asked {
    const void *list; /* NULL: nobody's */
    uint32_t count;
    uint32_t slots[LISTS_PENDING];
};

struct lists {
    struct lists_asked asked[2]; /* the list that is being told, and the one that comes next */
    uint32_t asked_last;         /* which of them was begun later */
    struct pool *pools[LISTS_POOLED_MOST - LISTS_POOLED_LEAST + 1];
    uint32_t count;
    struct lists_move moves[LISTS_MOVES];
};

struct lists *lists_new(void);
void lists_free(struct lists *lists); /* after the last of them; NULL is fine */

/* Room for another move. Without: no list may have one of the first moves pending any more, then lists_forget. */
static inline bool lists_room(const struct lists *lists) { return lists->count < LISTS_MOVES; }
static inline uint32_t lists_put(struct lists *lists, const struct lists_move *move) {
    lists->moves[lists->count] = *move;
    return lists->count++;
}
static inline void lists_forget(struct lists *lists) { lists->count = 0; }

enum lists_change {             /* of a user, to all who have the user on a list */
                    LISTS_GONE, /* has opted out */
                    LISTS_ANEW  /* the entry says something else: it is told again, unless the place is rounded */
};

/* The reports so far of those users who are gone (a map to enum lists_change) count for nothing any more: a list that has one pending
 * passes it over. */
void lists_void(struct lists *lists, const struct map *users);

/* The list's; without one, the one that was begun longer ago, begun anew. Good until it ends, or two others are asked for. */
struct lists_asked *lists_asked_of(struct lists *lists, const void *list);
void lists_asked_end(struct lists *lists, const void *list);

/* `size` bytes for a table of so many slots (a power of two), zeroed. */
void *lists_table_new(struct lists *lists, uint32_t slots, size_t size);
void lists_table_free(struct lists *lists, uint32_t slots, void *table); /* NULL is fine */
