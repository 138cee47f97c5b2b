/* A producer's insides: producer.c sends records and takes delivery reports, dead_letters.c sends unreadable records to their dead
 * letter queue, transactions.c makes the calls that block. */
#ifndef KAFKA_PRODUCER_PRIVATE_H
#define KAFKA_PRODUCER_PRIVATE_H

#include "kafka/private.h"
#include "kafka/producer.h"

/* The dead letters of one topic. */
struct dead_letters {
    const struct topic *topic;
    struct metric *written, *lost;
};

struct traces_sent; /* kafka/traces.c */

struct kafka_producer {
    struct kafka_producer_options options;
    struct kafka_opaque opaque;
    rd_kafka_t *client;
    rd_kafka_queue_t *queue; /* reports and errors, as events: flushing on a worker thread must not call us there */
    struct kafka_wake *wake;
    struct kafka_health *health;
    struct kafka_handles handles;
    struct kafka_membership *membership; /* under which the transaction was begun; NULL: none */
    size_t pending;
    uint64_t dead_lost;
    size_t dead_limit; /* more bytes of key and value than this the broker has refused */
    struct dead_letters *dead;
    size_t dead_count;
    struct traces_sent *traced; /* NULL: none was */
};

/* dead_letters.c */
void kafka_dead_letters_count(struct kafka_producer *producer, struct metrics *metrics);
void kafka_dead_letter_reported(struct kafka_producer *producer, const rd_kafka_message_t *message);

#endif
