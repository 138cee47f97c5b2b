/* The blocks between users of attached partitions: the part of the topic `friendships` that the feed needs. One thread.
 *
 *     family "blocks-P"   user (8) other (8)    one of the two has blocked the other
 *                         0xff                  next offset of `friendships`
 *
 * Functions return 0 or a negative errno code.
 */
#ifndef FEED_BLOCKS_H
#define FEED_BLOCKS_H

#include "store/store.h"

struct blocks;

struct blocks *blocks_new(struct store *store, int32_t partitions); /* the store is longer-lived */
void blocks_free(struct blocks *blocks);                            /* what is gathered is lost; NULL is fine */

/* Opens a partition. *next: -1: nothing was read. */
int blocks_attach(struct blocks *blocks, int32_t partition, int64_t *next, struct error *error);
int blocks_reset(struct blocks *blocks, int32_t partition, struct error *error); /* forgets an attached one */

/* Gathers a record of an attached partition; blocks_write writes all that is gathered. Records before the stored offset are passed
 * by. */
void blocks_take(struct blocks *blocks, int32_t partition, int64_t offset, int64_t user, int64_t other, bool blocked);
int blocks_write(struct blocks *blocks, struct error *error);
int64_t blocks_next(const struct blocks *blocks, int32_t partition);

int blocks_has(struct blocks *blocks, int32_t partition, int64_t user, int64_t other, bool *blocked,
               struct error *error);

#endif
