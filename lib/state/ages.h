/* When the state of each partition on this disk was last up to date. A compacted topic drops a tombstone after a week: state that was
 * put aside for longer may have missed some, and must be read anew. One thread.
 *
 *     family "ages"     partition (4)     ms since the epoch (8)
 */
#pragma once

#include "store/store.h"

struct ages;

int ages_open(struct store *store, struct ages **ages, struct error *error); /* the store is longer-lived */
void ages_close(struct ages *ages);                                          /* NULL is fine */

/* 0: the partition is not there yet, or was current at `since` or later; 1: it may have missed tombstones. */
int ages_too_old(struct ages *ages, int32_t partition, int64_t since, struct error *error);

/* The partition's state is current now. first: only if nothing is known of it. */
int ages_touch(struct ages *ages, int32_t partition, int64_t now_ms, bool first, struct error *error);
