/* A map from 64-bit keys to 64-bit values: open addressing, linear probing, no tombstones (removal shifts back).
 *
 * Any key is allowed. 16 bytes a slot at a load of at most 7/8. One thread at a time. Pointers that map_find and map_put
 * return are valid until the next map_put or map_remove.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map;

struct map *map_new(void);
void map_free(struct map *map); /* NULL is fine; values that are pointers stay the caller's */

size_t map_count(const struct map *map);
size_t map_bytes(const struct map *map); /* memory in use */

uint64_t *map_find(const struct map *map, uint64_t key);         /* NULL: not there */
void map_prefetch(const struct map *map, uint64_t key);          /* map_find of that key comes soon */
bool map_remove(struct map *map, uint64_t key, uint64_t *value); /* false: was not there; value may be NULL */

/* The value's place, holding 0 when it was just created; created may be NULL. */
uint64_t *map_put(struct map *map, uint64_t key, bool *created);

/* Walks all entries in no order: start with *cursor = 0; false at the end. The map must not change in between. */
bool map_next(const struct map *map, size_t *cursor, uint64_t *key, uint64_t *value);

/* Pointers as values. */
static inline void *map_pointer(const struct map *map, uint64_t key) {
    uint64_t *value = map_find(map, key);
    return value ? (void *)(uintptr_t)*value : NULL;
}
