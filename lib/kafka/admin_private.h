/* What admin.c, topics.c and groups.c share. */
#ifndef KAFKA_ADMIN_PRIVATE_H
#define KAFKA_ADMIN_PRIVATE_H

#include "kafka/admin.h"
#include "kafka/private.h"

struct kafka_admin {
    const struct kafka_settings *settings;
    struct kafka_opaque opaque;
    rd_kafka_t *client;
};

/* kafka_failed, with -EHOSTDOWN for whatever means that no broker answered in time. */
int kafka_admin_failed(struct error *error, rd_kafka_resp_err_t err, const char *doing);

/* A queue and the options (with the time that is left) for one request. */
struct kafka_request {
    rd_kafka_queue_t *queue;
    rd_kafka_AdminOptions_t *options;
};
struct kafka_request kafka_request_new(struct kafka_admin *admin, rd_kafka_admin_op_t op, int64_t deadline_us);

/* Waits for the answer and frees the request. NULL with the reason in error and *code when there is none. */
rd_kafka_event_t *kafka_request_finish(struct kafka_request *request, int64_t deadline_us, const char *doing, int *code,
                                       struct error *error);

/* For questions to a group's coordinator, which must never time out inside librdkafka (2.0 to 2.13): when a broker comes up
 * later, it looks the coordinator up for the request that it has freed, and ends the process by an assertion. So librdkafka
 * is given far longer than we wait, and what is given up is ended together with its client. */
struct kafka_request kafka_coordinator_request_new(struct kafka_admin *admin, rd_kafka_admin_op_t op);
rd_kafka_event_t *kafka_coordinator_request_finish(struct kafka_admin *admin, struct kafka_request *request,
                                                   int64_t deadline_us, const char *doing, int *code,
                                                   struct error *error);

/* Whoever uses admin->client calls this first: makes the client, if it is gone. */
int kafka_admin_open(struct kafka_admin *admin, struct error *error);

#endif
