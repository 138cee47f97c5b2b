/* Keeps the friend lists of attached partitions up to date with the topic friendships: queues records, applies them in lots, has a worker
 * build lists that are read from the beginning, and keeps lists within the cap. The owner calls it as a product's state. Loop's
 * thread.
 *
 *     records --> graph_add --> lots: now, or when many have come together --> graph_apply --> on_change (live partitions)
 */
#ifndef ROUTER_RELATIONS_H
#define ROUTER_RELATIONS_H

#include "base/log.h"
#include "base/loop.h"
#include "decider/decider.h"
#include "owner/owner.h"
#include "router/cap.h"

struct relations;

struct relations_options {
    uv_loop_t *loop;
    struct log *log;
    struct router_metrics *metrics;
    int32_t partitions;
    size_t state; /* the owner's number of the topic friendships */
    struct graph *graph;
    struct cap *cap;
    struct decider *decider;
    struct sending *sending;
    void *context;
    void (*failed)(void *context, const struct error *error); /* the store failed: the process must end */
};

struct relations *relations_new(const struct relations_options *options);
void relations_free(struct relations *relations); /* not while busy; NULL is fine */
bool relations_busy(const struct relations *relations);
void relations_stop(struct relations *relations); /* begins nothing more on worker threads */

/* Before all that follow. */
void relations_set_owner(struct relations *relations, struct owner *owner);

/* For the owner's callbacks (struct owner_product) about this state. */
int relations_attach(struct relations *relations, int32_t partition, int64_t *from, struct error *error);
void relations_detach(struct relations *relations, int32_t partition);
void relations_own(struct relations *relations, int32_t partition);
void relations_silence(struct relations *relations, int32_t partition);
void relations_take(struct relations *relations, const struct kafka_record *records,
                    size_t count); /* skips records of other states */
void relations_idle(struct relations *relations);
void relations_lost(struct relations *relations, int32_t partition);
bool relations_reached(const struct relations *relations, int32_t partition, int64_t end);
int64_t relations_unapplied(const struct relations *relations, int32_t partition);
void relations_live(struct relations *relations, int32_t partition);

/* For the graph's on_damaged: reads the lists of that partition anew, from the next turn of the loop on. */
void relations_damaged(struct relations *relations, int32_t partition, const struct error *error);

void relations_tenth(struct relations *relations);
void relations_second(struct relations *relations);
bool relations_current(const struct relations *relations); /* live partitions are read to their ends */

#endif
