/* Random items of `timelines`, and an inbox written as plainly as possible: what feed/inbox.c and feed/inboxes.c are held against. */
#pragma once

#include "event/codec.h"
#include "feed/inbox.h"

enum { FEED_ITEM_LIST = 12, FEED_PARTITIONS = 5, FEED_PLAIN_POSTS = 400 };

struct feed_item { /* not to be moved: the item points into it */
    struct timeline_item item;
    int64_t offset, time_ms;
    int64_t longs[FEED_ITEM_LIST];
    struct post_ref refs[FEED_ITEM_LIST];
};

struct feed_chance {
    uint64_t state;
};
uint64_t feed_chance(struct feed_chance *chance, uint64_t of);

/* A Push, mostly. Answers are to `request` or another one. Ids are below `ids`, and the author follows from the id. */
void feed_item_make(struct feed_chance *chance, struct feed_item *made, int64_t offset, int64_t time_ms,
                    int64_t request, int64_t ids);

struct plain_inbox {
    bool open, complete, waiting[FEED_PARTITIONS];
    bool lost; /* a Gone has come since the Begin */
    int64_t request, horizon, rebuilt, opened_ms;
    struct inbox_post posts[FEED_PLAIN_POSTS]; /* in no order */
    size_t count;
};
void plain_inbox_take(struct plain_inbox *inbox, const struct feed_item *made, size_t max);

/* NULL: they are the same; else what differs. */
const char *plain_inbox_differs(const struct plain_inbox *plain, const struct inbox *inbox);
/* The same, but the inbox may have a higher horizon, and then fewer posts: it loses those up to its horizon. */
const char *plain_inbox_differs_above(const struct plain_inbox *plain, struct inbox *inbox);
