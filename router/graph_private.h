/* What graph.c (families and reading), graph_apply.c (writing) and graph_build.c (writing from the beginning) share. */
#ifndef ROUTER_GRAPH_PRIVATE_H
#define ROUTER_GRAPH_PRIVATE_H

#include "base/buffer.h"
#include "router/graph.h"
#include "router/graph_runs.h"

enum {
    GRAPH_LIST_KEY = 8,
    GRAPH_HALF_KEY = 16,
    GRAPH_SINCE_KEY = 21,
    GRAPH_LATE_KEY = 24,
    GRAPH_SINCE_PREFIX = 0xfe,
    GRAPH_META_KEY = 0xff,
    GRAPH_META_SIZE = 21,
    GRAPH_HALF_SIZE = 9,
    GRAPH_DAY_MS = 86400000
};

/* 0xff: version (1) partitions (4) next (8) time (8) */
enum { GRAPH_META_VERSION = 2 }; /* a family of another one is built anew */

struct graph_change {
    int64_t user, other;
    bool made;
};

/* Friendships that are too many. */
struct graph_excess {
    struct graph_update *items;
    size_t count, capacity;
};

/* A family that is built from the beginning. */
struct graph_build {
    struct graph *graph;
    struct store_family *family;
    int32_t partition;
    struct graph_runs *runs;
    size_t cut; /* of the part's queue, what was applied and is in no run yet */

    /* While it is being finished, which a worker may do: */
    bool running;
    bool abandoned; /* detached meanwhile */
    bool discarded; /* wanted empty meanwhile */
    int64_t next, hold, now_ms;
    struct store_file *lists, *sinces;
    struct friend_list list;
    struct buffer bytes;
    struct graph_excess excess;
};

struct graph_part {
    struct store_family *family; /* NULL: not attached */
    struct graph_build *build;   /* NULL: the family can be read */
    int64_t next;                /* everything before is applied; -1: nothing yet */
    int64_t hold;                /* the stored offset does not pass this one */
    struct graph_update *updates;
    size_t count, capacity;
    int64_t pruned; /* the day on which what is of no more use was dropped last */
};

struct graph {
    struct graph_options options;
    struct store *store;
    struct store_family *sinces; /* of all partitions */
    int builds;                  /* families being built */
    char *build_folder;          /* of files that are no family's yet */
    struct graph_part *parts;

    /* Reused by each application: */
    struct store_batch *batch;
    struct friend_list list, merged, lists[GRAPH_MANY];
    struct buffer bytes;
    struct graph_change *changes;
    size_t change_count, change_capacity;
    struct graph_excess excess;
};

void graph_list_key(uint8_t key[GRAPH_LIST_KEY], int64_t user);
void graph_half_key(uint8_t key[GRAPH_HALF_KEY], int64_t user, int64_t other);
void graph_since_key(uint8_t key[GRAPH_SINCE_KEY], int64_t day, int64_t user, int64_t other);

void graph_late_key(uint8_t key[GRAPH_LATE_KEY], int32_t partition, int64_t day, int64_t user, int64_t other);

/* The value of a list's key, appended. `others` says how many halves stand beside it. */
void graph_list_encode(struct buffer *out, const struct friend_list *list);
void graph_half_encode(uint8_t value[GRAPH_HALF_SIZE], const struct graph_update *update);
void graph_meta_encode(const struct graph *graph, uint8_t value[GRAPH_META_SIZE], int64_t next, int64_t now_ms);

/* Puts into the batch that the family reflects everything before part->next (or hold), as of now. */
void graph_put_meta(struct graph *graph, struct graph_part *part, int64_t now_ms);

/* Of a user's updates, adds the too_many friendships that came last. *hold: lowered to the first of them. */
void graph_note_excess(struct graph_excess *excess, const struct graph_update *updates, size_t count, size_t too_many,
                       int64_t *hold);
void graph_tell_excess(struct graph *graph, int32_t partition, const struct graph_excess *excess);

int graph_family_empty(struct graph *graph, int32_t partition, struct error *error); /* drops it, makes it anew */

/* ---- graph_build.c ---- */

int graph_build_clear(struct graph *graph,
                      struct error *error); /* makes build_folder, and empties it of what a crash has left */

void graph_build_new(struct graph *graph, int32_t partition);
void graph_build_free(struct graph *graph, int32_t partition); /* not while running; NULL is fine */

/* What is queued is applied, up to `next`. */
int graph_build_take(struct graph *graph, int32_t partition, int64_t next, struct error *error);

#endif
