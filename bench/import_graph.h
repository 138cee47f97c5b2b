/* The graph of bench/import: friendships between users 0..users-1, of which few have many friends and many have few. The
 * same seed gives the same friendships in the same order, which is no order at all: the hardest one for a store. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

struct bench_graph {
    uint64_t random, users, *seen, mask;
    int64_t left;
};

static inline struct bench_graph bench_graph_new(int64_t friendships, int64_t users, uint64_t seed) {
    uint64_t slots = 64;
    while (slots < (uint64_t)friendships * 2) slots *= 2;
    return (struct bench_graph){.random = seed << 32,
                                .users = (uint64_t)users,
                                .seen = mem_zero(slots, sizeof(uint64_t)),
                                .mask = slots - 1,
                                .left = friendships};
}

static inline void bench_graph_free(struct bench_graph *graph) { free(graph->seen); }

/* Rank 0 has the most friends; ranks are spread over the ids by a prime that divides no number of users below it. */
static inline uint64_t bench_graph_user(struct bench_graph *graph) {
    double place = (double)(hash_u64(graph->random++) >> 11) / 9007199254740992.0;
    uint64_t rank = (uint64_t)(pow(place, 1.5) * (double)graph->users);
    return rank * 2147483647u % graph->users;
}

/* The next friendship, each once; false: that were all. */
static inline bool bench_graph_next(struct bench_graph *graph, uint64_t *a, uint64_t *b) {
    while (graph->left) {
        uint64_t x = bench_graph_user(graph), y = bench_graph_user(graph);
        if (x == y) continue;
        uint64_t key = (x < y ? x << 32 | y : y << 32 | x) + 1, at = hash_u64(key) & graph->mask;
        while (graph->seen[at] && graph->seen[at] != key) at = (at + 1) & graph->mask;
        if (graph->seen[at]) continue;
        graph->seen[at] = key;
        graph->left--;
        *a = x;
        *b = y;
        return true;
    }
    return false;
}
