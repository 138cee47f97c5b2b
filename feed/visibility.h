/* Whose posts are for followers, of open partitions: the topic `visibility`, in a table store of families "visibility-P". A row's key is the
 * author. One thread.
 */
#pragma once

#include "event/codec.h"
#include "state/table_store.h"

enum { VISIBILITY_KEY_SIZE = 8 };

struct visibility_store;

struct visibility_store *visibility_store_new(struct store *store, int32_t partitions); /* the store is longer-lived */
void visibility_store_free(struct visibility_store *visibility); /* what is gathered is lost; NULL is fine */

struct table_store *visibility_table(struct visibility_store *visibility); /* takes the records; lives as long */

/* 0 or a negative errno code. */
int visibility_is_for_followers(struct visibility_store *visibility, int32_t partition, int64_t author,
                                bool *for_followers, struct error *error);
