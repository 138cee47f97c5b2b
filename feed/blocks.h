/* The blocks between users of open partitions: the part of the topic `friendships` that the feed needs, in a table store of families "blocks-P":
 *
 *     user (8)              the user's marker: there was a block with somebody, ever
 *     user (8) other (8)    one of the two has blocked the other
 *
 * Hardly anybody has a marker, and a filter says so much sooner than a cursor finds nothing. One thread.
 */
#pragma once

#include "adjacency/id_list.h"
#include "state/table_store.h"

/* take: calls blocks_take. Rows of an older version are dropped, and read anew. */
struct table_store *blocks_new(struct store *store, int32_t partitions, table_store_take *take, void *context);

/* Gathers a record; one that was passed already is not taken. */
void blocks_take(struct table_store *blocks, int32_t partition, int64_t offset, int64_t user, int64_t other,
                 bool blocked);

/* 0 or a negative errno code. */
int blocks_has(struct table_store *blocks, int32_t partition, int64_t user, int64_t other, bool *blocked,
               struct error *error);

/* Finds the users between whom and the user there is a block, up to `most` of them, rising. *all: there are no more. store: of the rows. */
int blocks_of(struct store *store, struct table_store *blocks, int32_t partition, int64_t user, size_t most,
              struct id_list *others, bool *all, struct error *error);

/* Takes those between whom and the user there is a block off a list. scratch: its content is lost. */
int blocks_leave_out(struct store *store, struct table_store *blocks, int32_t partition, int64_t user,
                     struct id_list *ids, struct id_list *scratch, struct error *error);
