/* What relations.c and relations_tell.c share. */
#ifndef ROUTER_RELATIONS_PRIVATE_H
#define ROUTER_RELATIONS_PRIVATE_H

#include "adjacency/lots.h"
#include "router/state.h"

/*            attach                      live
 *     nothing -----> restoring ------------------------> live: what comes is news
 *        |  standby      ^  attach: reads the rest        |
 *        +---------> standby: kept up to date, in silence |
 *                        ^--------------------------------+ standby          detach: from anywhere to nothing */
struct relation {
    bool attached, live, standby;
    bool touched;      /* in the batch at hand */
    bool damaged;      /* a list is; all are read anew in the loop's next turn */
    int64_t reflected; /* friendships applied up to here; -1: not known yet */
    int64_t told;      /* what the group was told of that */
};

/* Friend lists that were read from the beginning are put together by a worker, one partition's at a time. */
struct finishing {
    struct relations *relations;
    int32_t partition;
    struct adjacency_build *build; /* NULL: none */
    int code;
    struct error error;
};

struct relations {
    struct router *router;
    struct kafka_consumer *consumer;
    struct relation *parts;
    int32_t *touched;
    size_t touched_count, attached, live;
    struct lots *lots; /* of what is live or stands by, and can be read */
    struct loop_timer *turn, *mend;
    struct kafka_position *more, *less; /* to be read, or no longer, from relations_read on */
    size_t more_count, less_count;
    struct finishing finishing;
};

/* Tells the group how far friendships and sharing of what is ours are handled. again: what was told before, too. */
void relations_tell(struct relations *relations, bool again);

#endif
