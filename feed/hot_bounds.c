#include "feed/hot_bounds.h"

#include <stdlib.h>

#include "base/mem.h"

/* BEHIND: steps between the base and the post that has moved it, so that a week of posts fits before it and some days behind it. */
enum { BITS_MIN = 6, BEHIND = 49152 };

static size_t bytes_of(unsigned bits) { return sizeof(uint16_t) << bits; }

static uint16_t *items_new(unsigned bits) {
    size_t bytes = bytes_of(bits);
    return bytes < MEM_LARGE_PAGE ? mem_zero(bytes, 1) : mem_pages(bytes, true);
}

void hot_bounds_init(struct hot_bounds *bounds) {
    *bounds = (struct hot_bounds){.items = items_new(BITS_MIN), .bits = BITS_MIN};
}

void hot_bounds_free(struct hot_bounds *bounds) {
    if (hot_bounds_bytes(bounds) < MEM_LARGE_PAGE)
        free(bounds->items);
    else
        mem_pages_free(bounds->items, hot_bounds_bytes(bounds));
}

size_t hot_bounds_bytes(const struct hot_bounds *bounds) { return bytes_of(bounds->bits); }

/* Doubles the number of bounds. Each old bound becomes two equal ones, each for about half of its authors. */
static void double_all(struct hot_bounds *bounds) {
    struct hot_bounds doubled = {.items = items_new(bounds->bits + 1), .bits = bounds->bits + 1, .base = bounds->base};
    for (size_t i = 0; i < (size_t)1 << doubled.bits; i++) doubled.items[i] = bounds->items[i / 2];
    hot_bounds_free(bounds);
    *bounds = doubled;
}

static void move_base(struct hot_bounds *bounds, int64_t base) {
    int64_t moved = base - bounds->base;
    for (size_t i = 0; i < (size_t)1 << bounds->bits; i++) {
        uint16_t bound = bounds->items[i];
        if (bound) bounds->items[i] = (uint16_t)(bound > moved ? bound - moved : 1);
    }
    bounds->base = base;
}

void hot_bounds_raise(struct hot_bounds *bounds, size_t authors, int64_t author, int64_t id) {
    int64_t step = id >> HOT_BOUND_SHIFT;
    if (authors > (size_t)1 << bounds->bits) double_all(bounds);
    if (step - bounds->base > HOT_BOUND_MAX) move_base(bounds, step - BEHIND);
    uint16_t *bound = &bounds->items[hash_fold((uint64_t)author + 1) >> (64 - bounds->bits)],
             now = hot_bound(bounds, id);
    if (now > *bound) *bound = now;
}
