/* Puts the records of several partitions into one order: by rising time, and each partition's own order kept. It holds records until it
 * is known that none comes before them.
 *
 *     partition 0   10:00:01  10:00:04  ...   \
 *     partition 1   10:00:02                   >  10:00:01  10:00:02, and no further: what comes next in partition 1?
 *     partition 2   (at its end)              /
 *
 * Copies records. Pure; one thread.
 */
#ifndef CLI_MERGING_H
#define CLI_MERGING_H

#include "kafka/consumer.h"

struct merging;

struct merging *merging_new(size_t lanes); /* one a partition */
void merging_free(struct merging *merging);

void merging_put(struct merging *merging, size_t lane, const struct kafka_record *record);
void merging_end(struct merging *merging, size_t lane); /* no more records come in it */

/* How many records of a lane wait. */
size_t merging_waiting(const struct merging *merging, size_t lane);

/* The lane of the next record in the order, and the record (valid until merging_next). NULL: not known yet, or there is none. Of equal
 * times the lower lane is first. */
const struct kafka_record *merging_first(const struct merging *merging, size_t *lane);
/* Passes over that record. */
void merging_next(struct merging *merging, size_t lane);
/* All lanes have ended, and nothing waits. */
bool merging_over(const struct merging *merging);

#endif
