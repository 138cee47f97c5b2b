/* What ownership.c (the group and what is read) and ownership_ask.c (questions to the broker) share. */
#ifndef ROUTER_OWNERSHIP_PRIVATE_H
#define ROUTER_OWNERSHIP_PRIVATE_H

#include "router/state.h"

enum { OWNERSHIP_ASK_AGAIN_MS = 300 };

struct ownership {
    struct router *router;
    struct kafka_consumer *consumer;
    struct loop_timer *again;
    struct kafka_position *positions; /* room for two a partition */

    uint64_t generation; /* of what has been asked: rises with each assignment and each reset */
    bool assigned, ever_assigned;
    bool asking, ask_wanted;
    bool stopped, held, commands_paused;
    bool leaving, left;
    int stays; /* tenths of a second that it remains a member after that */

    int64_t *snapshots;  /* by epoch modulo, then partition: where reading was when the epoch was closed */
    uint64_t told_epoch; /* the last one whose snapshot was committed */
    uint64_t commit_failures;
};

static inline struct kafka_position ownership_at(const struct topic *topic, int32_t partition, int64_t offset) {
    return (struct kafka_position){.topic = topic, .partition = partition, .offset = offset};
}

/* Something without which there is no going on. */
void ownership_failed(struct ownership *ownership, const char *doing, const struct error *error);

/* Asks for committed offsets and ends of owned partitions, if that is wanted and possible now. The answer makes ASKING
 * partitions RESTORING, and says where friend commands begin. */
void ownership_ask(struct ownership *ownership);
void ownership_want_answers(struct ownership *ownership); /* anew: what is being asked no longer counts */

#endif
