/* A few ids, rising. All zero: empty. Pure but for allocation; one thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct id_set {
    int64_t *items;
    uint32_t count, capacity;
};

void id_set_free(struct id_set *set); /* the memory; empty afterwards */
bool id_set_has(const struct id_set *set, int64_t id);
void id_set_put(struct id_set *set, int64_t id);    /* does nothing if it is there */
void id_set_remove(struct id_set *set, int64_t id); /* does nothing if it is not */
