#include <stdlib.h>

#include "base/mem.h"
#include "event/topics.h"
#include "router/relations_private.h"

/* How far friend lists are, as an offset of the group: nobody goes on from there, but whoever waits for an import to arrive, or
 * looks for the lag of a group, finds it where all the other progress is. */
static void tell_friendships(struct relations *relations, bool again) {
    struct router *router = relations->router;
    struct kafka_position *told = mem_alloc((size_t)router->partitions * sizeof *told);
    size_t count = 0;
    for (int32_t p = 0; p < router->partitions; p++) {
        struct relation *part = &relations->parts[p];
        if (!part->live || router->parts[p].stage != PARTITION_LIVE) continue;
        // Past the markers of transactions, too, which are not applied.
        int64_t next = graph_queued(router->graph, p)
                           ? part->reflected
                           : kafka_consumer_position(relations->consumer, &TOPIC_FRIENDSHIPS, p);
        if (next < 0 || (next <= part->told && !again)) continue;
        part->told = next;
        told[count++] = (struct kafka_position){.topic = &TOPIC_FRIENDSHIPS, .partition = p, .offset = next};
    }
    if (count) ownership_commit_positions(router->ownership, told, count);
    free(told);
}

static void tell_sharing(struct relations *relations) {
    struct router *router = relations->router;
    struct kafka_position *told = mem_alloc((size_t)router->partitions * sizeof *told);
    size_t count = 0;
    for (int32_t p = 0; p < router->partitions; p++) {
        struct kafka_position position = {.topic = &TOPIC_SHARING, .partition = p};
        if (!relations->parts[p].attached || relations->parts[p].standby) continue;
        if (consents_restart(router->consents, p, &position.offset)) {
            log_warn(router->log, "opt-outs were not stored and are told again", LOG_INT("partition", p));
            kafka_consumer_seek(relations->consumer, &position, NULL);
        } else if (consents_committable(router->consents, p, &position.offset)) {
            consents_committed(router->consents, p, position.offset);
            told[count++] = position;
        }
    }
    if (count) ownership_commit_positions(router->ownership, told, count);
    free(told);
}

void relations_tell(struct relations *relations, bool again) {
    tell_sharing(relations);
    tell_friendships(relations, again);
}
