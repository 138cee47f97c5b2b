#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kafka/private.h"

enum { PROBE_TIMEOUT_MS = 1000, PROBE_EVERY_MS = 500 };

struct kafka_health {
    rd_kafka_t *client;
    rd_kafka_queue_t *answers; /* of probes; wakes the same loop as the client's queue */
    char *probe_topic;
    bool probing; /* a question is under way */
    int64_t asked_us;
    bool up;
    bool fatal;
    bool news; /* on_broker has not been told */
    char reason[256];
    void (*on_broker)(void *context, bool up, const char *reason);
    void *context;
};

/* The settings of a topic: answered by any broker's cluster, existing topic or not, and nothing happens by it. */
static void probe(struct kafka_health *health) {
    rd_kafka_ConfigResource_t *resource = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, health->probe_topic);
    rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(health->client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
    char unused[64];
    rd_kafka_AdminOptions_set_request_timeout(options, PROBE_TIMEOUT_MS, unused, sizeof unused);
    rd_kafka_DescribeConfigs(health->client, &resource, 1, options, health->answers);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_ConfigResource_destroy(resource);
    health->probing = true;
    health->asked_us = clock_monotonic_us();
}

struct kafka_health *kafka_health_new(rd_kafka_t *client, const struct kafka_settings *settings,
                                      struct kafka_wake *wake,
                                      void (*on_broker)(void *context, bool up, const char *reason), void *context) {
    struct kafka_health *health = MEM_NEW(&(struct kafka_health){
        .client = client,
        .answers = rd_kafka_queue_new(client),
        .probe_topic = settings->topics && settings->topics->count
                           ? topic_full_name(settings, settings->topics->items[0], false)
                           : mem_string("starling"),
        .reason = "",
        .on_broker = on_broker,
        .context = context,
    });
    kafka_wake_queue(wake, health->answers);
    probe(health);
    return health;
}

void kafka_health_free(struct kafka_health *health) {
    if (!health) return;
    kafka_wake_forget(health->answers);
    rd_kafka_queue_destroy(health->answers);
    free(health->probe_topic);
    free(health);
}

void kafka_health_down(struct kafka_health *health, const char *reason) {
    // Once told, the same trouble is told again only after it was over.
    if (!health->up && health->reason[0]) return;
    health->up = false;
    health->news = true;
    snprintf(health->reason, sizeof health->reason, "%s", reason);
}

void kafka_health_ask(struct kafka_health *health) {
    bool due = clock_monotonic_us() - health->asked_us >= PROBE_EVERY_MS * 1000;
    if (due && !health->probing && !health->fatal) probe(health);
}

static void gone_for_good(struct kafka_health *health, const char *reason) {
    if (health->fatal) return;
    health->fatal = true;
    health->up = false;
    health->news = true;
    snprintf(health->reason, sizeof health->reason, "%s", reason);
}

/* Only a probe's answer says so: records and acknowledgements may have waited in a queue while the broker went away. */
static void seen(struct kafka_health *health) {
    if (health->up || health->fatal) return;
    health->up = true;
    health->news = true;
    health->reason[0] = 0;
}

void kafka_health_error(struct kafka_health *health, rd_kafka_t *client, rd_kafka_resp_err_t err, const char *reason) {
    char text[256];
    switch (err) {
    case RD_KAFKA_RESP_ERR__FATAL:
        // The code that the fatal error hides.
        rd_kafka_fatal_error(client, text, sizeof text);
        gone_for_good(health, text);
        break;
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR__SSL: kafka_health_down(health, reason); break;
    default: break; // one broker's trouble, or a request's: librdkafka tries again by itself
    }
}

static void read_answers(struct kafka_health *health) {
    rd_kafka_event_t *event;
    while ((event = rd_kafka_queue_poll(health->answers, 0))) {
        rd_kafka_resp_err_t err = rd_kafka_event_error(event);
        health->probing = false;
        // A broker that answers anything (that it does not know the topic, that we may not ask) is there.
        int code = kafka_code(err);
        if (code == -ETIMEDOUT || code == -EHOSTDOWN)
            kafka_health_down(health, "no broker answers");
        else
            seen(health);
        rd_kafka_event_destroy(event);
    }
}

void kafka_health_poll(struct kafka_health *health) {
    read_answers(health);
    if (!health->up) kafka_health_ask(health);
    if (!health->news) return;
    health->news = false;
    if (health->on_broker) health->on_broker(health->context, health->up, health->up ? NULL : health->reason);
}

bool kafka_health_up(const struct kafka_health *health) { return health->up; }

bool kafka_health_fatal(const struct kafka_health *health) { return health->fatal; }

const char *kafka_health_reason(const struct kafka_health *health) { return health->reason; }
