/* The owner's store of counters and outcomes: a table store (state/table_store.h), whose rows are the records of COUNTERS as they come, with
 * the offset in the same write. One thread. */
#pragma once

#include "state/table_store.h"

struct table_store *ledger_new(struct store *store, int32_t partitions); /* of TABLE_STORE_KIND */

/* 1: there is one, of that size; 0: none; or a negative errno code. */
int ledger_get(struct table_store *ledger, int32_t partition, const void *key, size_t key_size, void *value,
               size_t size, struct error *error);
