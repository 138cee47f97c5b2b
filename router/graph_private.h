/* The form in which friend lists are kept: for graph.c, its tests and benches. */
#pragma once

#include "router/graph.h"

struct graph {
    struct graph_options options;
    struct adjacency *lists;
    uint64_t views[FRIENDSHIP_VIEWS]; /* the tags of the halves that show so, as bits */
    struct adjacency_entries marked;  /* of the user at hand */
};

static inline void graph_add(struct graph *graph, int32_t partition, int64_t offset, int64_t user, int64_t other,
                             const struct friendship *half) {
    struct list_entry entry = graph_entry(partition, user, other, half);
    adjacency_add(graph->lists, entry.list, entry.id, entry.tag, entry.stamp, offset);
}
