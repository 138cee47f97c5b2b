/* Friends of whom one sees the other's place only rounded, or both do: to the centre of a cell of a grid that never moves (grid.h), and so
 * the same whoever asks and from wherever. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "router/grid.h"

/* Bits. */
enum {
    ROUNDING_NONE = 0,
    ROUNDING_MINE = 1,  /* the friend sees the user rounded */
    ROUNDING_THEIRS = 2 /* the user sees the friend rounded */
};

struct rounding {
    int64_t friend;
    uint8_t bits;
};

/* A user's friends with other bits than ROUNDING_NONE, by id. Zero-initialised is empty; reused without allocation once it is large
 * enough. */
struct rounding_list {
    struct rounding *items;
    size_t count, capacity;
};
void rounding_list_free(struct rounding_list *list);
void rounding_list_add(struct rounding_list *list, int64_t friend, uint8_t bits); /* above those in the list */

/* The bits of friends that are asked for in rising order. *at: 0 before the first. */
static inline uint8_t rounding_next(const struct rounding_list *list, size_t *at, int64_t friend) {
    while (*at < list->count && list->items[*at].friend < friend) (*at)++;
    return *at < list->count && list->items[*at].friend == friend ? list->items[*at].bits : ROUNDING_NONE;
}

/* A place as somebody sees it. */
static inline struct geo_point rounding_place(const struct grid *grid, struct geo_point at, bool rounded) {
    return rounded ? grid_centre(grid, grid_cell(grid, at)) : at;
}
