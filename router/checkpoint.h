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
    void *context;
    void (*on_opened)(void *context, int code, struct graph *graph, struct error *error); /* graph: only if code is 0 */
};

struct checkpoints *checkpoints_new(const struct checkpoints_options *options);
void checkpoints_free(struct checkpoints *checkpoints); /* not while busy; NULL is fine */
bool checkpoints_busy(const struct checkpoints *checkpoints);

/* Opens the graph, which checkpoints are made of from then on; once. If there is no store at its path yet, it begins with the
 * newest checkpoint that can be used: linking takes milliseconds, but from another filesystem a worker copies it, and the log
 * says how far it is. 0: *graph is open; 1: options.on_opened will be called; else why it cannot be opened. */
int checkpoints_open_graph(struct checkpoints *checkpoints, const struct graph_options *options, struct graph **graph,
                           struct error *error);
/* Gives up what is being copied: -ECANCELED then. */
void checkpoints_stop(struct checkpoints *checkpoints);

/* Begins one if it is time. whole: the friend lists are; otherwise it waits. */
void checkpoints_second(struct checkpoints *checkpoints, bool whole, int64_t now_ms);

#endif
