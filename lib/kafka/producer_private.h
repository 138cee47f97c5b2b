/* A producer's insides: producer.c sends records and takes delivery reports, dead_letters.c sends unreadable records to their dead
 * letter queue, transactions.c makes the calls that block, renewal.c replaces a client that is of no use any more. */
#pragma once

#include "kafka/private.h"
#include "kafka/producer.h"

/* The dead letters of one topic. */
struct dead_letters {
    const struct topic *topic;
    struct metric *written, *lost;
};

struct traces_sent; /* kafka/traces.c */

/* A client that was replaced, until the fates of its records are known. */
struct retired_client {
    rd_kafka_t *client;
    rd_kafka_queue_t *queue;
    struct kafka_handles handles;
    struct kafka_opaque *opaque;
    size_t pending;
};

struct kafka_producer {
    struct kafka_producer_options options;
    struct kafka_opaque *opaque; /* lives as long as the client */
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

    /* renewal.c, of plain producers: */
    int64_t waits_us;           /* since when records wait or fail, and none is acknowledged; 0: they do not */
    int64_t renewed_us;         /* when the client was made */
    int64_t patience_ms;        /* that a client gets until its first acknowledgement */
    bool spoiled;               /* its sequence of records is broken */
    bool told;                  /* on_writes was told of the trouble */
    struct retired_client *old; /* NULL: none */
};

/* producer.c */
int kafka_producer_open(struct kafka_producer *producer,
                        struct error *error); /* makes the client, its queue and health */
int kafka_producer_taken(struct kafka_producer *producer,
                         rd_kafka_resp_err_t err); /* what librdkafka's answer means to the sender */
/* Takes up to so many reports of that queue; *pending counts down. Returns whether there may be more. */
bool kafka_producer_take(struct kafka_producer *producer, rd_kafka_queue_t *queue, size_t *pending, int timeout_ms);

/* renewal.c */
void kafka_renewal_reported(struct kafka_producer *producer, rd_kafka_resp_err_t err);
bool kafka_renewal_look(
    struct kafka_producer *producer); /* after reports were taken; true: look again in the next turn */
void kafka_renewal_free(struct kafka_producer *producer);

/* dead_letters.c */
void kafka_dead_letters_count(struct kafka_producer *producer, struct metrics *metrics);
void kafka_dead_letter_reported(struct kafka_producer *producer, const rd_kafka_message_t *message);
