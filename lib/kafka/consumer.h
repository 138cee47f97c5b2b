/* A consumer on the event loop: records come in batches by callback, rebalances are decided by its owner.
 *
 * With a group it subscribes (eager `range` assignor, static membership if instance_id is set); the group's assignment says
 * what is *owned*, and on_assigned then says what is *read*: any partitions of any topics, by kafka_consumer_read. Without a
 * group it only reads. Offsets are stored nowhere by themselves: the owner commits. isolation.level=read_committed,
 * auto.offset.reset=error unless given explicitly. max.poll.interval is kept alive by a 1 s timer. All calls and
 * callbacks: the loop's thread. Blocking calls say so.
 */
#ifndef KAFKA_CONSUMER_H
#define KAFKA_CONSUMER_H

#include "kafka/settings.h"

struct kafka_consumer;

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

/* The last header of that name, as text; NULL: there is none. Valid as long as the record. */
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
    size_t batch; /* records a callback at most; 0: 1,000 */
    /* A request may wait for so long at the broker until 64 KiB have come together: fewer, larger answers for who is in no
     * hurry. 0: what there is comes at once. */
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
    /* Everything delivered so far was handled and the batch queue is empty: flush what waits. Also when a position moved
     * without a record (past transaction markers, or when a start became known). NULL: not wanted. */
    void (*on_drained)(void *context);
    /* An offset that is gone or was never there: the owner decides by kafka_consumer_read again. NULL: restart at the
     * beginning of what is kept. */
    void (*on_offset_lost)(void *context, const struct topic *topic, int32_t partition);
    /* Broker trouble (up = false, with the reason) and recovery. NULL: not wanted. */
    void (*on_broker)(void *context, bool up, const char *reason);
    /* librdkafka has given up: another process has this instance's id, or the broker believes so of one that was away for
     * longer than its session. Once, after on_broker and on_revoked; this consumer will never read again. NULL: not wanted. */
    void (*on_fatal)(void *context, const char *reason);
};

int kafka_consumer_new(const struct kafka_consumer_options *options, struct kafka_consumer **consumer,
                       struct error *error);
/* Leaves the group (dynamic members), calls nobody, blocks some 20 ms. Not from a callback of its own. NULL is fine. */
void kafka_consumer_free(struct kafka_consumer *consumer);

/* Replaces the set of partitions that are read, each from its offset (>= 0, BEGINNING or END). These three: -EINVAL for
 * what cannot be read, -ESTALE when the group has nothing assigned (before on_assigned, after on_revoked). */
int kafka_consumer_read(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count,
                        struct error *error);

/* Adds to or removes from what is read, the others going on undisturbed (rd_kafka_incremental_* is for cooperative
 * groups only: internally this re-assigns with the tracked positions). */
int kafka_consumer_read_more(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count,
                             struct error *error);
int kafka_consumer_read_less(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count,
                             struct error *error);

int kafka_consumer_pause(struct kafka_consumer *consumer, const struct topic *topic, int32_t partition);
int kafka_consumer_resume(struct kafka_consumer *consumer, const struct topic *topic, int32_t partition);
int kafka_consumer_seek(struct kafka_consumer *consumer, const struct kafka_position *position, struct error *error);

/* The next offset that will be delivered of a partition that is read (or was last read); KAFKA_OFFSET_NONE: unknown. */
int64_t kafka_consumer_position(const struct kafka_consumer *consumer, const struct topic *topic, int32_t partition);

/* A member of another kind: subscribes to one topic instead of what the options say, and reads nothing any more. The group gives
 * its partitions to others at once, which a static member that just ends does not bring about: its place is kept for it. Over
 * when on_assigned comes. */
int kafka_consumer_hand_over(struct kafka_consumer *consumer, const struct topic *other, struct error *error);

/* The broker's id of this member, as of on_assigned; NULL: it is none. Valid until the next change. */
const char *kafka_consumer_member(const struct kafka_consumer *consumer);

/* Back-pressure: while held, no on_records (rebalances go on). */
void kafka_consumer_hold(struct kafka_consumer *consumer, bool hold);

/* Commits asynchronously; failures are counted and told to on_broker only when not a rebalance in progress. */
void kafka_consumer_commit(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count);
uint64_t kafka_consumer_commit_failures(const struct kafka_consumer *consumer);

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

#endif
