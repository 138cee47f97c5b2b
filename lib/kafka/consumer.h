/* A consumer on the event loop. Records come in batches by callback; the consumer's owner decides what to do in a rebalance.
 *
 * With a group it subscribes (eager `range` assignor, static membership if instance_id is set). The group's assignment says which
 * partitions it *owns*; after on_assigned the owner says by kafka_consumer_read which partitions it *reads*, of any topics. Without
 * a group it only reads. It stores no offsets by itself: the owner commits. isolation.level=read_committed and
 * auto.offset.reset=error unless given explicitly. A 1 s timer keeps max.poll.interval from running out. All calls and callbacks:
 * the loop's thread. Blocking calls say so.
 */
#pragma once

#include "kafka/settings.h"

struct kafka_consumer;

/* The name that a consumer without a group has to give all the same. Nothing is ever committed under it. */
#define KAFKA_READERS_GROUP "starling-reader"

enum { KAFKA_OFFSET_NONE = -1, KAFKA_OFFSET_BEGINNING = -2, KAFKA_OFFSET_END = -3 };

struct kafka_record {
    const struct topic *topic;
    int32_t partition;
    int64_t offset;
    int64_t timestamp; /* Kafka's, ms (LogAppendTime where the topic is set so) */
    const uint8_t *key;
    size_t key_size;
    const uint8_t *value; /* NULL: tombstone */
    size_t value_size;
    const void *message; /* librdkafka's, for kafka_record_header; NULL: none */
};

/* The last header of that name, as text; NULL: the record has none. Valid as long as the record. */
const char *kafka_record_header(const struct kafka_record *record, const char *name);

struct kafka_position {
    const struct topic *topic;
    int32_t partition;
    int64_t offset; /* next to read, or to commit; KAFKA_OFFSET_* where said */
};

struct kafka_consumer_options {
    uv_loop_t *loop;
    const struct kafka_settings *settings;
    const char *group;                    /* NULL: no group */
    const char *instance_id;              /* group.instance.id; NULL or "": dynamic member */
    const struct topic *const *subscribe; /* with a group */
    size_t subscribe_count;
    size_t batch; /* records a callback at most, and fewer where they are large; 0: 1,000 */
    /* How long a request may wait at the broker for 64 KiB to come together: fewer and larger answers for consumers that are in no
     * hurry. 0: the broker answers at once with the records that it has. */
    int gather_ms;
    void *context;

    /* A batch; valid during the call only. */
    void (*on_records)(void *context, const struct kafka_record *records, size_t count);
    /* The group's new assignment (offsets KAFKA_OFFSET_NONE); everything was unread before. The owner calls
     * kafka_consumer_read, now or later. */
    void (*on_assigned)(void *context, const struct kafka_position *owned, size_t count);
    /* The assignment is gone (revoked; lost: true when another may own it already, so nothing may be committed).
     * Nothing is read after it until on_assigned. */
    void (*on_revoked)(void *context, bool lost);
    /* All delivered records were handled and no more are queued: the owner flushes its output. Also called when a position
     * moved without a record (past transaction markers, or when a start became known). NULL: not wanted. */
    void (*on_drained)(void *context);
    /* The offset to read is gone or never existed: the owner calls kafka_consumer_read again. NULL: reading restarts at the
     * oldest record that is kept. */
    void (*on_offset_lost)(void *context, const struct topic *topic, int32_t partition);
    /* Broker trouble (up = false, with the reason) and recovery. NULL: not wanted. */
    void (*on_broker)(void *context, bool up, const char *reason);
    /* librdkafka has given up: another process has this instance's id, or the broker believes so because this process was away
     * for longer than its session. Called once, after on_broker and on_revoked; the consumer never reads again. NULL: not wanted. */
    void (*on_fatal)(void *context, const char *reason);
};

int kafka_consumer_new(const struct kafka_consumer_options *options, struct kafka_consumer **consumer,
                       struct error *error);
/* Leaves the group (dynamic members), makes no callback, blocks some 20 ms. Not from a callback of its own. NULL is fine. */
void kafka_consumer_free(struct kafka_consumer *consumer);

/* Replaces the set of partitions that are read, each from its offset (>= 0, BEGINNING or END). This and the next two: -EINVAL for
 * positions that cannot be read, -ESTALE when the group has assigned nothing (before on_assigned, after on_revoked). */
int kafka_consumer_read(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count,
                        struct error *error);

/* Adds partitions to that set, or removes some; the others go on undisturbed. (rd_kafka_incremental_* works in cooperative groups
 * only, so this re-assigns all partitions with the tracked positions.) */
int kafka_consumer_read_more(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count,
                             struct error *error);
int kafka_consumer_read_less(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count,
                             struct error *error);

int kafka_consumer_pause(struct kafka_consumer *consumer, const struct topic *topic, int32_t partition);
int kafka_consumer_resume(struct kafka_consumer *consumer, const struct topic *topic, int32_t partition);
int kafka_consumer_seek(struct kafka_consumer *consumer, const struct kafka_position *position, struct error *error);

/* The next offset that will be delivered of a partition that is read (or was last read); KAFKA_OFFSET_NONE: unknown. */
int64_t kafka_consumer_position(const struct kafka_consumer *consumer, const struct topic *topic, int32_t partition);

/* Hands the partitions over before an end: subscribes to `other` instead of the options' topics and reads nothing any more. The group
 * then gives the partitions to other members at once. When a static member simply ends, the group keeps its place for it. Done when
 * on_assigned comes. */
int kafka_consumer_hand_over(struct kafka_consumer *consumer, const struct topic *other, struct error *error);

/* The broker's id of this member, as of on_assigned; NULL: it is no member. Valid until the next change. */
const char *kafka_consumer_member(const struct kafka_consumer *consumer);

/* Back-pressure: while held, no on_records (rebalances go on). */
void kafka_consumer_hold(struct kafka_consumer *consumer, bool hold);

/* Commits asynchronously; failures are counted and told to on_broker only when not a rebalance in progress. */
void kafka_consumer_commit(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count);
uint64_t kafka_consumer_commit_failures(const struct kafka_consumer *consumer);

/* When this member last had its place in the group for sure: the time at which it sent the newest commit that the group accepted
 * (clock_monotonic_us; 0: none yet). For one session time-out after that, the group gives its partitions to no other member. */
int64_t kafka_consumer_heard_us(const struct kafka_consumer *consumer);
int64_t kafka_consumer_session_us(const struct kafka_consumer *consumer); /* session.timeout.ms */

/* Records between position and the broker's known end of a partition (from librdkafka's cached watermarks); -1 unknown. */
int64_t kafka_consumer_lag(const struct kafka_consumer *consumer, const struct topic *topic, int32_t partition);

/* Blocking, up to timeout_ms (call through loop_work, or at start and in on_assigned): */
/* Committed offsets of the group (KAFKA_OFFSET_NONE: none), waiting for transactions that hold them open. */
int kafka_consumer_committed(struct kafka_consumer *consumer, struct kafka_position *positions, size_t count,
                             int timeout_ms, struct error *error);
/* First offset and end (high watermark, open transactions included) of a partition. */
int kafka_consumer_watermarks(struct kafka_consumer *consumer, const struct topic *topic, int32_t partition,
                              int64_t *low, int64_t *high, int timeout_ms, struct error *error);
/* Each position's offset becomes the partition's end (open transactions included): one request, all of one topic. */
int kafka_consumer_ends(struct kafka_consumer *consumer, struct kafka_position *positions, size_t count, int timeout_ms,
                        struct error *error);
/* Each position's offset becomes the first one whose timestamp is >= time_ms (the end if none). */
int kafka_consumer_offsets_at(struct kafka_consumer *consumer, struct kafka_position *positions, size_t count,
                              int64_t time_ms, int timeout_ms, struct error *error);
