/* The backlog holds reports that wait to be joined while their owner is far behind: the newest of each user, so that superseded reports
 * cost no join (docs/EXACTNESS.md, rule 9). Bookkeeping only: no clock, no join. One thread.
 *
 *     items   oldest --> { user 7, offset 12 } --> { user 3, offset 40 } --> ... newest      in order of offsets, each partition
 *     users   7 -> that item, 3 -> ...
 *
 * Presence does not know of held reports, because the join needs the position before. So every other event of a user is handled after
 * the user's held report, and no offset may be committed past a held report.
 */
#pragma once

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

/* Drops the held report of the event's user if the event supersedes it: a REPORT of the same session and route whose numbers are all at
 * least as great. False: nothing was dropped. */
bool backlog_supersede(struct backlog *backlog, const struct location *event);

/* Holds a report. No report of that user may be held already. Not when full. */
void backlog_put(struct backlog *backlog, const struct backlog_item *item);

/* Takes out the held report of a user, or the oldest one. False: there is none. */
bool backlog_take(struct backlog *backlog, int64_t user, struct backlog_item *item);
bool backlog_take_oldest(struct backlog *backlog, struct backlog_item *item);

/* Lowers each partition's offset to that of its first held report. */
void backlog_lower(const struct backlog *backlog, int64_t *offsets, int32_t partitions);
