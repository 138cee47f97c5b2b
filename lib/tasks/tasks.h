/* The tasks of a process: for each partition that it owns or stands by for, a task that owns the partition's part of every store.
 *
 *     lib/owner: partitions come and go --> task: restore ---------> run ---------------> close
 *                records of states ------->       into its stores    and the product sees what changes
 *
 * A product names its topics in one table, and the store that each state is read into; nothing of a partition's life passes through the
 * product. A task opens its stores, knows where each state goes on and when it is restored, tells the decider what is read back, and
 * keeps its stores' age. A store that is damaged, or has lost its place in a topic, is emptied and read anew. Stores in memory are
 * read anew each time that the task is to run.
 *
 * All calls and callbacks: the loop's thread.
 */
#ifndef TASKS_TASKS_H
#define TASKS_TASKS_H

#include "kafka/producer.h"
#include "owner/owner.h"
#include "state/kind.h"

struct tasks;

/* Topics of a store follow each other in the table, and are numbered in that order. */
struct tasks_topic {
    const struct topic *topic;
    enum owner_role role;
    size_t store; /* of a state: its place among the product's kinds */
    /* A record that was not read before, just before its store takes it; NULL: nobody looks. */
    void (*sees)(void *context, const struct kafka_record *record);
};

struct tasks_product {
    const struct tasks_topic *topics;
    size_t topic_count;
    const struct state_kind *const *kinds; /* of its stores, in the order in which they are opened */
    size_t store_count;

    void (*changed)(void *context); /* state of tasks that run was written: who waits for it may look again */
    void (*flush_old)(void *context, int64_t now_us); /* these three: as the owner's */
    void (*flush)(void *context);
    void (*drained)(void *context);
    void (*failed)(void *context, const char *doing, const struct error *error); /* once; the process must end */
};

/* product and context are longer-lived. Nothing but tasks_owner, tasks_damaged and tasks_fail is of use before tasks_start. */
struct tasks *tasks_new(uv_loop_t *loop, struct log *log, int32_t partitions, const struct tasks_product *product,
                        void *context);
void tasks_free(struct tasks *tasks); /* leaves the group; not while busy; NULL is fine */

/* Makes the owner, and starts it. owner: all but the topics, the product and its context. stores: one a kind; copied. dead_letters:
 * borrowed. max_age_ms: a store that was last up to date longer ago is read anew. */
int tasks_start(struct tasks *tasks, const struct owner_options *owner, void *const *stores,
                struct kafka_producer *dead_letters, int64_t max_age_ms, struct error *error);
struct owner *tasks_owner(struct tasks *tasks); /* NULL before tasks_start */

/* The product has all else that it needs to run: the group is joined as soon as state is prepared. */
void tasks_may_join(struct tasks *tasks);
void tasks_drain(struct tasks *tasks); /* these two: the group is not joined any more; owner_drain, */
bool tasks_busy(struct tasks *tasks);  /* and owner_stop: true: it must not be freed yet */
void tasks_second(struct tasks *tasks);

int tasks_serves(const struct tasks *tasks, int32_t partition); /* owner_serves; -ESTALE: there is no such partition */

/* The decider's on_handled and on_reset; also before tasks_start. */
void tasks_decided(struct tasks *tasks);
void tasks_commands_lost(struct tasks *tasks);

/* A store failed to read a value of that partition. -EBADMSG: it is damaged, and from the next turn of the loop on all state of the
 * partition is read anew. Anything else is for the caller to answer: tasks_damaged does nothing. */
void tasks_damaged(struct tasks *tasks, int32_t partition, int code, const struct error *error);
void tasks_fail(struct tasks *tasks, const char *doing, const struct error *error); /* the process ends */

#endif
