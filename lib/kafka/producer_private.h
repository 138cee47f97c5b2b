/* A producer's insides: producer.c sends and takes reports, dead_letters.c the records nobody could read,
 * transactions.c the calls that block. */
#ifndef KAFKA_PRODUCER_PRIVATE_H
#define KAFKA_PRODUCER_PRIVATE_H

#include "kafka/private.h"
#include "kafka/producer.h"

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
};

#endif
