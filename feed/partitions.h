/* The state of the partitions that this process owns or stands by for: takes the records of all state topics, writes them to the
 * stores, and carries out their effects where the partition is live. The owner's callbacks about states lead here. Loop's thread.
 *
 *     follows       --> relation lists --+
 *     posts, texts  --> posts -----------+--> written: then effects (feed/effects.h) --> outbox
 *     friendships   --> blocks ----------+                and the decider hears what is read back
 *     names         --> names -----------+
 *     notices       --> notices ---------+
 *     timelines     --> inboxes ---------+
 *     refusals      --> refusals (in memory)
 *     feed-watches  --> watches (in memory)
 */
#ifndef FEED_PARTITIONS_H
#define FEED_PARTITIONS_H

#include "decider/decider.h"
#include "state/ages.h"
#include "feed/blocks.h"
#include "feed/effects.h"
#include "feed/inboxes.h"
#include "feed/names.h"
#include "feed/notices.h"
#include "feed/outbox.h"
#include "feed/refusals.h"
#include "feed/watches.h"
#include "owner/owner.h"
#include "tasks/carried.h"

/* The numbers of the states; PARTITIONS_TOPICS has their topics in this order. */
enum {
    STATE_FOLLOWS,
    STATE_POSTS,
    STATE_TEXTS,
    STATE_FRIENDSHIPS,
    STATE_TIMELINES,
    STATE_NAMES,
    STATE_NOTICES,
    STATE_REFUSALS,
    STATE_WATCHES,
    STATES_OF_FEED,
    STATES_WITH_EFFECTS = STATE_REFUSALS /* that many, from the first on */
};
enum { INPUT_REQUESTS }; /* the number of the only input, `timeline-requests` */
extern const struct topic *const PARTITIONS_TOPICS[STATES_OF_FEED];

enum { PARTITIONS_COLD_MS = 7 * 86400000 }; /* texts that are older are compressed harder: nearly nobody reads them */

struct partitions;

struct partitions_options {
    uv_loop_t *loop;
    struct log *log;
    struct tracer *tracer;
    int32_t partitions;
    struct relation_lists *relations;
    struct posts *posts;
    struct table_store *blocks;
    struct names *names;
    struct notices *notices;
    struct inboxes *inboxes;
    struct refusals *refusals;
    struct ages *ages;
    int64_t write_s;    /* inboxes are written every so many seconds, and when their memory is full */
    int64_t max_age_ms; /* state that was last up to date longer ago is read anew */
    struct effects *effects;
    struct outbox *outbox;
    struct watches *watches;
    struct decider *decider;
    struct epochs *epochs;
    void *context;
    void (*failed)(void *context, const char *doing, const struct error *error); /* the process must end */
    void (*changed)(void *context); /* state of live partitions was written: who waits for it may look again */
};

struct partitions *partitions_new(const struct partitions_options *options);
void partitions_free(struct partitions *partitions); /* not while busy; NULL is fine */
bool partitions_busy(const struct partitions *partitions);
void partitions_stop(struct partitions *partitions); /* begins nothing more on worker threads */
void partitions_set_owner(struct partitions *partitions, struct owner *owner); /* before all that follow */

/* For the owner's callbacks of the same names (owner/owner.h). */
int partitions_attach(struct partitions *partitions, int32_t partition, int64_t *from, struct error *error);
void partitions_detach(struct partitions *partitions, int32_t partition);
void partitions_own(struct partitions *partitions, int32_t partition, bool fresh, const int64_t *told, int64_t *again);
void partitions_silence(struct partitions *partitions, int32_t partition);
void partitions_take(struct partitions *partitions, const struct kafka_record *records, size_t count);
void partitions_idle(struct partitions *partitions);
bool partitions_lost(struct partitions *partitions, size_t state, int32_t partition);
bool partitions_reached(struct partitions *partitions, int32_t partition, const int64_t *ends);
int64_t partitions_unapplied(const struct partitions *partitions, int32_t partition);
void partitions_live(struct partitions *partitions, int32_t partition);

/* Calls effects_run soon: effects wait for it. */
void partitions_turn_soon(struct partitions *partitions);

/* A value in the store is damaged: from the next turn of the loop on, all state of the partition is read anew. */
void partitions_damaged(struct partitions *partitions, int32_t partition, const struct error *error);

void partitions_flush(struct partitions *partitions); /* sends all effects, and notes that they are sent */
/* The outbox has room again: effects that were put off are carried out. */
void partitions_unblocked(struct partitions *partitions);
void partitions_effects_lost(
    struct partitions *partitions); /* effects are carried out again from the last settled ones on */

void partitions_second(struct partitions *partitions);

#endif
