/* Friendships for the graph's benches, as half-edges: a synthetic graph, or a file of pairs. Header-only, for bench programs.
 *
 * The synthetic one: users and friends are ids anywhere below 100 million, without any locality (the worst case for lists
 * of differences: what a process sees that owns a part of so large a network). The number of friends follows a power law
 * (exponent 2.5, 5,000 at most).
 */
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "bench/stores.h"
#include "cli/cli.h"
#include "router/graph.h"

enum { BENCH_IDS = 100000000, BENCH_MOST_FRIENDS = 5000 };

struct bench_half {
    int64_t user, other;
};

struct bench_graph {
    struct bench_half *halves;
    size_t count, capacity, users;
};

static inline void bench_silent(void *context, const struct graph_change *change) {}

static inline void bench_too_many(void *context, int32_t partition, int64_t user, int64_t other, int64_t since,
                                  int64_t offset) {}

/* The router's friend lists at a path, all partitions attached. */
static inline struct graph *bench_graph_open(const char *path, int32_t partitions, size_t memory_bytes,
                                             size_t build_bytes) {
    struct graph_options options = {.path = path,
                                    .partitions = partitions,
                                    .cap = BENCH_MOST_FRIENDS,
                                    .max_age_ms = INT64_MAX,
                                    .memory_bytes = memory_bytes,
                                    .build_bytes = build_bytes,
                                    .on_change = bench_silent,
                                    .on_excess = bench_too_many};
    struct graph *graph;
    struct error error;
    if (graph_open(&options, &graph, &error)) bench_die("opening", error.text);
    stores_attach(graph_lists(graph), partitions);
    return graph;
}

static inline void bench_graph_add(struct bench_graph *graph, int64_t user, int64_t other) {
    if (graph->count == graph->capacity) {
        graph->capacity = graph->capacity ? graph->capacity * 2 : 1 << 16;
        graph->halves = mem_resize(graph->halves, graph->capacity, sizeof *graph->halves);
    }
    graph->halves[graph->count++] = (struct bench_half){user, other};
}

static inline int64_t bench_user(size_t index, size_t users) {
    size_t stride = BENCH_IDS / users;
    return (int64_t)(index * stride + hash_u64(index) % stride);
}

/* How many friends a user has. Pareto with minimum m has the mean m * a / (a - 1), a = exponent - 1. */
static inline size_t bench_friends(size_t index, double mean, uint64_t seed) {
    const double a = 1.5, least = mean * (a - 1) / a;
    double unit = (double)(hash_u64(hash_u64(seed) + index) >> 11) / 9007199254740992.0;
    double wanted = least * pow(1 - unit, -1 / a);
    return wanted < BENCH_MOST_FRIENDS ? (size_t)(wanted + 0.5) : BENCH_MOST_FRIENDS;
}

/* Those of the users from `first` on, `some` at most. */
static inline struct bench_graph bench_graph_synthetic_part(size_t users, double mean, uint64_t seed, size_t first,
                                                            size_t some) {
    struct bench_graph graph = {.halves = NULL, .users = users};
    for (size_t i = first; i < users && i < first + some; i++) {
        size_t friends = bench_friends(i, mean, seed);
        int64_t user = bench_user(i, users);
        uint64_t random = hash_u64(seed ^ i << 20);
        for (size_t f = 0; f < friends; f++) {
            int64_t other = (int64_t)(hash_u64(random++) % BENCH_IDS);
            if (other != user) bench_graph_add(&graph, user, other);
        }
    }
    return graph;
}

static inline struct bench_graph bench_graph_synthetic(size_t users, double mean, uint64_t seed) {
    return bench_graph_synthetic_part(users, mean, seed, 0, users);
}

/* As a topic has them: in no order. */
static inline void bench_graph_shuffle(struct bench_graph *graph, uint64_t seed) {
    for (size_t i = graph->count; i > 1; i--) {
        size_t at = hash_u64(seed++) % i;
        struct bench_half half = graph->halves[at];
        graph->halves[at] = graph->halves[i - 1];
        graph->halves[i - 1] = half;
    }
}

static inline int bench_graph_pair(void *context, int64_t a, int64_t b) {
    struct bench_graph *graph = context;
    bench_graph_add(graph, a, b);
    bench_graph_add(graph, b, a);
    int64_t most = a > b ? a : b;
    if ((size_t)most >= graph->users) graph->users = (size_t)most + 1;
    return 0;
}

/* Two ids a line, .gz or plain. */
static inline int bench_graph_read(const char *path, struct bench_graph *graph, struct error *error) {
    *graph = (struct bench_graph){.halves = NULL};
    return cli_read_pairs(path, bench_graph_pair, graph, error);
}

static inline void bench_graph_free(struct bench_graph *graph) {
    free(graph->halves);
    *graph = (struct bench_graph){.halves = NULL};
}
