/* Shared by admin.c, topics.c and groups.c. */
#pragma once

#include "kafka/admin.h"
#include "kafka/private.h"

struct kafka_admin {
    const struct kafka_settings *settings;
    struct kafka_opaque opaque;
    rd_kafka_t *client;
    char trouble[256]; /* what librdkafka last said of its connections; empty: nothing since a broker answered */
    bool refused;      /* that a broker, or we, refused a connection: a wrong password, an unknown authority */
};

/* kafka_failed, with -EHOSTDOWN for every code that means that no broker answered in time. */
int kafka_admin_failed(struct error *error, rd_kafka_resp_err_t err, const char *doing);

/* The same, with what librdkafka said of its connections, which an answer makes good. -EACCES: the connection was refused. */
int kafka_admin_unreachable(struct kafka_admin *admin, rd_kafka_resp_err_t err, const char *doing, struct error *error);
void kafka_admin_reached(struct kafka_admin *admin);

/* A queue and the options (with the time that is left) for one request. */
struct kafka_request {
    rd_kafka_queue_t *queue;
    rd_kafka_AdminOptions_t *options;
};
struct kafka_request kafka_request_new(struct kafka_admin *admin, rd_kafka_admin_op_t op, int64_t deadline_us);

/* Waits for the answer and frees the request. NULL with the reason in error and *code if none comes. */
rd_kafka_event_t *kafka_request_finish(struct kafka_request *request, int64_t deadline_us, const char *doing, int *code,
                                       struct error *error);

/* For questions to a group's coordinator. They must never time out inside librdkafka (2.0 to 2.13): when a broker comes up later,
 * librdkafka looks up the coordinator for the request that it has freed, and an assertion ends the process. So we give librdkafka
 * a far longer time-out than we wait ourselves. When we give up a request, we free its client with it. */
struct kafka_request kafka_coordinator_request_new(struct kafka_admin *admin, rd_kafka_admin_op_t op);
rd_kafka_event_t *kafka_coordinator_request_finish(struct kafka_admin *admin, struct kafka_request *request,
                                                   int64_t deadline_us, const char *doing, int *code,
                                                   struct error *error);

/* Makes the client again if it was freed; to be called before each use of admin->client. */
int kafka_admin_open(struct kafka_admin *admin, struct error *error);
