/* The world of `./dev bench feed`: its people, their follows and their posts. All of it is computed from numbers, so the programs
 * of the bench and its peers have the same data without passing it on. Header-only, for bench programs.
 *
 *     people    0 to people - 1; their ids are scattered over 2^27 numbers, so that a list of them is no row of neighbours
 *     follows   each reader follows `following` people, drawn evenly from all
 *     posts     number 0 and so on, each of a person drawn evenly, one a step; so ids rise with the number
 */
#pragma once

#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/sorted.h"
#include "ids/ids.h"

enum { FEED_WORLD_ID_BITS = 27 };

struct feed_world {
    int64_t people, following;
    int32_t partitions;
    int64_t begin_ms, step_us; /* of the posts */
};

static inline int64_t feed_world_id(int64_t person) { /* a bijection of 27 bits; never 0 */
    return (person * 0x9e3779b1 & ((1 << FEED_WORLD_ID_BITS) - 1)) + 1;
}

static inline int64_t feed_world_person(int64_t id) { /* whose id this is */
    return (id - 1) * 109784913 & ((1 << FEED_WORLD_ID_BITS) - 1);
}

static inline int32_t feed_world_partition(const struct feed_world *world, int64_t id) {
    return hash_user_partition(id, world->partitions);
}

/* Whom a person draws: number 0 and so on; perhaps oneself, or somebody again. */
static inline int64_t feed_world_drawn(const struct feed_world *world, int64_t person, int64_t number) {
    return (int64_t)(hash_u64((uint64_t)person << 20 | (uint64_t)number) % (uint64_t)world->people);
}

/* Ids of whom a person follows, rising, each once: up to `following`. Nobody follows oneself. */
static inline size_t feed_world_following(const struct feed_world *world, int64_t person, int64_t following,
                                          int64_t *ids) {
    size_t count = 0, kept = 0;
    for (int64_t i = 0; i < following; i++) {
        int64_t drawn = feed_world_drawn(world, person, i);
        if (drawn != person) ids[count++] = feed_world_id(drawn);
    }
    qsort(ids, count, sizeof *ids, sorted_order);
    for (size_t i = 0; i < count; i++)
        if (!kept || ids[kept - 1] != ids[i]) ids[kept++] = ids[i];
    return kept;
}

/* The id of the one whom a person follows next, who follows `more` others already besides those of feed_world_following: the draws go on. */
static inline int64_t feed_world_followed_next(const struct feed_world *world, int64_t person, int64_t more) {
    for (int64_t i = world->following;; i++) {
        int64_t drawn = feed_world_drawn(world, person, i);
        bool known = drawn == person;
        for (int64_t j = 0; j < i && !known; j++) known = feed_world_drawn(world, person, j) == drawn;
        if (!known && !more--) return feed_world_id(drawn);
    }
}

static inline int64_t feed_world_author(const struct feed_world *world, int64_t post) {
    return feed_world_id((int64_t)(hash_u64((uint64_t)post ^ 0x5bd1e995) % (uint64_t)world->people));
}

static inline int64_t feed_world_post_id(const struct feed_world *world, int64_t post) {
    int64_t time = world->begin_ms + post * world->step_us / 1000;
    return ids_make(ids_tick(time, post, -1), feed_world_partition(world, feed_world_author(world, post)));
}
