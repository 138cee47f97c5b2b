/* Shared by tasks.c and tasks_records.c. */
#pragma once

#include "base/loop.h"
#include "tasks/effects.h"
#include "tasks/tasks.h"

struct task {
    bool open, owned, running;
    bool damaged; /* all of its state must be read anew */
};

/* A state, by the owner's number. */
struct task_state {
    const struct tasks_topic *topic;
    const struct state_kind *kind;
    void *store;
    size_t number; /* among the store's topics */
};

/* The part of a store that a worker puts together, one at a time. */
struct task_build {
    struct tasks *tasks;
    size_t store;
    int32_t partition;
    void *build; /* NULL: none is under way */
    int code;
    struct error error;
};

struct tasks {
    const struct tasks_product *product;
    void *context;
    uv_loop_t *loop;
    struct log *log;
    int32_t partitions;
    struct owner *owner;
    struct decider *decider;
    struct kafka_producer *dead_letters;
    struct metric *undecodable;
    struct ages *ages;
    int64_t max_age_ms;
    struct task *tasks; /* by partition */
    struct task_state states[STAGES_TOPICS_MAX];
    size_t state_count, with_effects;
    struct task_effects *effects;
    void *stores[STAGES_TOPICS_MAX]; /* as the product's kinds */
    struct task_build building;
    struct loop_timer *turn; /* reads damaged state anew */
    bool prepared, may_join, draining, stopped, failed;
    bool put_off; /* effects wait until the output has room */
    struct metric *damages;
};

static inline const struct state_kind *tasks_kind(const struct tasks *tasks, size_t store) {
    return tasks->product->kinds[store];
}

static inline int64_t tasks_next(const struct task_state *state, int32_t partition) {
    return state->kind->next(state->store, partition, state->number);
}

/* ---- tasks.c ---- */

void tasks_read_from(struct tasks *tasks, size_t state, int32_t partition, int64_t offset);

/* ---- tasks_records.c ---- */

void tasks_take(void *tasks, const struct kafka_record *records, size_t count); /* the owner's `state` */
int64_t tasks_unbuilt(const struct tasks *tasks, int32_t partition);
void tasks_build(struct tasks *tasks);                       /* begins with a part that is read through */
void tasks_carry_on(struct tasks *tasks, int32_t partition); /* with effects that were put off, or are to be repeated */
void tasks_note(struct tasks *tasks);                        /* how far effects are sent */
void tasks_commit(struct tasks *tasks, bool again);
void tasks_keep(struct tasks *tasks); /* once a second */
