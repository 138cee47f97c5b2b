/* Nearby as a product of lib/tasks: which topics feed which store, and what changes lead to. Friend commands are decided in
 * router/commands.h, and locations are joined in router/reports.h. */
#include "base/clock.h"
#include "base/config.h"
#include "event/topics.h"
#include "router/router_private.h"
#include "users/half.h"

enum { SECOND_MS = 1000 };

/* ---- friend lists ---- */

static const char *read_half(void *context, const struct kafka_record *record, struct list_entry *entry,
                             struct error *error) {
    struct router *router = context;
    struct half_record read;
    const char *reason = half_read(router->codec, router->partitions, record, &read, error);
    if (!reason) *entry = graph_entry(record->partition, read.user, read.other, &read.half);
    return reason;
}

static void friends_failed(void *context, int32_t partition, int code, const struct error *error) {
    tasks_store_failed(((struct router *)context)->tasks, partition, code, error);
}

static void remove_excess(struct router *router, int32_t partition) {
    struct error error;
    int code = cap_remove(router->cap, partition, &error);
    if (code) friends_failed(router, partition, code, &error);
}

static void friends_applied(void *context, int32_t partition, size_t count, bool restoring) {
    struct router *router = context;
    int64_t next = adjacency_next(graph_lists(router->graph), partition);
    router->metrics.friendships_applied->value += (double)count;
    decider_read_back(commands_decider(router->commands), &TOPIC_FRIENDSHIPS, partition, next);
    if (!restoring) remove_excess(router, partition);
}

/* Friendships beyond the cap stay known while another process owns the lists, for when they are ours again. */
static void friends_live(void *context, int32_t partition, bool live) {
    struct router *router = context;
    if (live)
        remove_excess(router, partition);
    else
        excess_renotice(router->excess, partition);
}

static void friends_emptied(void *context, int32_t partition) {
    excess_detach(((struct router *)context)->excess, partition);
}

static int keep_friends(void *context, int32_t partition, bool live, struct error *error) {
    struct cap *cap = ((struct router *)context)->cap;
    return live ? cap_remove(cap, partition, error) : cap_prune(cap, partition, error);
}

struct list_store *router_friends_new(struct router *router) {
    return list_store_new(&(struct list_store_options){
        .lists = graph_lists(router->graph),
        .partitions = router->partitions,
        .loop = service_loop(router->service),
        .context = router,
        .read = read_half,
        .applied = friends_applied,
        .failed = friends_failed,
        .emptied = friends_emptied,
        .lives = friends_live,
        .keep = keep_friends,
    });
}

static int64_t friendships_held(void *context, int32_t partition) {
    return list_store_held(((struct router *)context)->friends, partition);
}

static int sharing_is(void *context, const struct kafka_record *record, struct error *error) {
    struct router *router = context;
    const char *reason = NULL;
    int code = opting_tell(router->opting, record, &reason, error);
    if (reason) tasks_bury(router->tasks, record, reason);
    return code;
}

static int place_event_is(void *context, const struct kafka_record *record, struct error *error) {
    return telling_places_tell(((struct router *)context)->places, record, error);
}

static int64_t place_events_held(void *context, int32_t partition) {
    return telling_places_held(((struct router *)context)->places, partition);
}

/* ---- the tables ---- */

static const struct state_kind *const KINDS[] = {
    [ROUTER_FRIENDSHIPS] = &LIST_STORE_KIND,
    [ROUTER_SHARING] = &SHARING_KIND,
    [ROUTER_PLACE_EVENTS] = &PLACE_EVENTS_KIND,
    [ROUTER_LINKS] = &LINKS_KIND,
};

static const struct tasks_topic TOPICS[] = {
    {.topic = &TOPIC_LOCATIONS, .role = OWNER_SHARED},
    {.topic = &TOPIC_FRIEND_COMMANDS, .role = OWNER_COMMAND},
    {.topic = &TOPIC_LINK_COMMANDS, .role = OWNER_COMMAND},
    // The lists tell of their changes themselves (adjacency's on_change).
    {.topic = &TOPIC_FRIENDSHIPS,
     .role = OWNER_STATE,
     .store = ROUTER_FRIENDSHIPS,
     .held = friendships_held,
     .shows_progress = true},
    // An opt-out does not wait until friend lists are restored.
    {.topic = &TOPIC_SHARING, .role = OWNER_STATE, .store = ROUTER_SHARING, .effect = sharing_is, .at_once = true},
    {.topic = &TOPIC_PLACE_EVENTS,
     .role = OWNER_STATE,
     .store = ROUTER_PLACE_EVENTS,
     .effect = place_event_is,
     .held = place_events_held},
    {.topic = &TOPIC_LINKS, .role = OWNER_STATE, .store = ROUTER_LINKS},
};

/* ---- warm-up ---- */

static void warm_records(void *context, const struct kafka_record *records, size_t count) {
    struct router *router = context;
    int64_t now_us = clock_monotonic_us();
    report_clock_tick(router->clock);
    for (size_t i = 0; i < count; i++) reports_handle(router->reports, &records[i], false, now_us);
}

static void warm_first(void *context, const int64_t *first, const int64_t *next) {
    struct router *router = context;
    log_info(service_log(router->service), "presence holds the newest reports",
             LOG_INT("users", (int64_t)presence_count(router->presence)));
    for (int32_t p = 0; p < router->partitions; p++)
        owner_begin(tasks_owner(router->tasks), ROUTER_LOCATIONS, p, first[p], next[p]);
    tasks_may_join(router->tasks);
}

static void warm_done(void *context) {
    struct router *router = context;
    reports_warm(router->reports);
    router->metrics.warm->value = 1;
    service_ready(router->service, "warm", true);
    log_info(service_log(router->service), "presence is warm",
             LOG_INT("users", (int64_t)presence_count(router->presence)));
}

/* Presence is read last, so that it is fresh when the group's partitions are taken over; and only when it is known who shares publicly:
 * strangers are told the cell that follows from all reports, not that of the newest one (router/strangers.h). */
void router_warm_up(void *context) {
    struct router *router = context;
    struct error error;
    if (!router->prepared || router->warmup || router->draining || !discover_ready(router->discover)) return;
    bool stream = router->common->clock == SERVICE_CLOCK_STREAM;
    struct warmup_options options = {
        .loop = service_loop(router->service),
        .log = service_log(router->service),
        .kafka = service_kafka(router->service),
        .topic = &TOPIC_LOCATIONS,
        .partitions = router->partitions,
        .batch = (size_t)router->owning->batch_records,
        .first_ms = router->settings->warm_first_s * SECOND_MS,
        // The stream's time is not Kafka's: how far back its inactive window reaches cannot be told by timestamps.
        .window_ms = stream ? -1 : router->inactive_ms,
        .context = router,
        .on_records = warm_records,
        .on_first = warm_first,
        .on_done = warm_done,
    };
    if (warmup_new(&options, &router->warmup, &error)) router_failed(router, "presence cannot be read", &error);
}

static void prepared(void *context) {
    struct router *router = context;
    router->prepared = true;
    router_warm_up(router);
}

/* ---- the product ---- */

static void take_location(void *context, size_t input, const struct kafka_record *record, bool owned, int64_t now_us) {
    reports_handle(((struct router *)context)->reports, record, owned, now_us);
}

static void flush_old(void *context, int64_t now_us) {
    struct router *router = context;
    deliver_set_stream_time(router->outbox, report_clock_stream(router->clock));
    deliver_flush_old(router->outbox, now_us);
    report_clock_tick(router->clock);
}

static int64_t flush_ready(void *context, int64_t now_us) {
    return deliver_flush_ready(((struct router *)context)->outbox, now_us);
}

static void flush(void *context) { deliver_flush(((struct router *)context)->outbox); }
static void settle(void *context) { reports_settle(((struct router *)context)->reports); }

static void lower(void *context, size_t input, int64_t *offsets) {
    reports_lower(((struct router *)context)->reports, offsets);
}

static bool blocked(void *context) {
    struct deliver *outbox = ((struct router *)context)->outbox;
    return deliver_blocked(outbox) && !deliver_retry(outbox);
}

static bool busy(void *context) { return warmup_busy(((struct router *)context)->warmup); }

static void drained(void *context) { service_finished(((struct router *)context)->service); }

void router_failed(void *context, const char *doing, const struct error *error) {
    struct router *router = context;
    log_error(service_log(router->service), doing, LOG_TEXT("reason", error->text));
    service_fail(router->service, doing);
}

const struct tasks_product ROUTER_TOPOLOGY = {
    .topics = TOPICS,
    .topic_count = ARRAY_SIZE(TOPICS),
    .kinds = KINDS,
    .store_count = ARRAY_SIZE(KINDS),
    .flush_old = flush_old,
    .flush_ready = flush_ready,
    .flush = flush,
    .drained = drained,
    .failed = router_failed,
    .prepared = prepared,
    .settle = settle,
    .busy = busy,
    .blocked = blocked,
    .input = take_location,
    .lower = lower,
};

int router_start_tasks(struct router *router, const struct owner_options *owner, struct error *error) {
    void *const stores[] = {
        [ROUTER_FRIENDSHIPS] = router->friends,
        [ROUTER_SHARING] = router->opting,
        [ROUTER_PLACE_EVENTS] = router->places,
        [ROUTER_LINKS] = router->links,
    };
    return tasks_start(router->tasks,
                       &(struct tasks_options){.owner = owner,
                                               .stores = stores,
                                               .dead_letters = record_collector_producer(router->collector),
                                               .undecodable = router->metrics.undecodable},
                       error);
}
