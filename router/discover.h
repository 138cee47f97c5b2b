/* Discover: who of those who share publicly is around a user. Every router knows all of them: whether they share publicly by a copy of the
 * topic sharing, of which it keeps these users only, and where they are by presence. router/strangers.h has the rules about what may be
 * told. Loop's thread.
 */
#pragma once

#include "base/log.h"
#include "kafka/settings.h"
#include "router/graph.h"
#include "router/metrics.h"
#include "router/presence.h"
#include "router/report_clock.h"
#include "router/settings.h"
#include "rpc/serve.h"

struct discover;

struct discover_options {
    uv_loop_t *loop;
    struct log *log;
    struct metrics *registry;
    struct router_metrics *metrics;
    const struct kafka_settings *kafka;
    const struct router_settings *settings;
    int32_t partitions;
    int64_t inactive_ms;
    const char *secret; /* that all routers know and nobody else: the delays follow from it */
    const struct presence *presence;
    const struct report_clock *clock;
    struct graph *graph;
    void *context;
    void (*ready)(void *context); /* once: it knows who shares publicly */
};

/* *discover is set also when this fails: half-built, to be freed. */
int discover_new(const struct discover_options *options, struct discover **discover, struct error *error);
void discover_free(struct discover *discover); /* before presence; NULL is fine */

bool discover_ready(const struct discover *discover);

/* An event of the user, which reached Kafka at received_ms, has been applied to presence. */
void discover_event(struct discover *discover, int64_t user, int64_t received_ms);

/* Ten times a second: tells moves that are due. */
void discover_tenth(struct discover *discover);

/* Answers GET /peer/discover/USER?after&limit, of a user whose friend lists this process serves. warm: presence is complete.
 * 403 not-public; 409 no-position: the user has not reported recently. */
void discover_answer(struct discover *discover, struct http_request *request, const struct rpc_asked *asked, bool warm);
