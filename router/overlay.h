/* Halves that commands have written and that have not been read back from the topic friendships yet: what the next command
 * about the same pair must be decided by.
 *
 *     lower user --> half (lower, other) --> half (lower, other) --> ...
 *
 * An entry is open while its transaction is; committing closes it with the offset up to which friendships must have been
 * read for the entry to be of no more use. One thread.
 */
#ifndef ROUTER_OVERLAY_H
#define ROUTER_OVERLAY_H

#include <stddef.h>

#include "adjacency/id_list.h"
#include "router/friendship.h"

struct overlay;

struct overlay *overlay_new(void);
void overlay_free(struct overlay *overlay); /* NULL is fine */
void overlay_clear(struct overlay *overlay);
size_t overlay_count(const struct overlay *overlay);

/* The half that was written last; NULL: none waits. Valid until the next change. */
const struct friendship *overlay_find(const struct overlay *overlay, int64_t lower, int64_t other);

/* Takes a half written in the transaction that is open. partition: the lower user's. */
void overlay_put(struct overlay *overlay, int32_t partition, int64_t lower, int64_t other,
                 const struct friendship *half);

/* How many halves of a user wait, and how much they change the number of friends on a list. */
size_t overlay_waiting(const struct overlay *overlay, int64_t lower);
int64_t overlay_growth(const struct overlay *overlay, int64_t lower, const struct id_list *list);

/* The transaction is committed: its entries of partition p are read back once friendships is read up to ends[p]. */
void overlay_commit(struct overlay *overlay, const int64_t *ends);

/* Friendships of that partition is read up to `next`. */
void overlay_read_back(struct overlay *overlay, int32_t partition, int64_t next);

#endif
