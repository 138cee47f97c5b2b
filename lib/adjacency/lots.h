/* Lots decide when records are applied to their lists. A few records are applied at once. Many (an import, a contest that makes
 * everybody follow one user) wait for more records of the same partition. The lot is then sorted, and each list is read and written
 * once, in the order of the store.
 *
 *     partition   0: 812 since 0.3 s      3: 4,096 since 0.2 s: due      7: 90 since 0.5 s: due
 *
 * Partitions become due one at a time, so that the loop can do other things in between. Pure: no clock, no store; one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LOTS_MANY =
        500, /* this many records in one go are bulk, and so are those that follow, while as many come in LOTS_HOLD_US or twice that */
    LOTS_FULL = 4096,  /* of a partition: applying them takes some 20 ms, during which reports wait */
    LOTS_MOST = 131072 /* of all partitions */
};
#define LOTS_HOLD_US INT64_C(500000)

struct lots;

struct lots *lots_new(int32_t partitions);
void lots_free(struct lots *lots); /* NULL is fine */

/* lots_add: a record of the partition was read. lots_added: that was the last one for now. */
void lots_add(struct lots *lots, int32_t partition, int64_t now_us);
void lots_added(struct lots *lots, int64_t now_us);

/* The partition's records have been applied, or need not be applied any more. */
void lots_remove(struct lots *lots, int32_t partition);

bool lots_waits(const struct lots *lots, int32_t partition);

/* So many records of a partition do not wait for more; at first LOTS_FULL. */
void lots_set_full(struct lots *lots, size_t records);

/* A partition to be applied now; -1: none. */
int32_t lots_due(const struct lots *lots, int64_t now_us);
/* Whether the next one that is due may wait for the loop's next turn. */
bool lots_may_wait(const struct lots *lots);
/* How long (ms) until one is due; -1: nothing waits. */
int64_t lots_wait_ms(const struct lots *lots, int64_t now_us);
