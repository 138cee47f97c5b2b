/* Shared by feed/effects*.c. */
#pragma once

#include "feed/effects.h"
#include "feed/newest.h"

/* A post, or its deletion, that goes to the followers above `after`. */
struct push {
    int64_t author, id, offset, after;
    int32_t partition;
    bool gone;
};

/* Users by partition: `users` of the partitions `touched`, one partition behind the other. */
struct groups {
    int64_t *users;
    int32_t *homes; /* of the users as they came */
    size_t capacity;
    size_t *counts, *ends; /* by partition; counts of others than those touched are 0 */
    int32_t *touched;
    size_t touched_count;
};

/* A request that waits for its turn, or has it. */
struct asked {
    int64_t reader, request, offset;
    int64_t *authors;
    size_t count;
    int32_t partition;
};

struct asked_queue {
    struct asked *items;
    size_t first, count, capacity;
    size_t authors; /* of all */
    size_t told;    /* backlogs of the first one that were sent */
    bool begun;     /* the first one has begun */
};

struct effects {
    struct effects_options options;
    struct push *pushes; /* a queue */
    size_t first, count, capacity;
    bool push_is_next;
    int32_t failed; /* a partition */
    struct asked_queue requests;
    struct newest *newest;  /* of the first request */
    struct newest *backlog; /* scratch */
    int64_t *ids;           /* scratch: of a backlog */
    size_t id_capacity;
    struct id_list slice, gathered;
    struct groups groups;
    bool *named; /* by partition; false between calls */
};

int32_t effects_home(const struct effects *effects, int64_t user);

/* A backlog is the newest posts of one author. */
void effects_begin_backlog(const struct effects *effects, struct newest *newest);
void effects_put_backlog(struct effects *effects, struct newest *newest, int64_t author, int64_t reader);

int effects_run_requests(struct effects *effects, size_t work, struct error *error); /* 0, or a negative code */
int64_t requests_drop(struct asked_queue *queue, int32_t partition);
void requests_free(struct asked_queue *queue);
