/* The world of `./dev bench router`: who there is, whose friends they are, where they are and what they report. Everything
 * follows from a seed, so that the programs of the bench and its peers have the same data without handing it on.
 *
 *     index   0 1 2 .. 9 | 10 11 ..           ten times as many people as are present; every tenth one is present
 *             [ a neighbourhood: 2,000 indices in a row, who live within 2 km ][ the next one ...
 *
 * Any two of a neighbourhood are friends with probability 1/5: 400 friends each on average, 40 of them present, who are all
 * near. Some of those present, evenly spread, are reporters: they have friend lists and report, again and again. Ids are
 * the indices scattered over 2^27 numbers, so that a friend list is no row of neighbours (3 bytes a friend).
 *
 * Header-only, for bench programs.
 */
#pragma once

#include <stdlib.h>

#include "base/hash.h"
#include "base/sorted.h"
#include "event/records.h"
#include "json/details.h"

enum { WORLD_NEIGHBOURS = 2000, WORLD_FRIEND_ONE_IN = 5, WORLD_ID_BITS = 27, WORLD_PRESENT_ONE_IN = 10 };

struct world {
    uint64_t seed;
    int64_t present, reporters; /* a multiple of the other */
    int32_t partitions, routes;
    int64_t time; /* ms, of the JOINs; round r of reports is r + 1 seconds later */
};

/* A bijection of 27 bits: each step is one. Never 0. */
static inline int64_t world_id(int64_t index) {
    const uint32_t mask = (1u << WORLD_ID_BITS) - 1;
    uint32_t x = (uint32_t)index;
    x = x * 0x9e3779b1u & mask;
    x ^= x >> 13;
    x = x * 0x85ebca6bu & mask;
    x ^= x >> 15;
    return (int64_t)x + 1;
}

static inline int64_t world_present_index(int64_t number) { return number * WORLD_PRESENT_ONE_IN; }

static inline int64_t world_reporter_index(const struct world *world, int64_t number) {
    return world_present_index(number * (world->present / world->reporters));
}

static inline bool world_is_present(int64_t index) { return index % WORLD_PRESENT_ONE_IN == 0; }

static inline bool world_friends(const struct world *world, int64_t a, int64_t b) {
    uint64_t low = (uint64_t)(a < b ? a : b), high = (uint64_t)(a < b ? b : a);
    return hash_u64(world->seed ^ (low << 32 | high)) % WORLD_FRIEND_ONE_IN == 0;
}

/* Ids of a user's friends in rising order; room for WORLD_NEIGHBOURS. present: only those. */
static inline size_t world_friend_ids(const struct world *world, int64_t index, bool present, int64_t *ids) {
    int64_t first = index / WORLD_NEIGHBOURS * WORLD_NEIGHBOURS, last = first + WORLD_NEIGHBOURS;
    int64_t step = present ? WORLD_PRESENT_ONE_IN : 1;
    size_t count = 0;
    if (last > world->present * WORLD_PRESENT_ONE_IN) last = world->present * WORLD_PRESENT_ONE_IN;
    for (int64_t other = first; other < last; other += step)
        if (other != index && world_friends(world, index, other)) ids[count++] = world_id(other);
    qsort(ids, count, sizeof *ids, sorted_order);
    return count;
}

static inline int32_t world_route(const struct world *world, int64_t id) {
    return (int32_t)(hash_u64((uint64_t)id) % (uint64_t)world->routes);
}

/* What the user says in that round; -1: the JOIN. They wander within their neighbourhood. */
static inline struct location world_location(const struct world *world, int64_t index, int64_t round) {
    uint64_t home = hash_u64(world->seed + (uint64_t)(index / WORLD_NEIGHBOURS));
    uint64_t step = hash_u64(world->seed + ((uint64_t)index << 20) + (uint64_t)(round + 1));
    int64_t id = world_id(index);
    return (struct location){
        .user = id,
        .lat = (int32_t)(home % 1200000000) - 600000000 + (int32_t)(step % 200000),
        .lng = (int32_t)((home >> 32) % 3400000000u - 1700000000) + (int32_t)((step >> 32) % 200000),
        .time = world->time + (round + 1) * 1000,
        .kind = round < 0 ? LOCATION_JOIN : LOCATION_REPORT,
        .session = id,
        .route = world_route(world, id),
        .opted = 0,
        .accuracy = 10,
        DETAILS_NONE,
    };
}

/* The order in which reporters speak in a round: all of them, scattered. The prime divides no sensible number of them. */
static inline int64_t world_speaker(const struct world *world, int64_t round, int64_t turn) {
    return (turn * 1000003 + round * 7919) % world->reporters;
}
