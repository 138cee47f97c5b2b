#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "service/internal.h"

enum { WAIT_PERIOD_MS = 1000, WATCH_PERIOD_MS = 5000, VERIFY_TIMEOUT_MS = 2000, NEVER_ASKED = 1 };

/* The question is the worker thread's while asking is true: admin, shape, code and reason. */
struct broker {
    struct service *service;
    struct kafka_admin *admin;
    struct loop_timer *timer;
    struct topics_shape shape, first; // first: what the daemon was started with
    int code;
    struct error reason;
    int told; // the code that was last logged
    bool asking, closing;
};

static void broker_destroy(struct broker *broker) {
    kafka_admin_free(broker->admin);
    free(broker);
}

static void ask(void *context) {
    struct broker *broker = context;
    broker->code = kafka_topics_verify(broker->admin, &broker->shape, VERIFY_TIMEOUT_MS, &broker->reason);
}

/* One line a change of state, however often it is asked. */
static void tell(struct broker *broker) {
    struct log *log = broker->service->log;
    if (broker->code == broker->told) return;
    broker->told = broker->code;
    if (broker->code == 0)
        log_info(log, "Kafka is there", LOG_TEXT("servers", broker->service->kafka.bootstrap),
                 LOG_INT("partitions", broker->shape.partitions),
                 LOG_INT("delivery_partitions", broker->shape.delivery_partitions));
    else if (broker->code == -ENOENT)
        log_warn(log, "waiting for topics", LOG_TEXT("reason", broker->reason.text));
    else if (broker->code != -EINVAL)
        log_warn(log, "waiting for Kafka", LOG_TEXT("servers", broker->service->kafka.bootstrap),
                 LOG_TEXT("reason", broker->reason.text));
}

/* Said once: the service would take a second failure for one of its drain, and end at once. */
static void fail(struct broker *broker, const char *reason) {
    loop_timer_free(broker->timer);
    broker->timer = NULL;
    service_fail(broker->service, reason);
}

static void answered(void *context) {
    struct broker *broker = context;
    struct service *service = broker->service;
    broker->asking = false;
    if (broker->closing) {
        broker_destroy(broker);
        return;
    }
    tell(broker);
    service_ready(service, "kafka", broker->code == 0);
    uint64_t period_ms = broker->code ? WAIT_PERIOD_MS : WATCH_PERIOD_MS;
    loop_timer_again(broker->timer, period_ms, period_ms);
    if (broker->code == -EINVAL)
        fail(broker, broker->reason.text);
    else if (broker->code == 0 && !service->started) {
        broker->first = broker->shape;
        service_begin(service, &broker->first);
    } else if (broker->code == 0 && (broker->shape.partitions != broker->first.partitions ||
                                     broker->shape.delivery_partitions != broker->first.delivery_partitions))
        fail(broker, "the topics' numbers of partitions have changed");
}

static void due(void *context) {
    struct broker *broker = context;
    if (broker->asking) return;
    broker->asking = true;
    loop_work(&broker->service->loop, ask, answered, broker);
}

int broker_new(struct service *service, struct broker **broker, struct error *error) {
    struct kafka_admin *admin;
    int code = kafka_admin_new(&service->kafka, &admin, error);
    if (code) return code;
    struct broker *made = mem_alloc(sizeof *made);
    *made = (struct broker){
        .service = service,
        .admin = admin,
        .told = NEVER_ASKED,
        .timer = loop_timer_new(&service->loop, 1, WAIT_PERIOD_MS, due, made),
    };
    *broker = made;
    return 0;
}

void broker_free(struct broker *broker) {
    if (!broker) return;
    broker->closing = true;
    loop_timer_free(broker->timer);
    if (!broker->asking) broker_destroy(broker);
}
