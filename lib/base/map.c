#include "base/map.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

/*   slots   | 7:v |  0  |  0  | 9:v | 4:v | 2:v |  0  |  0  |     capacity is a power of two, or 0 before the first entry
 *                                ^home of 9, 4 and 2
 *
 * A slot whose key is 0 is free, so that calloc makes an empty table; the entry of key 0 itself lives outside, in `zero`.
 * From an entry's home (its hash cut to the table) to the entry there is never a free slot. Removal keeps that true by
 * moving later entries of the run into the hole.
 */
struct slot {
    uint64_t key, value;
};

struct map {
    struct slot *slots;
    size_t mask;  /* capacity - 1 */
    size_t used;  /* slots in use */
    size_t limit; /* the most of them before the table grows: 7/8 */
    bool has_zero;
    uint64_t zero; /* value of key 0 */
};

enum { SMALLEST = 8 };

struct map *map_new(void) {
    return mem_zero(1, sizeof(struct map));
}

void map_free(struct map *map) {
    if (!map) return;
    free(map->slots);
    free(map);
}

size_t map_count(const struct map *map) { return map->used + map->has_zero; }

size_t map_bytes(const struct map *map) {
    return sizeof *map + (map->slots ? (map->mask + 1) * sizeof *map->slots : 0);
}

static size_t home(const struct map *map, uint64_t key) { return (size_t)hash_fold(key) & map->mask; }

/* The key's slot, or the free one where it would go. The table is never full. */
static struct slot *probe(const struct map *map, uint64_t key) {
    size_t i = home(map, key);
    while (map->slots[i].key && map->slots[i].key != key) i = (i + 1) & map->mask;
    return &map->slots[i];
}

static void grow(struct map *map) {
    struct slot *old = map->slots;
    size_t count = old ? map->mask + 1 : 0;
    size_t capacity = count ? count * 2 : SMALLEST;

    map->slots = mem_zero(capacity, sizeof *map->slots);
    map->mask = capacity - 1;
    map->limit = capacity / 8 * 7;
    for (size_t i = 0; i < count; i++)
        if (old[i].key) *probe(map, old[i].key) = old[i];
    free(old);
}

uint64_t *map_find(const struct map *map, uint64_t key) {
    if (!key) {
        // The map is const as a container; its values are the caller's to change.
        return map->has_zero ? (uint64_t *)(uintptr_t)&map->zero : NULL;
    }
    if (!map->used) return NULL;
    struct slot *slot = probe(map, key);
    return slot->key ? &slot->value : NULL;
}

void map_prefetch(const struct map *map, uint64_t key) {
    if (map->slots) __builtin_prefetch(&map->slots[home(map, key)]);
}

static uint64_t *put_zero(struct map *map, bool *created) {
    if (created) *created = !map->has_zero;
    if (!map->has_zero) {
        map->has_zero = true;
        map->zero = 0;
    }
    return &map->zero;
}

uint64_t *map_put(struct map *map, uint64_t key, bool *created) {
    if (!key) return put_zero(map, created);

    struct slot *slot = map->slots ? probe(map, key) : NULL;
    bool add = !slot || !slot->key;
    if (add) {
        if (map->used == map->limit) {
            grow(map);
            slot = probe(map, key);
        }
        *slot = (struct slot){.key = key, .value = 0};
        map->used++;
    }
    if (created) *created = add;
    return &slot->value;
}

/* Frees the slot at `hole`. If a later entry of the run may not stand behind a free slot, moves it there, and so on to the run's end. */
static void close_hole(struct map *map, size_t hole) {
    for (size_t i = (hole + 1) & map->mask; map->slots[i].key; i = (i + 1) & map->mask) {
        size_t from_home = (i - home(map, map->slots[i].key)) & map->mask;
        size_t from_hole = (i - hole) & map->mask;
        if (from_home >= from_hole) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->slots[hole] = (struct slot){0};
}

bool map_remove(struct map *map, uint64_t key, uint64_t *value) {
    uint64_t *found = map_find(map, key);
    if (!found) return false;
    if (value) *value = *found;
    if (!key) {
        map->has_zero = false;
        return true;
    }
    close_hole(map, (size_t)(probe(map, key) - map->slots));
    map->used--;
    return true;
}

bool map_next(const struct map *map, size_t *cursor, uint64_t *key, uint64_t *value) {
    size_t capacity = map->slots ? map->mask + 1 : 0;
    while (*cursor < capacity) {
        const struct slot *slot = &map->slots[(*cursor)++];
        if (slot->key) {
            *key = slot->key;
            *value = slot->value;
            return true;
        }
    }
    if (*cursor == capacity && map->has_zero) {
        *cursor = capacity + 1;
        *key = 0;
        *value = map->zero;
        return true;
    }
    return false;
}
