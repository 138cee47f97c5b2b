/* Produces everything that a feed process writes outside of transactions: batches of `timelines`, `timeline-requests`, `hot-posts` and
 * `deliveries`, commands that follow from state, and tombstones. Each belongs to the epoch that is open when it is sent
 * (deliver/epochs.h). Loop's thread.
 *
 *     items    --> one outbox of lib/deliver a topic, gathered by partition --+
 *     watches  --> the same by route, for edges -----------------------------+
 *     commands --> in order; those that the producer has no room for wait ----+--> producer --> acknowledged: the epoch
 */
#pragma once

#include "base/loop.h"
#include "deliver/epochs.h"
#include "event/codec.h"
#include "kafka/producer.h"
#include "users/notice.h"

struct outbox;

struct outbox_options {
    uv_loop_t *loop;
    const struct kafka_settings *kafka;
    struct metrics *metrics;
    int32_t partitions, routes;
    size_t queue_bytes; /* of the producer */
    size_t flush_bytes; /* of a batch */
    int64_t flush_us;
    struct epochs *epochs; /* the owner's, and longer-lived */
    void *context;
    void (*lost)(void *context); /* a batch or a command was not stored: effects must be carried out again */
    /* Called once, when the producer takes nothing more: the process must end. Records that wait are never acknowledged. */
    void (*failed)(void *context, const char *doing, const struct error *error);
};

int outbox_new(const struct outbox_options *options, struct outbox **outbox, struct error *error);
void outbox_free(struct outbox *outbox); /* NULL is fine */

/* topic: TOPIC_TIMELINES, TOPIC_TIMELINE_REQUESTS or TOPIC_HOT_POSTS. users: the recipients, copied. */
void outbox_put(struct outbox *outbox, const struct topic *topic, int32_t partition, const int64_t *users, size_t count,
                const struct timeline_item *item);
void outbox_follower_command(struct outbox *outbox, const struct follower_command *command);
void outbox_post_command(struct outbox *outbox, const struct post_command *command);
/* Writes a tombstone to `notices`; the key is copied. */
void outbox_notice_gone(struct outbox *outbox, const uint8_t key[NOTICE_KEY_SIZE]);
void outbox_notice(struct outbox *outbox, const struct notice_key *key, const struct notice *notice);

void outbox_flush_old(struct outbox *outbox, int64_t now_us);
int64_t outbox_flush_ready(struct outbox *outbox, int64_t now_us); /* as deliver_flush_ready */
void outbox_flush(struct outbox *outbox);
void outbox_flush_timeline(struct outbox *outbox, int32_t partition); /* what waits for that partition of `timelines` */
bool outbox_retry(struct outbox *outbox); /* offers again what waits; true: nothing is left */
bool outbox_blocked(const struct outbox *outbox);

/* Sends a payload of lib/watch to the edge of a route, by one of the flushes or when it is old. It may get lost. */
void outbox_deliver(void *outbox, int32_t route, const void *payload, size_t size);
void outbox_flush_deliveries(struct outbox *outbox);
/* Writes a tombstone to `feed-watches`, if there is room now. */
void outbox_forget_watch(void *outbox, int32_t partition, const void *key, size_t size);
/* The same to `devices`. */
void outbox_forget_device(void *outbox, int32_t partition, const void *key, size_t size);

struct kafka_producer *outbox_producer(struct outbox *outbox); /* for dead letters */
