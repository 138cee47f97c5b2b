/* Records of a compacted topic, kept on disk as they come, by partition. One thread.
 *
 *     family "NAME-P"    key       value of the newest record
 *                        0xff      next offset of the topic
 *
 * No key begins with 0xff. Functions return 0 or a negative errno code.
 */
#ifndef FEED_KEPT_H
#define FEED_KEPT_H

#include "store/store.h"

struct kept;

/* name: of the families; copied. The store is longer-lived. */
struct kept *kept_new(struct store *store, const char *name, int32_t partitions);
void kept_free(struct kept *kept); /* what is gathered is lost; NULL is fine */

/* Opens a partition. *next: the offset to go on from; -1: nothing was read. */
int kept_attach(struct kept *kept, int32_t partition, int64_t *next, struct error *error);
int kept_reset(struct kept *kept, int32_t partition, struct error *error); /* forgets an attached one */

/* Gathers a record of an attached partition; value NULL is a tombstone. kept_write writes all that is gathered. Records before the
 * stored offset are passed by. */
void kept_take(struct kept *kept, int32_t partition, int64_t offset, const void *key, size_t key_size,
               const void *value, size_t size);
/* Gathers the removal of a key without a record; the offset stays. */
void kept_drop(struct kept *kept, int32_t partition, const void *key, size_t key_size);
int kept_write(struct kept *kept, struct error *error);
int64_t kept_next(const struct kept *kept, int32_t partition);

/* 1: found (value replaced), 0: none, negative: failure. */
int kept_get(struct kept *kept, int32_t partition, const void *key, size_t key_size, struct buffer *value,
             struct error *error);
/* The caller frees the cursor. Its last key may be 0xff. */
struct store_cursor *kept_cursor(struct kept *kept, int32_t partition);

#endif
