#include "router/router.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "router/identity.h"
#include "router/state.h"

enum {
    SECOND_MS = 1000,
    TENTH_MS = 100,
    HOUR_MS = 3600000,
    SWEEP_SLOTS = 500000, /* a second: ten million slots in twenty */
    DRAIN_TENTHS = 100
};

static const char *const CONDITIONS[] = {"warm", "assigned", "restored", NULL};

struct join_context router_join_context(const struct router *router) {
    return (struct join_context){
        .presence = router->presence,
        .now = timeline_now(router->timeline),
        .inactive_ms = router->common->inactive_after_s * 1000,
        .radius_m = router->common->radius_m,
        .warm = router->warm,
        .digests = router->warm && !router->lagging,
    };
}

void router_undecodable(struct router *router, const struct kafka_record *record, const char *reason) {
    router->metrics.undecodable->value++;
    int code = kafka_producer_send_dead(router->producer, record, reason);
    log_warn(router->log, code ? "a record cannot be read" : "a record cannot be read and went to the dead letters",
             LOG_TEXT("topic", record->topic->name), LOG_INT("partition", record->partition),
             LOG_INT("offset", record->offset), LOG_TEXT("reason", reason));
}

void router_store_failed(struct router *router, const struct error *error) {
    log_error(router->log, "the store of friend lists failed", LOG_TEXT("reason", error->text));
    service_fail(router->service, "the store of friend lists failed");
}

/* ---- the parts' callbacks ---- */

static void friends_changed(void *context, int64_t user, int64_t other, bool made) {
    struct router *router = context;
    (made ? router->metrics.made : router->metrics.parted)->value++;
    if (made) {
        reports_befriended(router, user, other);
    } else {
        excess_parted(router->excess, user, other);
        reports_parted(router, user, other);
    }
}

static void friends_exceeded(void *context, int32_t partition, int64_t user, int64_t other, int64_t since,
                             int64_t offset) {
    struct router *router = context;
    excess_notice(router->excess, partition, user, other, since, offset);
}

static void commands_done(void *context) {
    struct router *router = context;
    ownership_progress(router->ownership);
    peer_handled(router->peer);
}

static void commands_lost(void *context) {
    struct router *router = context;
    if (router->ownership) ownership_reset_commands(router->ownership);
}

static void first_reports_read(struct router *router) {
    struct error error;
    if (!ownership_new(router, &router->ownership, &error)) return;
    log_error(router->log, "the group cannot be joined", LOG_TEXT("reason", error.text));
    service_fail(router->service, "the group cannot be joined");
}

/* Presence is read last, so that it is fresh when the group's partitions are taken over. */
static void prepared(struct router *router) {
    struct error error;
    if (!warmup_new(router, first_reports_read, &router->warmup, &error)) return;
    log_error(router->log, "presence cannot be read", LOG_TEXT("reason", error.text));
    service_fail(router->service, "presence cannot be read");
}

/* ---- timers ---- */

static void collect(void *context) {
    struct router *router = context;
    struct graph_usage graph = graph_usage(router->graph);
    struct store_usage usage = graph.store;
    router->metrics.store_build->value = (double)graph.build;
    router->metrics.store_hits->value = (double)usage.cache_hits;
    router->metrics.store_misses->value = (double)usage.cache_misses;
    router->metrics.present->value = (double)presence_count(router->presence);
    router->metrics.presence_bytes->value = (double)presence_bytes(router->presence);
    router->metrics.outbox_bytes->value = (double)outbox_bytes(router->outbox);
    router->metrics.store_memtables->value = (double)usage.memtables;
    router->metrics.store_cache->value = (double)usage.block_cache;
    router->metrics.store_readers->value = (double)usage.table_readers;
    router->metrics.store_files->value = (double)usage.sst_files;
}

static bool workers_busy(const struct router *router) {
    return ownership_busy(router->ownership) || warmup_busy(router->warmup) || commands_busy(router->commands) ||
           relations_busy(router->relations) || standby_busy(router->standby) || checkpoints_busy(router->checkpoints);
}

/* Nothing is left to do, or it has taken too long. */
static void drain_on(struct router *router) {
    bool settled = !router->ownership || ownership_settled(router->ownership);
    if (workers_busy(router)) return; // they must come back whatever it takes
    if (!settled && ++router->drain_tenths < DRAIN_TENTHS) return;
    if (!settled) log_warn(router->log, "ending with deliveries that are not acknowledged");
    if (router->hands_over && !ownership_leave(router->ownership) && ++router->drain_tenths < DRAIN_TENTHS) return;
    service_finished(router->service);
}

/* A static member that hands over serves until the moment is good. */
static bool may_stop(struct router *router) {
    if (!router->ownership || !*router->common->group_instance_id || !router->settings->stop_hands_over) return true;
    enum standby_end end = standby_end(router->standby);
    router->hands_over = end == STANDBY_HAND_OVER && ownership_assigned(router->ownership);
    return end != STANDBY_WAIT || ++router->wait_tenths >= DRAIN_TENTHS;
}

static void stop_input(struct router *router) {
    router->stopped = true;
    commands_stop(router->commands);
    if (router->ownership) ownership_stop(router->ownership);
}

static void each_second(void *context) {
    struct router *router = context;
    bool stream = router->common->clock == SERVICE_CLOCK_STREAM;
    timeline_tick(router->timeline);
    int64_t now = timeline_now(router->timeline);
    presence_sweep(router->presence, now - 2 * router->common->inactive_after_s * 1000, SWEEP_SLOTS);
    if (router->ownership) {
        outbox_set_stream_time(router->outbox, timeline_stream(router->timeline));
        if (stream && !outbox_blocked(router->outbox)) outbox_beat(router->outbox);
        ownership_second(router->ownership);
        bool whole =
            router->metrics.owned->value > 0 && router->metrics.owned->value == router->metrics.restored->value;
        checkpoints_second(router->checkpoints, whole && !router->draining, clock_wall_ms());
    }
    relations_second(router->relations);
    standby_measure(router);
}

static void each_tenth(void *context) {
    struct router *router = context;
    if (router->ownership) {
        ownership_progress(router->ownership);
        ownership_measure(router->ownership);
    }
    standby_progress(router->standby);
    peer_handled(router->peer);
    if (!router->draining) return;
    if (!router->stopped && may_stop(router)) stop_input(router);
    if (!router->stopped) return;
    if (router->ownership) ownership_second(router->ownership);
    drain_on(router);
}

static void retry_sending(void *context) {
    struct router *router = context;
    if (!outbox_retry(router->outbox)) return;
    loop_timer_again(router->retry, SECOND_MS, 0);
    if (router->ownership) ownership_hold(router->ownership);
}

/* ---- the service ---- */

static void graph_opened(void *context, int code, struct graph *graph, struct error *error);

/* 1: it is being copied, and graph_opened will be called. */
static int open_graph(struct router *router, struct error *error) {
    const struct router_settings *settings = router->settings;
    char *path = mem_format("%s/friends", router->common->data_dir);
    struct graph_options options = {
        .path = path,
        .partitions = router->partitions,
        .cap = (size_t)settings->friends_cap,
        .max_age_ms = settings->friends_rebuild_after_h * HOUR_MS,
        .memory_bytes = (size_t)settings->store_memory_mb << 20,
        .context = router,
        .on_change = friends_changed,
        .on_excess = friends_exceeded,
    };
    struct checkpoints_options checkpoints = {
        .loop = router->loop,
        .log = router->log,
        .metrics = &router->metrics,
        .folder = settings->checkpoint_dir,
        .every_ms = settings->checkpoint_every_s * SECOND_MS,
        .keep = (size_t)settings->checkpoint_keep,
        .context = router,
        .on_opened = graph_opened,
    };
    router->checkpoints = checkpoints_new(&checkpoints);
    int code = checkpoints_open_graph(router->checkpoints, &options, &router->graph, error);
    free(path);
    return code;
}

static int open_commands(struct router *router, struct error *error) {
    char *file = mem_format("%s/identity", router->common->data_dir), *name = NULL, *id = NULL;
    int code = identity_load(router->common->group_instance_id, file, &name, error);
    if (!code) {
        id = mem_format("%s%s-%s", router->kafka->prefix, router->settings->group_id, name);
        struct commands_options options = {
            .loop = router->loop,
            .settings = router->kafka,
            .log = router->log,
            .graph = router->graph,
            .metrics = &router->metrics,
            .transactional_id = id,
            .partitions = router->partitions,
            .batch = (size_t)router->settings->commands_batch,
            .cap = (size_t)router->settings->friends_cap,
            .context = router,
            .on_handled = commands_done,
            .on_reset = commands_lost,
        };
        code = commands_new(&options, &router->commands, error);
    }
    free(file);
    free(name);
    free(id);
    return code;
}

/* All that needs the friend lists. */
static int start_on(struct router *router, struct error *error) {
    struct outbox_options outbox = {
        .routes = router->routes,
        .flush_bytes = (size_t)router->settings->outbox_flush_bytes,
        .flush_us = router->settings->outbox_flush_ms * 1000,
        .context = router,
        .send = sending_batch,
    };
    router->outbox = outbox_new(&outbox);
    router->retry = loop_timer_new(router->loop, SECOND_MS, 0, retry_sending, router);
    int code = sending_start(router, error);
    if (!code) code = open_commands(router, error);
    if (!code) code = relations_new(router, &router->relations, error);
    if (!code && router->settings->standby_replicas)
        code = standby_new(router, prepared, &router->standby, error);
    else if (!code)
        code = warmup_new(router, first_reports_read, &router->warmup, error);
    if (code) return code;
    router->second = loop_timer_new(router->loop, SECOND_MS, SECOND_MS, each_second, router);
    router->tenth = loop_timer_new(router->loop, TENTH_MS, TENTH_MS, each_tenth, router);
    metrics_on_collect(service_metrics(router->service), collect, router);
    router->started = true;
    return 0;
}

static void graph_opened(void *context, int code, struct graph *graph, struct error *error) {
    struct router *router = context;
    router->graph = graph;
    if (router->draining) {
        service_finished(router->service);
        return;
    }
    if (!code) code = start_on(router, error);
    if (!code) return;
    log_error(router->log, "could not start", LOG_TEXT("reason", error->text));
    service_fail(router->service, "could not start");
}

static void router_free(void *state) {
    struct router *router = state;
    if (!router) return;
    peer_free(router->peer);
    loop_timer_free(router->second);
    loop_timer_free(router->tenth);
    loop_timer_free(router->retry);
    standby_free(router->standby);
    warmup_free(router->warmup);
    ownership_free(router->ownership);
    router->ownership = NULL;
    relations_free(router->relations);
    commands_free(router->commands);
    kafka_producer_free(router->producer, 0); // its last reports go to the outbox, consents and excess
    checkpoints_free(router->checkpoints);
    graph_close(router->graph);
    outbox_free(router->outbox);
    consents_free(router->consents);
    overload_free(router->overload);
    excess_free(router->excess);
    timeline_free(router->timeline);
    presence_free(router->presence);
    codec_free(router->codec);
    join_result_free(&router->result);
    friend_list_free(&router->friends);
    buffer_free(&router->value);
    standby_metrics_free(&router->members);
    free(router->parts);
    free(router);
}

static int router_start(struct service *service, const struct topics_shape *shape, void **state, struct error *error) {
    struct router *router = mem_alloc(sizeof *router);
    const struct router_settings *settings = ROUTER_SECTION.values;
    const struct service_settings *common = service_settings(service);
    uv_loop_t *loop = service_loop(service);
    *router = (struct router){
        .service = service,
        .loop = loop,
        .log = service_log(service),
        .common = common,
        .settings = settings,
        .kafka = service_kafka(service),
        .partitions = shape->partitions[TOPIC_SPACE_USERS],
        .routes = shape->partitions[TOPIC_SPACE_ROUTES],
        .presence = presence_new(),
        .timeline = timeline_new(common->clock == SERVICE_CLOCK_STREAM, shape->partitions[TOPIC_SPACE_USERS],
                                 settings->clock_wall_max_ahead_s * 1000, settings->clock_stream_max_jump_s * 1000),
        .consents = consents_new(shape->partitions[TOPIC_SPACE_USERS]),
        .excess = excess_new(),
        .codec = codec_new(),
        .parts = mem_zero((size_t)shape->partitions[TOPIC_SPACE_USERS], sizeof *router->parts),
        .lagging = true,
    };
    router->overload = overload_new(router);
    join_result_init(&router->result);
    router_metrics_init(&router->metrics, service_metrics(service));
    standby_metrics_init(&router->members, service_metrics(service), router->partitions);
    router->peer = peer_new(router);
    int code = open_graph(router, error);
    if (code == 0) code = start_on(router, error);
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
        if (may_stop(router)) stop_input(router);
        return;
    }
    checkpoints_stop(router->checkpoints);
    if (!checkpoints_busy(router->checkpoints)) service_finished(router->service);
}

static bool router_busy(void *state) {
    struct router *router = state;
    router->draining = true;
    if (!router->started) return checkpoints_busy(router->checkpoints);
    if (!router->stopped) stop_input(router);
    return workers_busy(router);
}

static void router_peer(void *state, struct http_request *request) {
    struct router *router = state;
    if (router->ownership)
        peer_handle(router->peer, request);
    else
        http_problem(request, 503, "starting", "this process has not joined its group yet", 1);
}

static const struct topic *const NEEDED[] = {&TOPIC_LOCATIONS, &TOPIC_FRIEND_COMMANDS, &TOPIC_FRIENDSHIPS,
                                             &TOPIC_SHARING,   &TOPIC_DELIVERIES,      &TOPIC_COMMAND_OFFSETS};
static const struct topic_list TOPICS = {NEEDED, ARRAY_SIZE(NEEDED)};

const struct service_definition ROUTER_SERVICE = {
    .name = "starling-router",
    .ops_listen = "127.0.0.1:9120",
    .peer_listen = "127.0.0.1:9220",
    .section = &ROUTER_SECTION,
    .topics = &TOPICS,
    .conditions = CONDITIONS,
    .start = router_start,
    .drain = router_drain,
    .busy = router_busy,
    .free = router_free,
    .peer = router_peer,
};
