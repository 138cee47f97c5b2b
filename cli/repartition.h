/* Records of topics whose keys say where they lie (topics/topic.h), as they are to lie among another number of partitions. Values that
 * belong to the old partitions and offsets are made new:
 *
 *     posts, post-texts   also go where the post's id says, if the author is elsewhere now: ids last, and name a partition
 *     comments            subjects forget which command changed them last, as commands are counted anew
 *     moderation-log      entries are numbered by their time instead of their command's offset, as offsets come again
 *
 * Pure; one thread. */
#pragma once

#include "kafka/admin.h"
#include "kafka/consumer.h"

struct repartition;

/* before: how many partitions the topics had when their records were placed; after: that the copies have. */
struct repartition *repartition_new(const struct topics_shape *before, const struct topics_shape *after);
void repartition_free(struct repartition *repartition); /* NULL is fine */

/* Calls put once or twice; its code other than 0 ends that, and is returned. A record that does not lie where it belongs, which daemons do
 * not use either, is left out. */
int repartition_record(struct repartition *repartition, const struct kafka_record *record, void *context,
                       int (*put)(void *context, const struct kafka_record *record));

struct repartition_counts {
    int64_t left_out;  /* records that lay where they do not belong */
    int64_t newest_ms; /* the time of the newest id of a post or comment; 0: no such id */
};
struct repartition_counts repartition_counts(const struct repartition *repartition);
