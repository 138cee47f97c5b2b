/* A consumer's insides: consumer.c polls librdkafka and turns rebalances into callbacks, batches.c does so with records, reading.c changes
 * the set of partitions that are read, membership.c knows what the consumer is in its group, queries.c asks the broker questions that
 * block. */
#pragma once

#include "kafka/positions.h"

enum { KAFKA_COMMITS_MAX = 64 };                                    /* entries */
enum { KAFKA_QUEUE_MESSAGES = 100000, KAFKA_QUEUE_KBYTES = 65536 }; /* that librdkafka fetches ahead */

struct kafka_consumer {
    struct kafka_consumer_options options;
    struct kafka_opaque opaque;
    rd_kafka_t *client;
    rd_kafka_queue_t *queue;
    struct kafka_wake *wake;
    struct kafka_health *health;

    struct kafka_handles handles;
    struct positions positions;

    rd_kafka_message_t **messages; /* options.batch of each */
    size_t batch;                  /* that many at most next time */
    struct kafka_record *records;

    bool assigned; /* between on_assigned and on_revoked; always, without a group */
    bool changed;  /* the set of partitions changed while librdkafka was filling `messages` */
    bool answered; /* on_assigned called kafka_consumer_read */
    bool given_up; /* on_fatal was called */
    bool held;
    bool hold_paused;          /* held for so long that librdkafka had to be polled: all partitions are paused in it */
    bool moved;                /* something was delivered since on_drained */
    size_t burst, burst_bytes; /* delivered since librdkafka's queue was last empty */
    bool closing;
    uint64_t commit_failures;

    /* Commits are answered in the order of their sending: when each was sent, in a ring. */
    struct {
        int64_t sent_us;
        size_t count; /* of commits: one that finds the ring full counts with the last one before it */
    } commits[KAFKA_COMMITS_MAX];
    size_t commit_first, commit_count;
    int64_t heard_us, session_us;

    struct kafka_membership *membership;

    uv_mutex_t lock;   /* of the client below, which worker threads use */
    rd_kafka_t *plain; /* reads uncommitted: made when first needed */
    struct kafka_opaque plain_opaque;
};

/* batches.c: hands over one batch. Returns whether librdkafka may have more. */
bool kafka_consumer_take_batch(struct kafka_consumer *consumer);

/* membership.c: notes the membership under which the present assignment was given; forgets it. */
void kafka_consumer_keep_membership(struct kafka_consumer *consumer);
void kafka_consumer_drop_membership(struct kafka_consumer *consumer);

/* reading.c: rd_kafka_assign, until librdkafka is done with it. NULL: nothing, and the group may go on. */
rd_kafka_resp_err_t kafka_consumer_assign(struct kafka_consumer *consumer, const rd_kafka_topic_partition_list_t *list);

/* Tells librdkafka what positions says. */
int kafka_consumer_apply(struct kafka_consumer *consumer, struct error *error);

/* Pauses (or resumes) in librdkafka all that is read, but for what the owner paused. */
void kafka_consumer_pause_all(struct kafka_consumer *consumer, bool pause);

/* librdkafka's queue was full, and is empty now: has it fetch at once. */
void kafka_consumer_fetch_on(struct kafka_consumer *consumer);

/* The handle of a topic; NULL: it cannot be had. */
rd_kafka_topic_t *kafka_consumer_topic(struct kafka_consumer *consumer, const struct topic *topic);
