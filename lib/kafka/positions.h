/* The position of a consumer in every partition that it reads or has read: a table by topic and partition. One thread. */
#pragma once

#include "kafka/private.h"

/*   topics[0] {locations,   items: [ {next, reading, paused}, {..}, ... ]}   by partition, grown when first named
 *   topics[1] {friendships, items: ...}                                       a topic's place is taken when it is first read */
struct place {
    int64_t next; /* the next offset to deliver; BEGINNING or END until librdkafka has found out; NONE never read */
    bool reading;
    bool paused;  /* by the owner */
    bool stalled; /* paused in librdkafka, which remembers that while the partition is not read, too */
};

struct positions {
    struct {
        const struct topic *topic;
        struct place *items;
        int32_t count;
    } topics[KAFKA_TOPICS_MAX];
    size_t count;
};

void positions_clear(struct positions *positions); /* frees; empty and valid afterwards */

/* The place, or NULL when that partition was never read. */
struct place *positions_find(const struct positions *positions, const struct topic *topic, int32_t partition);

/* Has each position read from its offset, instead of (replace) or beside the partitions that are read already. -EINVAL, and nothing
 * changes: topic, partition or offset out of range, a partition named twice or, unless replaced, read already. */
int positions_read(struct positions *positions, const struct kafka_position *list, size_t count, bool replace,
                   struct error *error);
void positions_stop(struct positions *positions); /* nothing is read; the offsets stay known */
size_t positions_reading(const struct positions *positions);

/* Calls fn for each partition that is read. */
void positions_each(struct positions *positions,
                    void (*fn)(void *context, const struct kafka_position *position, struct place *place),
                    void *context);
