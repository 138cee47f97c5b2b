/* The tasks of a process: for each partition that it owns or stands by for, a task that owns the partition's part of every store.
 *
 *     lib/owner: partitions come and go --> task: restore ---------> run ---------------> close
 *                records of states ------->       into its stores    effects of what changes
 *
 * A product names its topics in one table, the store that each state is read into, and what a change leads to; nothing of a partition's life
 * passes through the product. A task opens its stores, knows where each state goes on and when it is restored, tells the decider what is
 * read back, and keeps its stores' age. A store that is damaged, or has lost its place in a topic, is emptied and read anew. Stores in
 * memory are read anew each time that the task is to run.
 *
 * Effects are carried out at least once, when all of a batch of records is stored: those of records that come while the task runs, and of
 * those before for which the group does not know it (tasks/effects.h). While the product's output has no room they are put off.
 *
 * All calls and callbacks: the loop's thread.
 */
#pragma once

#include "kafka/producer.h"
#include "owner/owner.h"
#include "state/ages.h"
#include "state/kind.h"

struct tasks;

/* Topics of a store follow each other in the table, and are numbered in that order. States with effects, or that show
 * their progress, stand before those without. */
struct tasks_topic {
    const struct topic *topic;
    enum owner_role role;
    size_t store; /* of a state: its place among the product's kinds */
    bool aged;    /* a state: owner_age_ms counts it */
    /* A record that was not read before, just before its store takes it; NULL: nobody looks. */
    void (*sees)(void *context, const struct kafka_record *record);
    /* Carries out what a record leads to, from the state that the stores have now. It may be none of its topic. NULL: no effects. -EAGAIN:
     * there is no room, and it is put off. */
    int (*effect)(void *context, const struct kafka_record *record, struct error *error);
    /* Effects do not wait until the task runs: they are carried out as soon as this process owns the partition, and all of them if the group
     * knows of none. */
    bool at_once;
    /* The first record of the partition whose effects are under way for longer than a call, or that is not applied; INT64_MAX: there is
     * none. NULL: never. */
    int64_t (*held)(void *context, int32_t partition);
    /* The group is told how far it is read, as for a state with effects: tools that wait for an import, or show a group's lag, find it there. */
    bool shows_progress;
};

struct tasks_product {
    const struct tasks_topic *topics;
    size_t topic_count;
    const struct state_kind *const *kinds; /* of its stores, in the order in which they are opened */
    size_t store_count;

    void (*flush_old)(void *context, int64_t now_us);
    void (*flush)(void *context); /* sends all output: before an epoch is closed */
    void (*drained)(void *context);
    void (*failed)(void *context, const char *doing, const struct error *error); /* once; the process must end */

    /* NULL: the product has no use for it. */
    int64_t (*flush_ready)(void *context, int64_t now_us); /* as the owner's */
    /* The group is joined as soon as the product says so (tasks_may_join), now or later. */
    void (*prepared)(void *context);
    void (*changed)(void *context); /* state of tasks that run was written: who waits for it may look again */
    void (*settle)(void *context);  /* partitions change hands: handles held-back input. `flush` follows */
    bool (*busy)(void *context);    /* its worker threads */
    void (*stored)(void *context);  /* a batch of state is stored, and its effects come next */
    void (*drop)(void *context,
                 int32_t partition); /* forgets the effects that are under way: they will be carried out again */
    bool (*blocked)(void *context);  /* offers output once more; true: there is no room for any */
    bool (*crowded)(void *context);  /* too much of the inputs waits already */
    void (*input)(void *context, size_t input, const struct kafka_record *record, bool owned,
                  int64_t now_us);                                /* these */
    void (*lower)(void *context, size_t input, int64_t *offsets); /* two: as the owner's */
};

/* product and context are longer-lived. Nothing but tasks_owner, tasks_damaged and tasks_fail is of use before tasks_start. */
struct tasks *tasks_new(uv_loop_t *loop, struct log *log, int32_t partitions, const struct tasks_product *product,
                        void *context);
void tasks_free(struct tasks *tasks); /* leaves the group; not while busy; NULL is fine */

struct tasks_options {
    const struct owner_options *owner;   /* all but the topics, the product and its context */
    void *const *stores;                 /* one a kind; copied */
    struct ages *ages;                   /* of stores without an age of their own; NULL: all have one */
    struct kafka_producer *dead_letters; /* borrowed */
    struct metric *undecodable;          /* how many records went there; NULL: nobody counts */
    int64_t max_age_ms;                  /* a store that was last up to date longer ago is read anew */
};
int tasks_start(struct tasks *tasks, const struct tasks_options *options, struct error *error); /* makes the owner */
struct owner *tasks_owner(struct tasks *tasks); /* NULL before tasks_start */

/* The product has all else that it needs to run: the group is joined as soon as state is prepared. */
void tasks_may_join(struct tasks *tasks);
void tasks_drain(struct tasks *tasks); /* these two: the group is not joined any more; owner_drain, */
bool tasks_busy(struct tasks *tasks);  /* and owner_stop: true: it must not be freed yet */
void tasks_second(struct tasks *tasks);

int tasks_serves(const struct tasks *tasks, int32_t partition); /* owner_serves; -ESTALE: there is no such partition */
/* Everything that Kafka has of the partition's state is in the stores. */
bool tasks_current(const struct tasks *tasks, int32_t partition);

/* A record that cannot be read goes to its topic's dead letters, is counted and logged. */
void tasks_bury(struct tasks *tasks, const struct kafka_record *record, const char *reason);

/* The decider's on_handled and on_reset; also before tasks_start. */
void tasks_decided(struct tasks *tasks);
void tasks_commands_lost(struct tasks *tasks);

/* Output was lost: effects and inputs that are not acknowledged are carried out again. Also before tasks_start. */
void tasks_effects_lost(struct tasks *tasks);

/* The effects of a state's records from this one on, which were carried out, are carried out once more, if the task runs: the product had no
 * room for what is held from there on. Not within an effect. */
void tasks_repeat(struct tasks *tasks, const struct topic *topic, int32_t partition, int64_t offset);
/* All records of a state before it have come. */
int64_t tasks_position(const struct tasks *tasks, const struct topic *topic, int32_t partition);

/* A store failed to read a value of that partition. -EBADMSG: it is damaged, and from the next turn of the loop on all state of the
 * partition is read anew. Anything else is for the caller to answer: tasks_damaged does nothing. */
void tasks_damaged(struct tasks *tasks, int32_t partition, int code, const struct error *error);
/* The same, and anything else ends the process. */
void tasks_store_failed(struct tasks *tasks, int32_t partition, int code, const struct error *error);
void tasks_fail(struct tasks *tasks, const char *doing, const struct error *error); /* the process ends */
