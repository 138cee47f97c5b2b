#include "fanout/nearby/id_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorted.h"

void id_set_free(struct id_set *set) {
    free(set->items);
    *set = (struct id_set){.items = NULL};
}

static uint32_t place_of(const struct id_set *set, int64_t id) {
    return set->count ? (uint32_t)sorted_below(set->items, set->count, id) : 0;
}

static bool is_at(const struct id_set *set, uint32_t at, int64_t id) { return at < set->count && set->items[at] == id; }

bool id_set_has(const struct id_set *set, int64_t id) { return is_at(set, place_of(set, id), id); }

void id_set_put(struct id_set *set, int64_t id) {
    uint32_t at = place_of(set, id);
    if (is_at(set, at, id)) return;
    MEM_ROOM(set->items, set->count, set->capacity);
    memmove(set->items + at + 1, set->items + at, (set->count++ - at) * sizeof *set->items);
    set->items[at] = id;
}

void id_set_remove(struct id_set *set, int64_t id) {
    uint32_t at = place_of(set, id);
    if (is_at(set, at, id)) memmove(set->items + at, set->items + at + 1, (--set->count - at) * sizeof *set->items);
}
