/* The profiles on this machine's disk, and how far they have been read. One thread. */
#ifndef COPIES_PROFILES_H
#define COPIES_PROFILES_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/*   family "profiles"  user (8 bytes, big-endian)       -> the Kafka value as it came
 *   family "offsets"   partition (4 bytes, big-endian)  -> next offset to read (8 bytes, big-endian)
 *                      "partitions"                     -> how many there are (8 bytes)
 *                      "time"                           -> when this was last up to date (8 bytes, ms since the epoch) */
struct profiles;

/* Opens what is there; starts anew when it is of another number of partitions or so old that Kafka may have dropped
 * tombstones that it never saw. -EBUSY: another process has it. */
int profiles_open(const char *path, int partitions, struct profiles **profiles, struct error *error);
void profiles_close(struct profiles *profiles); /* NULL is fine */

int64_t profiles_offset(const struct profiles *profiles, int32_t partition); /* next to read; -1: from the beginning */
int profiles_forget(struct profiles *profiles, struct error *error);         /* everything: to be read anew */

/* Changes are gathered, and written together with the offsets that they reach. A failed write changes nothing. */
void profiles_put(struct profiles *profiles, int64_t user, const void *value, size_t size);
void profiles_remove(struct profiles *profiles, int64_t user);
void profiles_reached(struct profiles *profiles, int32_t partition, int64_t next);
int profiles_write(struct profiles *profiles, struct error *error);

/* Says that nothing is newer in Kafka now. */
int profiles_current(struct profiles *profiles, struct error *error);

int profiles_get(struct profiles *profiles, int64_t user, struct buffer *value,
                 struct error *error); /* 1, 0, negative */

#endif
