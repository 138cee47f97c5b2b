/* Checkpoints of the friend lists: what a router without data of its own starts from, to read only what followed.
 *
 *     FOLDER/checkpoint-1795249325400/    a whole store (store_checkpoint), named by when it was begun (ms)
 *     FOLDER/checkpoint-1795249325400.*   one that is not whole yet, or no longer: swept up
 *
 * Each family in it says itself what it reflects, and one that is too old is not used. Made by a worker. Loop's thread.
 */
#ifndef ROUTER_CHECKPOINT_H
#define ROUTER_CHECKPOINT_H

#include "base/log.h"
#include "base/loop.h"
#include "router/graph.h"
#include "router/metrics.h"

struct checkpoints;

struct checkpoints_options {
    uv_loop_t *loop;
    struct log *log;
    struct router_metrics *metrics;
    const char *folder; /* copied; "": none are made or used */
    int64_t every_ms;
    size_t keep;
};

/* Opens the graph, from the newest checkpoint that can be used if there is no store at its path yet. Linking takes
 * milliseconds; from another filesystem it takes as long as copying does. */
int checkpoints_open_graph(const struct checkpoints_options *options, const struct graph_options *graph_options,
                           struct graph **graph, struct error *error);

struct checkpoints *checkpoints_new(const struct checkpoints_options *options, struct graph *graph);
void checkpoints_free(struct checkpoints *checkpoints); /* not while busy; NULL is fine */
bool checkpoints_busy(const struct checkpoints *checkpoints);

/* Begins one if it is time. whole: the friend lists are; otherwise it waits. */
void checkpoints_second(struct checkpoints *checkpoints, bool whole, int64_t now_ms);

#endif
