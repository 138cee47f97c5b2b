/* The blocks between users of open partitions: the part of the topic `friendships` that the feed needs, in a table store of families "blocks-P". A row's key is
 * user (8) other (8): one of the two has blocked the other. One thread.
 */
#pragma once

#include "state/table_store.h"

/* Gathers a record; one that was passed already is not taken. */
void blocks_take(struct table_store *blocks, int32_t partition, int64_t offset, int64_t user, int64_t other,
                 bool blocked);

/* 0 or a negative errno code. */
int blocks_has(struct table_store *blocks, int32_t partition, int64_t user, int64_t other, bool *blocked,
               struct error *error);
