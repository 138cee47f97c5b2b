/* Puts the records of several partitions into one order: by rising time, and each partition's own order kept. It holds records until it
 * is known that none comes before them.
 *
 *     partition 0   10:00:01  10:00:04  ...   \
 *     partition 1   10:00:02                   >  10:00:01  10:00:02, and no further: what comes next in partition 1?
 *     partition 2   (at its end)              /
 *
 * Copies records. Pure; one thread.
 */
#pragma once

#include "kafka/consumer.h"

struct lanes;

struct lanes *lanes_new(size_t count); /* one a partition */
void lanes_free(struct lanes *lanes);

void lanes_put(struct lanes *lanes, size_t lane, const struct kafka_record *record);
void lanes_end(struct lanes *lanes, size_t lane); /* no more records come in it */

/* How many records of a lane wait. */
size_t lanes_waiting(const struct lanes *lanes, size_t lane);

/* The lane of the next record in the order, and the record (valid until lanes_next). NULL: not known yet, or all are empty. Of equal
 * times the lower lane is first. */
const struct kafka_record *lanes_first(const struct lanes *lanes, size_t *lane);
/* Passes over that record. */
void lanes_next(struct lanes *lanes, size_t lane);
/* All lanes have ended, and nothing waits. */
bool lanes_over(const struct lanes *lanes);
