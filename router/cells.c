#include "router/cells.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"

/* Cells come and go, so the map must be able to remove; and growing one map of a million would hold up the loop, so there are many. */
enum { PARTS = 256, SMALLEST = 4 };

struct crowd {
    uint32_t count, capacity;
    uint32_t members[];
};

struct cells {
    struct map *parts[PARTS]; /* cell -> struct crowd, not empty */
};

struct cells *cells_new(void) {
    struct cells *cells = mem_alloc(sizeof *cells);
    for (size_t i = 0; i < PARTS; i++) cells->parts[i] = map_new();
    return cells;
}

void cells_free(struct cells *cells) {
    if (!cells) return;
    for (size_t i = 0; i < PARTS; i++) {
        size_t cursor = 0;
        uint64_t cell, crowd;
        while (map_next(cells->parts[i], &cursor, &cell, &crowd)) free((void *)(uintptr_t)crowd);
        map_free(cells->parts[i]);
    }
    free(cells);
}

static struct map *part_of(const struct cells *cells, uint64_t cell) { return cells->parts[hash_fold(cell) % PARTS]; }

static struct crowd *resize(struct crowd *crowd, uint32_t capacity) {
    crowd = mem_resize(crowd, 1, sizeof *crowd + capacity * sizeof *crowd->members);
    crowd->capacity = capacity;
    return crowd;
}

uint32_t cells_add(struct cells *cells, uint64_t cell, uint32_t member) {
    bool created;
    uint64_t *value = map_put(part_of(cells, cell), cell, &created);
    struct crowd *crowd = (struct crowd *)(uintptr_t)*value;
    if (created) {
        crowd = resize(NULL, SMALLEST);
        crowd->count = 0;
    } else if (crowd->count == crowd->capacity) {
        crowd = resize(crowd, crowd->capacity * 2);
    }
    *value = (uint64_t)(uintptr_t)crowd;
    crowd->members[crowd->count] = member;
    return crowd->count++;
}

uint32_t cells_remove(struct cells *cells, uint64_t cell, uint32_t place) {
    struct map *part = part_of(cells, cell);
    uint64_t *value = map_find(part, cell);
    struct crowd *crowd = (struct crowd *)(uintptr_t)*value;
    uint32_t last = crowd->members[--crowd->count];
    crowd->members[place] = last;
    if (!crowd->count) {
        free(crowd);
        map_remove(part, cell, NULL);
    } else if (crowd->capacity > SMALLEST && crowd->count * 4 <= crowd->capacity) {
        *value = (uint64_t)(uintptr_t)resize(crowd, crowd->capacity / 2);
    }
    return last;
}

const uint32_t *cells_members(const struct cells *cells, uint64_t cell, size_t *count) {
    const struct crowd *crowd = map_pointer(part_of(cells, cell), cell);
    *count = crowd ? crowd->count : 0;
    return crowd ? crowd->members : NULL;
}
