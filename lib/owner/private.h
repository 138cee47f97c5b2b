/* The inside of an owner, shared by its files. Nothing outside of lib/owner includes it.
 *
 *     owner.c    made, ended, freed; timers         inputs.c   the group's consumer: inputs, commands
 *     commits.c  epochs, offsets, lag
 *     changelogs.c  reads the state topics of open partitions, each from the offset of its store; commits nothing, and is in no group
 *     answers.c  questions to the broker about owned partitions; fresh.c  how old what is read of open ones is at most
 *     standby.c  the group's members, stand-bys     stages.c, members.c  know no owner
 */
#pragma once

#include "owner/metrics.h"
#include "owner/owner.h"

struct answers;
struct fresh;
struct standby;

struct owner {
    struct owner_options options;
    const struct topic *inputs[STAGES_TOPICS_MAX], *commands[STAGES_TOPICS_MAX];
    const struct topic *states[STAGES_TOPICS_MAX + 1]; /* the last one is options.offsets, if there is any */
    bool shared[STAGES_TOPICS_MAX];                    /* by input */
    size_t input_count, command_count, state_count;    /* without options.offsets */

    struct stages *stages;
    struct kafka_consumer *consumer; /* of the group; NULL: not joined */
    struct answers *answers;
    struct standby *standby; /* NULL: there are no stand-bys */
    struct fresh *fresh;     /* NULL: no state's age is wanted */
    struct owner_metrics metrics;

    /* changelogs.c: */
    struct kafka_consumer *changelogs;  /* of states and options.offsets */
    struct kafka_position *more, *less; /* to be read, or no longer, from changelogs_read on */
    size_t more_count, less_count;
    struct kafka_record *batch; /* of states: those that are the product's */
    bool *standing;             /* by partition: read in silence */
    bool *opened;               /* by partition */
    int64_t *decided;           /* by command, then partition: what options.offsets says; -1: nothing */
    int64_t *offsets_ends;      /* by partition: up to where options.offsets must be read */
    int64_t *command_ends;      /* as decided: where the topics of commands ended when that was asked */

    /* inputs.c: */
    struct kafka_consumer *observer;  /* of others' partitions of shared inputs; NULL: there are no such inputs */
    struct kafka_position *positions; /* room for all inputs and commands */
    struct loop_timer *retry;
    struct loop_timer *ready; /* while output waits for more */
    bool assigned, ever_assigned;
    struct {
        int64_t next, since_ms;
    } * unread;    /* by command, then partition: the next command, and since when it is that */
    bool *resumed; /* by partition: the next input handled is the first after an assignment */
    bool held, blocked, commands_paused;
    uint64_t told_epoch; /* the last one whose offsets were settled */
    uint64_t commit_failures;
    int64_t lag_ms;

    /* The end: */
    bool draining, stopped, ended, hands_over, leaving, left;
    int wait_tenths, drain_tenths; /* since draining began, and since inputs stopped */
    int stays;                     /* tenths of a second that it remains a member after it has handed over */
};

#define PRODUCT(owner, call, ...) ((owner)->options.product->call((owner)->options.context, ##__VA_ARGS__))

/* A topic's number in its role; count: it is none of them. */
static inline size_t owner_number_of(const struct topic *const *topics, size_t count, const struct topic *topic) {
    size_t i = 0;
    while (i < count && topics[i] != topic) i++;
    return i;
}

/* ---- owner.c ---- */

void owner_failed(struct owner *owner, const char *doing, const struct error *error);

/* ---- inputs.c ---- */

void inputs_progress(struct owner *owner); /* restored partitions become live, and their commands begin */
void inputs_pause_commands(struct owner *owner, bool pause);
/* Whether more commands are queued than a part of what may be: 1: than all, 2: than half. */
bool inputs_queue_above(const struct owner *owner, size_t part);
void inputs_hold(struct owner *owner);
/* Whether the partition of the input is read, its own or another owner's, and nothing is left to read. */
bool inputs_at_end(const struct owner *owner, size_t input, int32_t partition);
void inputs_flush_ready(struct owner *owner); /* sends output that need not wait for more, and the rest in time */
void inputs_stop(struct owner *owner);
void inputs_collect(struct owner *owner); /* says in the metrics how far each input is handled, as of now */
bool inputs_leave(struct owner *owner);   /* hands its partitions over; true: done, or impossible */
void inputs_commands_lost(struct owner *owner);
void inputs_restore_again(struct owner *owner, int32_t partition);
const char *inputs_member(const struct owner *owner); /* the broker's id of this member; NULL: none */

/* ---- commits.c ---- */

void commits_make(struct owner *owner);          /* tells the group what is settled */
void commits_second(struct owner *owner);        /* once a second: closes an epoch, tells what is settled */
void commits_measure(struct owner *owner);       /* ten times a second: lag */
bool commits_settled(const struct owner *owner); /* everything that was handled is settled and told */

/* ---- changelogs.c ---- */

int changelogs_new(struct owner *owner, struct error *error);
void changelogs_free(struct owner *owner);

/* All of these from the next changelogs_read on. */
int changelogs_activate(struct owner *owner, int32_t partition, const struct stages_answer *answer,
                        struct error *error);
int changelogs_stand_by(struct owner *owner, int32_t partition, struct error *error); /* as a stand-by */
void changelogs_drop(struct owner *owner, int32_t partition);
int changelogs_read(struct owner *owner, struct error *error);

bool changelogs_reached(struct owner *owner, int32_t partition, const int64_t *ends);
int64_t changelogs_standby_lag(struct owner *owner, int32_t partition); /* -1: not known yet */
/* Records that are left to read up to these ends of the states; an end of INT64_MAX is not known and does not count. */
int64_t changelogs_left(const struct owner *owner, int32_t partition, const int64_t *ends);
/* The next command of a partition by the topic options.offsets; -1: it has no record of that. */
int64_t changelogs_decided(const struct owner *owner, size_t command, int32_t partition);
/* options.offsets must be read up to its end before that; what it says beyond the end of a topic of commands is of another topic
 * of that name, which has been deleted since. */
void changelogs_asked(struct owner *owner, int32_t partition, int64_t offsets_end, const int64_t *command_ends);

/* ---- answers.c ---- */

struct answers *answers_new(struct owner *owner);
void answers_free(struct answers *answers); /* not while busy; NULL is fine */
bool answers_busy(const struct answers *answers);
void answers_want(struct answers *answers); /* asks anew: the answer that is under way no longer counts */
void answers_try(struct answers *answers);  /* asks if that is wanted and possible now */
void answers_forget(struct answers *answers);

/* ---- fresh.c ---- */

struct fresh *fresh_new(struct owner *owner); /* NULL: no state's age is wanted; it is fine everywhere */
void fresh_free(struct fresh *fresh);         /* not while busy */
void fresh_start(struct fresh *fresh);
void fresh_stop(struct fresh *fresh); /* asks nothing more */
bool fresh_busy(const struct fresh *fresh);
void fresh_forget(struct fresh *fresh, int32_t partition); /* it is no longer read */

/* ---- standby.c ---- */

int standby_new(struct owner *owner, struct standby **standby, struct error *error);
void standby_free(struct standby *standby); /* not while busy; NULL is fine */
void standby_stop(struct standby *standby); /* asks nothing more; NULL is fine */
bool standby_busy(const struct standby *standby);
void standby_look(struct standby *standby);     /* members may have changed: asks now. NULL is fine */
void standby_progress(struct standby *standby); /* ten times a second. NULL is fine */

/* How a static member ends. The caller asks again until the answer is not STANDBY_WAIT. */
enum standby_way { STANDBY_WAIT, STANDBY_END, STANDBY_HAND_OVER };
enum standby_way standby_way_to_end(struct standby *standby); /* NULL: STANDBY_END */
