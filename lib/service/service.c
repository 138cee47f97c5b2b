#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "budget/network.h"
#include "kafka/misplaced.h"
#include "service/internal.h"
#include "service/listen.h"
#include "service/service.h"

/* Logs what is denied, to this process by Kafka and by this process to callers: one line for the first time, and after a minute another one
 * that says how often since. Its memory is bounded. librdkafka tells us of the same denial many times a second, and so do attackers. Any
 * thread. */

enum { AGAIN_S = 60, KEPT_MAX = 256 };

struct denial {
    char *reason;
    uint64_t network;       /* 0: Kafka's, or not known */
    int64_t said_us, times; /* since it was said */
};

struct denials {
    struct log *log;
    struct metrics *metrics;
    uv_mutex_t lock; /* of the list */
    struct denial list[KEPT_MAX];
    size_t count;
};

static struct denials *denials_new(struct log *log, struct metrics *metrics) {
    struct denials *denials = mem_zero(1, sizeof *denials);
    denials->log = log;
    denials->metrics = metrics;
    uv_mutex_init(&denials->lock);
    return denials;
}

static void denials_free(struct denials *denials) {
    if (!denials) return;
    for (size_t i = 0; i < denials->count; i++) free(denials->list[i].reason);
    uv_mutex_destroy(&denials->lock);
    free(denials);
}

/* The place of a new one: when all are taken, that of the one said longest ago, if its minute is over, and else the last one's, which
 * many then share. NULL: share the last one. */
static struct denial *free_place(struct denials *denials) {
    if (denials->count < KEPT_MAX) return &denials->list[denials->count++];
    struct denial *oldest = denials->list;
    for (size_t i = 1; i < KEPT_MAX; i++)
        if (denials->list[i].said_us < oldest->said_us) oldest = &denials->list[i];
    if (clock_monotonic_us() - oldest->said_us < (int64_t)AGAIN_S * 1000000) return NULL;
    free(oldest->reason);
    return oldest;
}

static struct denial *entry_of(struct denials *denials, const char *reason, uint64_t network) {
    for (size_t i = 0; i < denials->count; i++) {
        struct denial *entry = &denials->list[i];
        if (entry->network == network && !strcmp(entry->reason, reason)) return entry;
    }
    struct denial *place = free_place(denials);
    if (!place) return &denials->list[KEPT_MAX - 1];
    *place = (struct denial){.reason = mem_string(reason), .network = network};
    return place;
}

/* How often it was denied, if that is to be said now; else 0. */
static int64_t due(struct denials *denials, const char *reason, uint64_t network) {
    uv_mutex_lock(&denials->lock);
    struct denial *entry = entry_of(denials, reason, network);
    int64_t times = ++entry->times;
    if (log_due(&entry->said_us, AGAIN_S))
        entry->times = 0;
    else
        times = 0;
    uv_mutex_unlock(&denials->lock);
    return times;
}

/* NULL is fine */
/* Kafka does not let this process do something. context: the denials. */
static void denials_add(void *context, const char *reason) {
    struct denials *denials = context;
    if (due(denials, reason, 0)) log_error(denials->log, "Kafka refuses", LOG_TEXT("reason", reason));
}

/* A caller from that network (budget/network.h; 0: not known) was refused. reason: a code of problems, a literal; counted by
 * starling_access_refused_total. Loop's thread. */
static void denials_refuse(struct denials *denials, const char *reason, uint64_t network) {
    char labels[64], from[NETWORK_TEXT] = "unknown";
    snprintf(labels, sizeof labels, "reason=\"%s\"", reason);
    metrics_counter(denials->metrics, "starling_access_refused_total", "Callers that were refused.", labels)->value++;
    int64_t times = due(denials, reason, network);
    if (network) network_text(network, from);
    if (times)
        log_warn(denials->log, "access refused", LOG_TEXT("reason", reason), LOG_TEXT("network", from),
                 LOG_INT("times", times));
}

enum { EXIT_REFUSED = 2, CLOSE_LIMIT_MS = 5000 };

const struct service_settings *service_settings(const struct service *service) { return &service->settings; }
const struct kafka_settings *service_kafka(const struct service *service) { return &service->kafka; }
uv_loop_t *service_loop(const struct service *service) { return (uv_loop_t *)(uintptr_t)&service->loop; }
struct log *service_log(const struct service *service) {
    return service->log;
}
struct metrics *service_metrics(const struct service *service) {
    return service->metrics;
}
bool service_draining(const struct service *service) { return service->draining; }

void service_refused(struct service *service, const char *reason, uint64_t network) {
    denials_refuse(service->denials, reason, network);
}

void service_finished(struct service *service) {
    service->finished = true;
    uv_stop(&service->loop);
}

void service_drain(struct service *service, const char *cause) {
    if (service->draining) return;
    service->draining = true;
    log_info(service->log, "draining", LOG_TEXT("cause", cause));
    notify_tell(service->notify, "STOPPING=1\nSTATUS=draining");
    if (service->state && service->definition->drain)
        service->definition->drain(service->state);
    else
        service_finished(service);
}

void service_fail(struct service *service, const char *reason) {
    log_error(service->log, "failed", LOG_TEXT("reason", reason));
    service->exit_code = EXIT_FAILURE;
    // A daemon that fails while it drains may never finish draining.
    if (service->draining)
        service_finished(service);
    else
        service_drain(service, "failure");
}

void service_begin(struct service *service, const struct topics_shape *shape) {
    struct error error = {.text = ""};
    if (service->draining) return;
    service->started = true;
    service->kafka.partitions = shape->partitions; // the broker's `first`, which outlives the daemon's clients
    if (!service->kafka.misplaced && service->kafka.topics)
        service->kafka.misplaced = kafka_misplaced_new(service->kafka.topics, service->metrics);
    void *state = NULL;
    int code = service->definition->start(service, shape, &state, &error);
    // start itself may have called service_fail or service_finished.
    service->state = state;
    if (code) {
        log_error(service->log, "could not start", LOG_TEXT("reason", error.text));
        service->exit_code = EXIT_FAILURE;
        service_finished(service);
    } else if (service->draining)
        service_finished(service);
    else
        log_info(service->log, "started");
}

static void reload(struct service *service) {
    log_info(service->log, "reloading", LOG_TEXT("cause", "SIGHUP"));
    keys_refresh(service);
    if (service->state && service->definition->reload) service->definition->reload(service->state);
}

static void on_signal(uv_signal_t *handle, int number) {
    struct service *service = handle->data;
    if (number == SIGHUP) {
        reload(service);
        return;
    }
    uint64_t now_ms = uv_now(&service->loop);
    if (service->signalled_ms && now_ms - service->signalled_ms < SERVICE_SIGNAL_PAUSE_MS) return;
    if (service->signalled_ms) {
        log_warn(service->log, "ended by a second signal", LOG_INT("signal", number));
        _exit(EXIT_FAILURE);
    }
    service->signalled_ms = now_ms; /* after POST /drain it is the first */
    service_drain(service, number == SIGTERM ? "SIGTERM" : "SIGINT");
}

static void watch_signals(struct service *service) {
    static const int NUMBERS[] = {SIGTERM, SIGINT, SIGHUP};
    // A peer that closes its socket is an error of that write, not the process's end.
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < ARRAY_SIZE(NUMBERS); i++) {
        uv_signal_init(&service->loop, &service->signals[i]);
        service->signals[i].data = service;
        uv_signal_start(&service->signals[i], on_signal, NUMBERS[i]);
    }
}

/* The usual soft limit of 1,024 is there for select(), which nothing here uses. */
static void raise_descriptor_limit(void) {
    struct rlimit limit;
    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* name@host:port, by which peers find this process through the consumer group (service/peers.h); the name and the suffix without
 * peer.listen. */
static char *make_client_id(const struct service *service) {
    const struct service_settings *settings = &service->settings;
    const char *name = service->definition->name;
    if (!service->peers) return mem_format("%s%s", name, settings->client_id_suffix);
    if (*settings->peer_advertise) return mem_format("%s@%s", name, settings->peer_advertise);
    struct address address;
    char machine[256] = "";
    address_parse(settings->peer_listen, &address, NULL); // checked with the configuration
    bool wildcard = address_is_wildcard(&address);
    if (wildcard) gethostname(machine, sizeof machine - 1);
    const char *host = wildcard ? machine : address.host;
    return mem_format(strchr(host, ':') ? "%s@[%s]:%d" : "%s@%s:%d", name, host, http_server_port(service->peers));
}

static void make_topics(struct service *service) {
    const struct topic_uses *uses = service->definition->uses;
    size_t count = uses ? uses->count : 0;
    const struct topic **topics = mem_alloc((count + 1) * sizeof *topics);
    for (size_t i = 0; i < count; i++) topics[i] = uses->items[i].topic;
    service->topics = (struct topic_list){.items = topics, .count = count};
}

static int service_open(struct service *service, struct error *error) {
    service->metrics = metrics_new();
    service_make_conditions(service);
    int code = service_open_ops(service, error);
    if (!code) code = service_open_peers(service, error);
    if (code) return code;
    service->client_id = make_client_id(service);
    make_topics(service);
    service->denials = denials_new(service->log, service->metrics);
    service->kafka = (struct kafka_settings){
        .topics = &service->topics,
        .uses = service->definition->uses,
        .on_refused = denials_add,
        .refused_context = service->denials,
        .on_writes = broker_writes,
        .writes_context = service,
        .unwritten = metrics_counter(service->metrics, "starling_kafka_records_failed_total",
                                     "Records that Kafka did not acknowledge, outside of transactions.", NULL),
        .bootstrap = service->settings.kafka_bootstrap,
        .prefix = service->settings.topics_prefix,
        .client_id = service->client_id,
        .log = service->log,
    };
    service->kafka.extra = config_kafka(service->config, &service->kafka.extra_count);
    traces_open(service);
    log_info(service->log, "listening", LOG_INT("ops_port", http_server_port(service->ops)),
             LOG_INT("peer_port", service->peers ? http_server_port(service->peers) : -1),
             LOG_TEXT("version", STARLING_VERSION));
    return broker_new(service, &service->broker, error);
}

static void close_limit(uv_timer_t *timer) {
    struct service *service = timer->data;
    log_warn(service->log, "something was left open on the event loop");
    uv_stop(&service->loop);
}

/* Turns the loop until everything that was closed is gone. */
static void close_loop(struct service *service) {
    uv_timer_t limit;
    /* They are listened to until the end: a signal that comes while others close must not be the end of the process. */
    for (size_t i = 0; i < ARRAY_SIZE(service->signals); i++) uv_unref((uv_handle_t *)&service->signals[i]);
    uv_timer_init(&service->loop, &limit);
    limit.data = service;
    uv_timer_start(&limit, close_limit, CLOSE_LIMIT_MS, 0);
    uv_unref((uv_handle_t *)&limit);
    uv_run(&service->loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&limit, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(service->signals); i++) uv_close((uv_handle_t *)&service->signals[i], NULL);
    uv_run(&service->loop, UV_RUN_NOWAIT);
    uv_loop_close(&service->loop);
}

/* Things that they use must not be freed, and things that they wait for may need the loop. */
static void wait_for_workers(struct service *service) {
    bool (*busy)(void *state) = service->definition->busy;
    while (service->state && busy && busy(service->state)) uv_run(&service->loop, UV_RUN_ONCE);
}

static void service_close(struct service *service) {
    wait_for_workers(service);
    if (service->definition->free) service->definition->free(service->state);
    service->state = NULL;
    keys_free(service);
    service_close_http(service);
    broker_free(service->broker);
    notify_rest(service->notify);
    close_loop(service);
    traces_close(service);
    kafka_misplaced_free(service->kafka.misplaced);
    metrics_free(service->metrics);
    free(service->conditions);
    free(service->client_id);
    free((void *)(uintptr_t)service->topics.items);
    denials_free(service->denials);
}

static void service_run(struct service *service) {
    struct error error = {.text = ""};
    uv_loop_init(&service->loop);
    watch_signals(service);
    notify_watch(service->notify, &service->loop);
    raise_descriptor_limit();
    if (service_open(service, &error)) {
        log_error(service->log, "could not start", LOG_TEXT("reason", error.text));
        service->exit_code = EXIT_FAILURE;
    } else
        uv_run(&service->loop, UV_RUN_DEFAULT);
    service_close(service);
    log_info(service->log, "ended", LOG_INT("exit_code", service->exit_code));
}

int service_main(int argc, char **argv, const struct service_definition *definition) {
    struct service *service = MEM_NEW(&(struct service){.definition = definition, .exit_code = EXIT_SUCCESS});
    int code = service_configure(service, argc, argv);
    if (code == 0) {
        service->log = log_new(stderr, definition->name, (enum log_level)service->settings.log_level,
                               (enum log_format)service->settings.log_format);
        service->notify = notify_new();
        service_run(service);
        code = service->exit_code;
    } else
        code = code > 0 ? EXIT_SUCCESS : service->checks ? EXIT_FAILURE : EXIT_REFUSED;
    notify_free(service->notify);
    log_free(service->log);
    config_free(service->config);
    service_section_free(&service->common);
    free(service);
    return code;
}
