/* A decider's insides: decider.c takes records and tells of partitions and outcomes, transactions.c decides and commits. */
#pragma once

#include "base/worker.h"
#include "decider/decider.h"
#include "decider/pacing.h"
#include "decider/queue.h"
#include "decider/waiters.h"

enum {
    SLICE = 4000,     /* commands decided in one go, before the loop may do something else */
    REFUSED_MAX = 64, /* that are remembered */
    TRACED_MAX = 8    /* traces of one transaction, of which the commit becomes a span */
};

enum decider_stage {
    STAGE_DOWN,     /* no producer; the timer makes one */
    STAGE_STARTING, /* the worker thread starts transactions */
    STAGE_IDLE,
    STAGE_OPEN,      /* a transaction is being filled */
    STAGE_COMMITTING /* the worker thread commits */
};

/* A topic of state, and how far it was written and read back. */
struct written {
    struct overlay *overlay;
    /* By partition. ends: behind the last written record. read: how far the topic is read back; records that were read during a commit
     * count after it. */
    int64_t *ends, *read;
};

/* A partition of a topic of commands; its place is topic number * partitions + partition. */
struct course {
    int64_t expected;  /* the next record that is taken; -1: not begun */
    int64_t end;       /* of the topic, when it was begun */
    size_t position;   /* 1 + its index in `positions`; 0: nothing of it is in the transaction */
    int64_t decided;   /* all queued ones before are decided, */
    size_t queued;     /* and so many are not. With `held`: */
    int64_t committed; /* the last position that was, or where it began */
};

struct refused_command {
    size_t place;
    int64_t offset;
};

struct decider_fence {
    void *context;
    void (*done)(void *context, int code);
    size_t left; /* records that are not acknowledged yet */
};

struct decider {
    struct decider_options options;
    char *transactional_id;
    struct worker *worker;
    struct kafka_producer *producer;
    struct kafka_consumer *consumer;
    struct loop_timer *timer, *turn;
    struct waiters *waiters;
    enum decider_stage stage;
    bool stopped;
    bool revoked; /* since the transaction that is under way was begun */

    struct decider_queue queue;
    struct course *courses; /* by place */
    int64_t *handled;       /* by place; -1: not begun */
    size_t places;
    struct written *written; /* by number of the state topic */

    struct kafka_position *positions; /* of the transaction: the next command of each partition in it */
    size_t position_count;
    struct kafka_position *commits; /* with `held`: what is committed instead */
    size_t commit_count;
    bool wrote;   /* it has records */
    size_t taken; /* commands in it */
    size_t again; /* commands that were read before a transaction failed, and wait to be read and decided again */
    int64_t opened_us;
    struct decider_fence fence; /* done NULL: none is under way */
    struct pacing pacing;
    size_t alone;             /* so many commands are decided one by one: the record of one of them is too large */
    bool too_large;           /* a record of the transaction */
    struct metric *refused_s; /* NULL: not shown */
    struct refused_command refused[REFUSED_MAX]; /* commands at fault: a ring, */
    size_t refused_count;                        /* of those that there ever were */
    unsigned failures;                           /* in a row */
    int64_t pause_us;                            /* no transaction is opened before */

    struct decider_command slice[SLICE];
    struct trace_scope traced[TRACED_MAX]; /* spans of the transaction that is under way */
    size_t traced_count;

    int code; /* the worker's result */
    struct error reason;
};

/* decider.c */
struct written *decider_written(const struct decider *decider, const struct topic *topic); /* NULL: no topic of state */
void decider_overlays_tell(struct decider *decider);
void decider_overlays_clear(struct decider *decider);
void decider_overlays_commit(struct decider *decider);
void decider_queue_tell(struct decider *decider);
void decider_forget(struct decider *decider); /* queue, overlays, and what was begun */

/* holding.c: with `held` */
bool decider_is_quiet(const struct decider *decider); /* a transaction is open that need not be committed now */
bool decider_hold(struct decider *decider);           /* finds what is committed; true: it has moved on */
void decider_held(struct decider *decider);           /* it is committed */

/* transactions.c */
bool decider_open(struct decider *decider); /* a transaction; false: not yet */
struct tracer *decider_tracer(const struct decider *decider);
uint64_t decider_trace_number(const struct queued_command *queued); /* under which its trace is parked */
void decider_start(void *context);                                  /* makes the producer if there is none */
void decider_commit(struct decider *decider);                       /* ends the transaction that is open, by its code */
