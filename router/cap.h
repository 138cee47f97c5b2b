/* Keeps friend lists within the cap. The owner notices friendships beyond it when it applies them, and sends REMOVE commands for the
 * newest ones (router/excess.h keeps the list). Loop's thread.
 */
#pragma once

#include "base/log.h"
#include "router/graph.h"
#include "router/metrics.h"
#include "router/record_collector.h"

struct cap;

struct cap_options {
    struct log *log;
    struct router_metrics *metrics;
    struct graph *graph;
    struct record_collector *collector;
    struct excess *excess; /* longer-lived, as all of them */
    size_t friends;        /* the cap */
};

struct cap *cap_new(const struct cap_options *options);
void cap_free(struct cap *cap); /* NULL is fine */

/* cap_remove, for an owned partition: sends REMOVE for friendships that are still too many. cap_prune, for a stand-by's: forgets those
 * that no longer are. 0, or the graph's failure. */
int cap_remove(struct cap *cap, int32_t partition, struct error *error);
int cap_prune(struct cap *cap, int32_t partition, struct error *error);
