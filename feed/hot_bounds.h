/* For each author, in two bytes, a time after which the author has not posted: most authors of a page have posted nothing new, and their
 * slots (feed/hot.h) need not be read. Authors share a number by their hash, so a bound may be later than the author's newest post, and is
 * never earlier. One thread.
 *
 *     steps of some 17 s    | 1: the base, and all before | 2 | 3 | ... | 65,535: more than 12 days later |
 *
 * A post beyond the last step moves the base so far that 9 days lie between it and that post: older bounds become 1, which is later than
 * they were, and so still a bound.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

enum { HOT_BOUND_SHIFT = 36, HOT_BOUND_MAX = UINT16_MAX };

struct hot_bounds {
    uint16_t *items; /* by the highest bits of the author's hash; 2^bits of them; 0: none of these authors has a post */
    unsigned bits;
    int64_t base;
};

void hot_bounds_init(struct hot_bounds *bounds);
void hot_bounds_free(struct hot_bounds *bounds);
size_t hot_bounds_bytes(const struct hot_bounds *bounds);

/* The author has a post of this id. authors: how many there are, so that there are as many bounds. No author is negative. */
void hot_bounds_raise(struct hot_bounds *bounds, size_t authors, int64_t author, int64_t id);

/* A lower id never has a higher bound. Ids are not negative. */
static inline uint16_t hot_bound(const struct hot_bounds *bounds, int64_t id) {
    int64_t step = (id >> HOT_BOUND_SHIFT) - bounds->base;
    return (uint16_t)(step < 1 ? 1 : step > HOT_BOUND_MAX ? HOT_BOUND_MAX : step);
}

static inline uint16_t hot_bound_of(const struct hot_bounds *bounds, int64_t author) {
    return bounds->items[hash_fold((uint64_t)author + 1) >> (64 - bounds->bits)];
}
