/* A copy of a compacted topic on this machine's disk: the newest value of each key, as it came, and how far the topic was read.
 * Both are written atomically, so that a restart reads only new records. One process a path. One thread.
 *
 *     family TOPIC       the record's key                  -> the Kafka value as it came
 *     family "offsets"   partition (4 bytes, big-endian)   -> next offset to read (8 bytes, big-endian)
 *                        "partitions"                      -> how many there are (8 bytes)
 *                        "time"                            -> when this was last up to date (8 bytes, ms since the epoch)
 *
 * A failed write (a full disk, say) closes the store: RocksDB refuses all further writes until it is opened anew, which
 * copy_disk_reopen does. Until then nothing is found, and nothing is written.
 */
#pragma once

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct copy_disk;

/* Opens FOLDER/TOPIC. Begins anew, empty, when the copy there is of another number of partitions, or so old that Kafka may have
 * dropped tombstones that it never saw. -EBUSY: another process has it; -ENOSPC: the disk is full. */
int copy_disk_open(const char *folder, const char *topic, int partitions, struct copy_disk **disk, struct error *error);
void copy_disk_close(struct copy_disk *disk); /* NULL is fine */

/* Opens the store again after a failure. Offsets are as they were written last. */
int copy_disk_reopen(struct copy_disk *disk, struct error *error);

/* 1: found (value replaced), 0: none, negative: failure. */
int copy_disk_get(struct copy_disk *disk, const void *key, size_t key_size, struct buffer *value, struct error *error);

int64_t copy_disk_next(const struct copy_disk *disk, int32_t partition); /* offset to read next; -1: the beginning */
int copy_disk_forget(struct copy_disk *disk, struct error *error);       /* everything: to be read anew */

/* Changes are gathered, and written together with the offsets that they reach. value NULL removes the key. */
void copy_disk_put(struct copy_disk *disk, const void *key, size_t key_size, const void *value, size_t value_size);
void copy_disk_reached(struct copy_disk *disk, int32_t partition, int64_t next);
int copy_disk_write(struct copy_disk *disk, struct error *error);

/* Notes that nothing in Kafka is newer now. */
int copy_disk_current(struct copy_disk *disk, struct error *error);
