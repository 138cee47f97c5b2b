#include "fanout/nearby/lists.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct lists *lists_new(void) {
    return mem_zero(1, sizeof(struct lists));
}

void lists_free(struct lists *lists) {
    if (!lists) return;
    for (size_t i = 0; i < sizeof lists->pools / sizeof *lists->pools; i++) pool_free(lists->pools[i]);
    free(lists);
}

void lists_void(struct lists *lists, const struct map *users) {
    for (uint32_t i = 0; i < LISTS_MOVES; i++) { /* those beyond the count may be pending, too */
        const uint64_t *what = map_find(users, (uint64_t)lists->moves[i].user);
        if (what && *what == LISTS_GONE) lists->moves[i].time = LISTS_VOID;
    }
}

struct lists_asked *lists_asked_of(struct lists *lists, const void *list) {
    for (uint32_t i = 0; i < 2; i++)
        if (lists->asked[i].list == list) return &lists->asked[i];
    struct lists_asked *asked = &lists->asked[lists->asked_last ^= 1];
    asked->list = list;
    asked->count = 0;
    return asked;
}

void lists_asked_end(struct lists *lists, const void *list) {
    for (uint32_t i = 0; i < 2; i++)
        if (lists->asked[i].list == list) lists->asked[i].list = NULL;
}

/* NULL: the heap. */
static struct pool **pool_of(struct lists *lists, uint32_t slots) {
    int bits = __builtin_ctz(slots);
    return bits >= LISTS_POOLED_LEAST && bits <= LISTS_POOLED_MOST ? &lists->pools[bits - LISTS_POOLED_LEAST] : NULL;
}

void *lists_table_new(struct lists *lists, uint32_t slots, size_t size) {
    struct pool **pool = pool_of(lists, slots);
    if (!pool) return mem_zero(1, size);
    if (!*pool) *pool = pool_new(size);
    return memset(pool_take(*pool), 0, size);
}

void lists_table_free(struct lists *lists, uint32_t slots, void *table) {
    if (!table) return; /* of no slots */
    struct pool **pool = pool_of(lists, slots);
    if (pool)
        pool_give(*pool, table);
    else
        free(table);
}
