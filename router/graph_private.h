/* What graph.c (families and reading) and graph_apply.c (writing) share. */
#ifndef ROUTER_GRAPH_PRIVATE_H
#define ROUTER_GRAPH_PRIVATE_H

#include "base/buffer.h"
#include "router/graph.h"

enum {
    GRAPH_LIST_KEY = 8,
    GRAPH_HALF_KEY = 16,
    GRAPH_SINCE_KEY = 21,
    GRAPH_SINCE_PREFIX = 0xfe,
    GRAPH_META_KEY = 0xff,
    GRAPH_DAY_MS = 86400000
};

struct graph_update {
    int64_t user, other, offset, since;
    enum friendship_state state;
    bool blocked_by_me, blocked_by_them;
};

struct graph_change {
    int64_t user, other;
    bool made;
};

struct graph_part {
    struct store_family *family; /* NULL: not attached */
    int64_t next;                /* everything before is applied; -1: nothing yet */
    int64_t hold;                /* the stored offset does not pass this one */
    struct graph_update *updates;
    size_t count, capacity;
};

struct graph {
    struct graph_options options;
    struct store *store;
    struct graph_part *parts;

    /* Reused by each application: */
    struct store_batch *batch;
    struct friend_list list, merged;
    struct buffer bytes;
    struct graph_change *changes;
    size_t change_count, change_capacity;
    struct graph_update *excess;
    size_t excess_count, excess_capacity;
};

void graph_list_key(uint8_t key[GRAPH_LIST_KEY], int64_t user);
void graph_half_key(uint8_t key[GRAPH_HALF_KEY], int64_t user, int64_t other);
void graph_since_key(uint8_t key[GRAPH_SINCE_KEY], int64_t day, int64_t user, int64_t other);

/* Puts into the batch that the family reflects everything before part->next (or hold), as of now. */
void graph_put_meta(struct graph *graph, struct graph_part *part, int64_t now_ms);

#endif
