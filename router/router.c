#include "router/router.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/programs.h"
#include "router/router_private.h"

enum {
    SECOND_MS = 1000,
    TENTH_MS = 100,
    HOUR_MS = 3600000,
    SWEEP_SLOTS = 500000 /* a second: ten million slots in twenty */
};

static const char *const CONDITIONS[] = {"warm", "assigned", "restored", NULL};

/* ---- the store ---- */

static void friends_changed(void *context, const struct graph_change *change) {
    struct router *router = context;
    struct router_metrics *metrics = &router->metrics;
    report_clock_tick(router->clock);
    if (change->made != change->was_made) (change->made ? metrics->made : metrics->parted)->value++;
    if (!change->made) excess_parted(router->excess, change->user, change->other);
    reports_friends_changed(router->reports, change);
}

static void friends_exceeded(void *context, int32_t partition, int64_t user, int64_t other, int64_t since,
                             int64_t offset) {
    excess_notice(((struct router *)context)->excess, partition, user, other, since, offset);
}

static void friends_damaged(void *context, int32_t partition, const struct error *error) {
    tasks_damaged(((struct router *)context)->tasks, partition, -EBADMSG, error);
}

static int open_graph(void *context, struct error *error) {
    struct router *router = context;
    const struct router_settings *settings = router->settings;
    struct graph_options options = {
        .path = router->path,
        .partitions = router->partitions,
        .cap = (size_t)settings->friends_cap,
        .max_age_ms = settings->friends_rebuild_after_h * HOUR_MS,
        .memory_bytes = (size_t)settings->store_memory_mb << 20,
        .context = router,
        .on_change = friends_changed,
        .on_excess = friends_exceeded,
        .on_damaged = friends_damaged,
    };
    return graph_open(&options, &router->graph, error);
}

static int make_checkpoint(void *context, const char *path, struct error *error) {
    return adjacency_checkpoint(graph_lists(((struct router *)context)->graph), path, error);
}

static void graph_opened(void *context, int code, const struct error *error);

/* 1: it is being copied, and graph_opened will be called. */
static int open_store(struct router *router, struct error *error) {
    const struct owner_settings *settings = router->owning;
    struct checkpoints_options options = {
        .loop = service_loop(router->service),
        .log = service_log(router->service),
        .metrics = service_metrics(router->service),
        .prefix = "starling_router",
        .folder = settings->checkpoint_dir,
        .every_ms = settings->checkpoint_every_s * SECOND_MS,
        .keep = (size_t)settings->checkpoint_keep,
        .path = router->path,
        .max_age_ms = router->settings->friends_rebuild_after_h * HOUR_MS,
        .context = router,
        .open = open_graph,
        .make = make_checkpoint,
        .on_opened = graph_opened,
    };
    router->checkpoints = checkpoints_new(&options);
    return checkpoints_open(router->checkpoints, error);
}

/* ---- timers ---- */

static void each_second(void *context) {
    struct router *router = context;
    struct owner *owner = tasks_owner(router->tasks);
    bool stream = router->common->clock == SERVICE_CLOCK_STREAM;
    int64_t wall = clock_wall_ms();
    report_clock_tick(router->clock);
    int64_t now = report_clock_now(router->clock);
    presence_sweep(router->presence, now, SWEEP_SLOTS);
    if (owner_joined(owner)) {
        deliver_set_stream_time(router->outbox, report_clock_stream(router->clock));
        if (stream && !deliver_blocked(router->outbox)) deliver_beat(router->outbox);
    }
    excess_expire(router->excess, wall);
    tasks_second(router->tasks);
    link_answers_second(router->link_answers);
    checkpoints_second(router->checkpoints, owner_restored(owner) && !router->draining, wall);
}

/* All that runs is read to its end, and applied. */
static bool state_current(const struct router *router) {
    const struct owner *owner = tasks_owner(router->tasks);
    for (int32_t p = 0; p < router->partitions; p++) {
        if (owner_live(owner, p) &&
            (owner_state_lag(owner, ROUTER_FRIENDSHIPS, p) || owner_state_lag(owner, ROUTER_SHARING, p) ||
             list_store_held(router->friends, p) != INT64_MAX))
            return false;
    }
    return true;
}

static void measure(struct router *router, const struct owner *owner) {
    struct router_metrics *metrics = &router->metrics;
    reports_measure(router->reports, owner_lag_ms(owner));
    bool lagging = reports_lagging(router->reports), warm = reports_are_warm(router->reports);
    deliver_set_flush_us(router->outbox, SECOND_MS * (lagging ? router->settings->outbox_flush_behind_ms
                                                              : router->owning->outbox_flush_ms));
    metrics->digesting->value = warm && !lagging;
    metrics->caught_up->value =
        warm && !lagging && owner_assigned(owner) && kafka_producer_up(record_collector_producer(router->collector)) &&
        !deliver_blocked(router->outbox) && owner_commands_current(owner) && state_current(router);
}

static void each_tenth(void *context) {
    struct router *router = context;
    struct owner *owner = tasks_owner(router->tasks);
    report_clock_tick(router->clock);
    opting_tenth(router->opting);
    discover_tenth(router->discover);
    telling_places_tenth(router->places);
    owner_tenth(owner);
    if (owner_joined(owner)) measure(router, owner);
    near_pages_tenth(router->near);
    service_ready(router->service, "assigned", owner_was_assigned(owner));
    service_ready(router->service, "restored", owner_ready(owner));
}

static void collect(void *context) {
    static const char READS[] = "starling_router_store_cache_reads_total",
                      READS_HELP[] = "Blocks that the event loop read of RocksDB, from its cache or not";
    const struct router *router = context;
    struct adjacency_usage lists = adjacency_used(graph_lists(router->graph));
    struct store_usage usage = lists.store;
    const struct metric_now now[] = {
        {"starling_router_store_build_bytes", "Memory of friend lists that are being built, and of queued records",
         (double)lists.build},
        {"starling_router_store_memtable_bytes", "Memory of RocksDB's memtables", (double)usage.memtables},
        {"starling_router_store_cache_bytes", "Memory of RocksDB's block cache", (double)usage.block_cache},
        {"starling_router_store_reader_bytes", "Memory of RocksDB's table readers", (double)usage.table_readers},
        {"starling_router_store_file_bytes", "Size of RocksDB's tables on disk", (double)usage.sst_files},
        {"starling_router_present_users", "Users in presence", (double)presence_count(router->presence)},
        {"starling_router_presence_bytes", "Memory of presence", (double)presence_bytes(router->presence)},
        {"starling_router_outbox_bytes", "Memory of the outbox", (double)deliver_bytes(router->outbox)},
    };
    struct metrics *m = service_metrics(router->service);
    metrics_counter(m, READS, READS_HELP, "result=\"hit\"")->value = (double)usage.cache_hits;
    metrics_counter(m, READS, READS_HELP, "result=\"miss\"")->value = (double)usage.cache_misses;
    metrics_set(m, now, ARRAY_SIZE(now));
}

/* ---- beginning and end ---- */

/* All that needs the friend lists. */
static int start_parts(struct router *router, struct error *error) {
    uv_loop_t *loop = service_loop(router->service);
    int code = router_make_parts(router, error);
    if (code) return code;
    router->second = loop_timer_new(loop, SECOND_MS, SECOND_MS, each_second, router);
    router->tenth = loop_timer_new(loop, TENTH_MS, TENTH_MS, each_tenth, router);
    metrics_on_collect(service_metrics(router->service), collect, router);
    router->started = true;
    return 0;
}

static void graph_opened(void *context, int code, const struct error *error) {
    struct router *router = context;
    struct error reason = *error;
    if (router->draining) {
        service_finished(router->service);
        return;
    }
    if (!code) code = start_parts(router, &reason);
    if (code) router_failed(router, "could not start", &reason);
}

static void router_free(void *state) {
    struct router *router = state;
    if (!router) return;
    loop_timer_free(router->second);
    loop_timer_free(router->tenth);
    router_free_parts(router);
    checkpoints_free(router->checkpoints);
    graph_close(router->graph);
    free(router->path);
    free(router);
}

static int router_check(const struct service_settings *common, struct error *error) {
    if (!*common->peer_token)
        return error_set(error, -EINVAL, "peer.token must be set: strangers' delays follow from it");
    return 0;
}

static int router_start(struct service *service, const struct topics_shape *shape, void **state, struct error *error) {
    struct router *router = MEM_NEW(&(struct router){
        .service = service,
        .common = service_settings(service),
        .settings = ROUTER_SECTION.values,
        .owning = OWNER_SECTION.values,
        .partitions = shape->partitions[TOPIC_SPACE_USERS],
        .routes = shape->partitions[TOPIC_SPACE_ROUTES],
        .path = mem_format("%s/friends", service_settings(service)->data_dir),
    });
    router->inactive_ms = router->common->inactive_after_s * SECOND_MS;
    router->rounded = grid_of((int)router->settings->rounded_precision);
    int code = open_store(router, error);
    if (code == 0) code = start_parts(router, error);
    if (code < 0) {
        router_free(router);
        return code;
    }
    *state = router;
    return 0;
}

static void router_drain(void *state) {
    struct router *router = state;
    router->draining = true;
    if (router->started) {
        warmup_stop(router->warmup);
        tasks_drain(router->tasks);
        return;
    }
    checkpoints_stop(router->checkpoints);
    if (!checkpoints_busy(router->checkpoints)) service_finished(router->service);
}

static bool router_busy(void *state) {
    struct router *router = state;
    router->draining = true;
    bool busy = checkpoints_busy(router->checkpoints);
    if (!router->started) return busy;
    warmup_stop(router->warmup);
    return tasks_busy(router->tasks) || decider_busy(commands_decider(router->commands)) || busy;
}

static void router_peer(void *state, struct http_request *request) {
    struct router *router = state;
    if (!router->started)
        http_problem(request, 503, "starting", "this process is opening its friend lists", 1);
    else if (!owner_joined(tasks_owner(router->tasks)))
        http_problem(request, 503, "starting", "this process has not joined its group yet", 1);
    else
        peer_handle(router->peer, request);
}

const struct service_definition ROUTER_SERVICE = {
    .name = "starling-router",
    .ops_listen = "127.0.0.1:9120",
    .peer_listen = "127.0.0.1:9220",
    .section = &ROUTER_SECTION,
    .more_sections = OWNER_SECTIONS,
    .uses = &PROGRAM_ROUTER.uses,
    .conditions = CONDITIONS,
    .check = router_check,
    .start = router_start,
    .drain = router_drain,
    .busy = router_busy,
    .free = router_free,
    .peer = router_peer,
};
