/* Ids of posts and comments: 64 bits, unique over all processes, rising with time within a partition. No service gives them out: the
 * process that decides a partition's commands makes them.
 *
 *      63 62                        22 21       12 11        0
 *     | 0 | ms since 2025-01-01 (41)  | partition | fraction  |
 *
 * A partition's clock is a *tick*: ms << 12 | fraction. The tick of a command is the time at which Kafka took the command, with the
 * low bits of its offset, or the partition's last tick + 1 where that is not higher. So ticks rise strictly, whatever the broker's clock
 * does, and a partition makes at most 4,096 ids a millisecond before they run ahead of its clock. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IDS_PARTITIONS_MAX = 1024, IDS_FRACTION_BITS = 12, IDS_PARTITION_BITS = 10 };
#define IDS_EPOCH_MS INT64_C(1735689600000) /* 2025-01-01 00:00:00 UTC */

/* The tick of a command at this offset that Kafka took at `append_ms` (since 1970; a time before 2025 counts as 2025). last: the
 * highest tick that the partition has used, -1: none. Always above 0, as ids are. */
int64_t ids_tick(int64_t append_ms, int64_t offset, int64_t last);

int64_t ids_make(int64_t tick, int32_t partition); /* partition: 0 to IDS_PARTITIONS_MAX - 1 */
int64_t ids_tick_of(int64_t id);
int32_t ids_partition(int64_t id);
int64_t ids_time_ms(int64_t id); /* since 1970 */

/* The lowest id that any partition could make at this time; for ranges of time. Times before 2025: 0; after 2094: INT64_MAX. */
int64_t ids_first_at(int64_t time_ms);

/* Reads an id as JSON and paths carry it: decimal digits, no sign, no leading zero, 1 to INT64_MAX. */
bool ids_parse(const char *text, size_t size, int64_t *id);
