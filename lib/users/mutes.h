/* Which friends each user does not want to see nearby: a copy of the topic `nearby-mutes` in memory. 16 bytes for each user who mutes
 * or has muted, and 8 for each of the muted. One thread. */
#pragma once

#include "base/buffer.h"
#include "base/metrics.h"
#include "copies/copies.h"

enum { MUTES_MAX = 1000 /* that gateways let a user have */ };

struct mutes;

struct mutes_options {
    struct metrics *metrics;
    int partitions; /* of the topic */
    void *context;
    /* A pair has been muted, or is so no longer; after the copies are ready. NULL: not wanted. */
    void (*on_change)(void *context, int64_t user, int64_t other, bool muted);
};

struct mutes *mutes_new(const struct mutes_options *options);
void mutes_free(struct mutes *mutes); /* after the copies; NULL is fine */

/* The table entry for copies_new. */
struct copy_definition mutes_copy(struct mutes *mutes);

/* The users whom the user mutes, rising; valid until the loop's next turn. */
struct mutes_list {
    const int64_t *items;
    size_t count;
};
struct mutes_list mutes_of(const struct mutes *mutes, int64_t user);
void mutes_json_put(struct buffer *out, struct mutes_list list); /* an array of ids */
bool mutes_has(const struct mutes *mutes, int64_t user, int64_t other);
