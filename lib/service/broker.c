#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "question/question.h"
#include "service/internal.h"

enum {
    WAIT_PERIOD_MS = 1000,
    WATCH_PERIOD_MS = 5000,
    VERIFY_TIMEOUT_MS = 2000,
    PLACED_TIMEOUT_MS = 10000,
    NEVER_ASKED = 1
};

struct broker {
    struct service *service;
    struct kafka_admin *admin; // the worker thread's, as are placed and shape until the question is answered
    struct question *question;
    bool placed;                      // records lie where their keys belong: asked until it is known
    struct topics_shape shape, first; // first: what the daemon was started with
    int told;                         // the code that was last logged
};

static int ask(void *context, struct error *error) {
    struct broker *broker = context;
    const struct topic_list *topics = &broker->service->topics;
    int code = kafka_topics_verify(broker->admin, topics, &broker->shape, VERIFY_TIMEOUT_MS, error);
    if (!code && !broker->placed)
        code = kafka_topics_placed(broker->admin, topics, &broker->shape, PLACED_TIMEOUT_MS, error);
    if (!code) broker->placed = true;
    return code;
}

/* One line a change of state, however often it is asked. */
static bool is_news(struct broker *broker, int code) {
    bool news = broker->told != code;
    broker->told = code;
    return news;
}

static void tell_condition(struct broker *broker) {
    service_ready(broker->service, "kafka", broker->told == 0 && !broker->service->unacknowledged);
}

void broker_writes(void *context, const char *reason) {
    struct service *service = context;
    if (reason) {
        service->unacknowledged++;
        log_warn(service->log, "Kafka does not take what is written", LOG_TEXT("reason", reason));
    } else if (!--service->unacknowledged) {
        log_info(service->log, "Kafka takes what is written again");
    }
    if (service->broker) tell_condition(service->broker);
}

/* Only once: a service that fails again while it drains ends without draining. */
static void fail(struct broker *broker, const char *reason) {
    question_cancel(broker->question);
    service_fail(broker->service, reason);
}

static void failed(void *context, int code, const char *reason) {
    struct broker *broker = context;
    struct log *log = broker->service->log;
    bool news = is_news(broker, code);
    tell_condition(broker);
    if (code == -EINVAL)
        fail(broker, reason);
    else if (news && code == -EACCES)
        log_error(log, "Kafka refuses", LOG_TEXT("servers", broker->service->kafka.bootstrap),
                  LOG_TEXT("reason", reason));
    else if (news && code == -ENOENT)
        log_warn(log, "waiting for topics", LOG_TEXT("reason", reason));
    else if (news)
        log_warn(log, "waiting for Kafka", LOG_TEXT("servers", broker->service->kafka.bootstrap),
                 LOG_TEXT("reason", reason));
}

static void answered(void *context) {
    struct broker *broker = context;
    struct service *service = broker->service;
    const struct topics_shape *shape = &broker->shape;
    if (is_news(broker, 0))
        log_info(service->log, "Kafka is there", LOG_TEXT("servers", service->kafka.bootstrap),
                 LOG_INT("partitions", shape->partitions[TOPIC_SPACE_USERS]),
                 LOG_INT("delivery_partitions", shape->partitions[TOPIC_SPACE_ROUTES]));
    tell_condition(broker);
    question_ask_later(broker->question, WATCH_PERIOD_MS);
    if (!service->started) {
        broker->first = *shape;
        service_begin(service, &broker->first);
    } else if (memcmp(shape, &broker->first, sizeof *shape) != 0)
        fail(broker, "the topics' numbers of partitions have changed, which moves keys away from their records "
                     "(docs/OPERATIONS.md, \"More partitions\", has the way out)");
}

static void destroy(void *context) {
    struct broker *broker = context;
    kafka_admin_free(broker->admin);
    free(broker);
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
        .question = question_new(&(struct question_options){
            .loop = &service->loop,
            .context = made,
            .ask = ask,
            .answered = answered,
            .failed = failed,
            .again_ms = WAIT_PERIOD_MS,
            .freed = destroy,
        }),
    };
    question_ask_later(made->question, 0);
    *broker = made;
    return 0;
}

void broker_free(struct broker *broker) {
    if (broker) question_free(broker->question);
}
