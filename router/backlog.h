/* Reports that wait to be joined while their owner is far behind: the newest of each user, so that those it supersedes cost
 * no join. Bookkeeping only: no clock, no join. One thread.
 *
 *     items   oldest --> { user 7, offset 12 } --> { user 3, offset 40 } --> ... newest      in order of offsets, each partition
 *     users   7 -> that item, 3 -> ...
 *
 * Presence does not know of what is held: the join needs the position before it. So whatever else comes for a user is handled
 * after what is held of the user, and nothing that is held may be committed.
 */
#ifndef ROUTER_BACKLOG_H
#define ROUTER_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/records.h"

struct backlog;

struct backlog_item {
    struct location event; /* a REPORT */
    int32_t partition;
    int64_t offset, timestamp; /* of its record */
};

struct backlog *backlog_new(size_t capacity); /* memory is taken as it is needed */
void backlog_free(struct backlog *backlog);   /* NULL is fine */

size_t backlog_count(const struct backlog *backlog);
bool backlog_full(const struct backlog *backlog);

/* Drops what is held of the event's user if the event makes it meaningless: a REPORT of the same session and route, not older
 * in anything. False: nothing was dropped. */
bool backlog_supersede(struct backlog *backlog, const struct location *event);

/* Holds a report of a user of whom nothing is held. Not when full. */
void backlog_put(struct backlog *backlog, const struct backlog_item *item);

/* Takes out what is held of a user, or what is held longest. False: nothing. */
bool backlog_take(struct backlog *backlog, int64_t user, struct backlog_item *item);
bool backlog_take_oldest(struct backlog *backlog, struct backlog_item *item);

/* Lowers each partition's offset to the lowest that is held of it. */
void backlog_lower(const struct backlog *backlog, int64_t *offsets, int32_t partitions);

#endif
