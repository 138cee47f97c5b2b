/* Reads the state topics of some partitions, each from the offset of its store, and keeps on reading. It commits nothing and is in no
 * group; the owner says which partitions it reads. States are numbered in the order of `topics`. Loop's thread.
 */
#ifndef OWNER_FOLLOWER_H
#define OWNER_FOLLOWER_H

#include "kafka/consumer.h"

struct follower;

struct follower_options {
    uv_loop_t *loop;
    const struct kafka_settings *kafka;
    int32_t partitions;
    const struct topic *const *topics;
    size_t topic_count;
    size_t batch; /* records handed over at once at most */
    void *context;
    void (*on_records)(void *context, const struct kafka_record *records, size_t count);
    void (*on_drained)(void *context);
    /* The offset to read from is not in the topic. The owner calls follower_seek. */
    void (*on_offset_lost)(void *context, size_t state, int32_t partition);
};

int follower_new(const struct follower_options *options, struct follower **follower, struct error *error);
void follower_free(struct follower *follower); /* NULL is fine */

/* Has a partition's states read from these offsets (>= 0 or KAFKA_OFFSET_BEGINNING), or no longer. Takes effect at the next
 * follower_read; a partition may be named once in between. */
void follower_add(struct follower *follower, int32_t partition, const int64_t *from);
void follower_remove(struct follower *follower, int32_t partition);
int follower_read(struct follower *follower, struct error *error);

int follower_seek(struct follower *follower, size_t state, int32_t partition, int64_t offset, struct error *error);

/* The next offset that will be handed over; KAFKA_OFFSET_NONE or _BEGINNING: not known yet. */
int64_t follower_position(const struct follower *follower, size_t state, int32_t partition);
bool follower_reached(const struct follower *follower, size_t state, int32_t partition, int64_t end); /* 0: always */
int64_t follower_lag(const struct follower *follower, size_t state, int32_t partition); /* records; -1: not known yet */

/* Records that are left to read up to the ends of the first `count` states; an end of INT64_MAX is not known and does not count. */
int64_t follower_left(const struct follower *follower, int32_t partition, const int64_t *ends, size_t count);

/* Asks for the ends of a state's partitions (positions: topic and partition are set). Worker thread. */
int follower_ask_ends(struct follower *follower, struct kafka_position *positions, size_t count, int timeout_ms,
                      struct error *error);

#endif
