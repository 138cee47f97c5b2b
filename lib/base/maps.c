#include "base/maps.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

struct maps {
    unsigned bits;
    size_t count;
    struct map *parts[];
};

struct maps *maps_new(unsigned bits) {
    size_t parts = (size_t)1 << bits;
    struct maps *maps = mem_zero(1, sizeof *maps + parts * sizeof(struct map *));
    maps->bits = bits;
    for (size_t i = 0; i < parts; i++) maps->parts[i] = map_new();
    return maps;
}

void maps_free(struct maps *maps) {
    if (!maps) return;
    for (size_t i = 0; i < (size_t)1 << maps->bits; i++) map_free(maps->parts[i]);
    free(maps);
}

/* By the bits that the map itself uses last. */
static struct map *part_of(const struct maps *maps, uint64_t key) {
    return maps->parts[hash_fold(key) >> (64 - maps->bits)];
}

size_t maps_count(const struct maps *maps) { return maps->count; }

uint64_t *maps_find(const struct maps *maps, uint64_t key) { return map_find(part_of(maps, key), key); }

uint64_t *maps_put(struct maps *maps, uint64_t key, bool *created) {
    bool new;
    uint64_t *value = map_put(part_of(maps, key), key, &new);
    maps->count += new;
    if (created) *created = new;
    return value;
}
