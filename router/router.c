#include "router/router.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "decider/identity.h"
#include "event/programs.h"
#include "owner/checkpoints.h"
#include "owner/settings.h"
#include "router/joiner.h"
#include "router/notifying.h"

enum { SECOND_MS = 1000, TENTH_MS = 100, HOUR_MS = 3600000 };

static const char *const CONDITIONS[] = {"warm", "assigned", "restored", NULL};

/* The daemon: opens the store of friend lists, perhaps from a checkpoint, and has nearby run on it. */
struct router {
    struct service *service;
    const struct router_settings *settings;
    int32_t partitions, routes;
    char *path; /* of the store */
    struct checkpoints *checkpoints;
    struct graph *graph;
    struct joiner *joiner; /* NULL while the store is being opened */
    struct loop_timer *second, *tenth;
    bool draining;
};

/* ---- the store ---- */

static void friends_changed(void *context, const struct graph_change *change) {
    struct router *router = context;
    joiner_friends_changed(router->joiner, change);
}

static void friends_exceeded(void *context, int32_t partition, int64_t user, int64_t other, int64_t since,
                             int64_t offset) {
    struct router *router = context;
    joiner_friends_exceeded(router->joiner, partition, user, other, since, offset);
}

static void friends_damaged(void *context, int32_t partition, const struct error *error) {
    struct router *router = context;
    joiner_friends_damaged(router->joiner, partition, error);
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
    struct router *router = context;
    return graph_checkpoint(router->graph, path, error);
}

static void graph_opened(void *context, int code, const struct error *error);

/* 1: it is being copied, and graph_opened will be called. */
static int open_store(struct router *router, struct error *error) {
    const struct owner_settings *settings = OWNER_SECTION.values;
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

/* ---- nearby ---- */

static void ready(void *context, const char *condition, bool is) {
    struct router *router = context;
    service_ready(router->service, condition, is);
}

static void drained(void *context) {
    struct router *router = context;
    service_finished(router->service);
}

static void failed(void *context, const char *doing, const struct error *error) {
    struct router *router = context;
    log_error(service_log(router->service), doing, LOG_TEXT("reason", error->text));
    service_fail(router->service, doing);
}

static void collect(void *context) {
    struct router *router = context;
    joiner_collect(router->joiner);
}

static void each_second(void *context) {
    struct router *router = context;
    joiner_second(router->joiner);
    checkpoints_second(router->checkpoints, joiner_whole(router->joiner), clock_wall_ms());
}

static void each_tenth(void *context) {
    struct router *router = context;
    joiner_tenth(router->joiner);
}

/* The transactions' name of this process. The caller frees *id. */
static int load_identity(struct router *router, char **id, struct error *error) {
    const struct service_settings *common = service_settings(router->service);
    return identity_transactional(service_kafka(router->service)->prefix, router->settings->group_id,
                                  common->group_instance_id, common->data_dir, id, error);
}

/* All that needs the friend lists. */
static int start_joiner(struct router *router, struct error *error) {
    char *id = NULL;
    int code = load_identity(router, &id, error);
    if (code) return code;
    struct joiner_options options = {
        .loop = service_loop(router->service),
        .log = service_log(router->service),
        .registry = service_metrics(router->service),
        .common = service_settings(router->service),
        .settings = router->settings,
        .owning = OWNER_SECTION.values,
        .kafka = service_kafka(router->service),
        .transactional_id = id,
        .partitions = router->partitions,
        .routes = router->routes,
        .graph = router->graph,
        .context = router,
        .ready = ready,
        .drained = drained,
        .failed = failed,
    };
    code = joiner_new(&options, &router->joiner, error);
    free(id);
    if (code) { // half-built, and nothing of it runs yet
        joiner_free(router->joiner);
        router->joiner = NULL;
        return code;
    }
    router->second = loop_timer_new(options.loop, SECOND_MS, SECOND_MS, each_second, router);
    router->tenth = loop_timer_new(options.loop, TENTH_MS, TENTH_MS, each_tenth, router);
    metrics_on_collect(options.registry, collect, router);
    return 0;
}

static void graph_opened(void *context, int code, const struct error *error) {
    struct router *router = context;
    struct error reason = *error;
    if (router->draining) {
        service_finished(router->service);
        return;
    }
    if (!code) code = start_joiner(router, &reason);
    if (code) failed(router, "could not start", &reason);
}

/* ---- the service ---- */

static void router_free(void *state) {
    struct router *router = state;
    if (!router) return;
    loop_timer_free(router->second);
    loop_timer_free(router->tenth);
    joiner_free(router->joiner);
    checkpoints_free(router->checkpoints);
    graph_close(router->graph);
    free(router->path);
    free(router);
}

static int router_check(const struct service_settings *common, struct error *error) {
    if (!*common->peer_token)
        return error_set(error, -EINVAL, "peer.token must be set: strangers' delays follow from it");
    return notifying_check(ROUTER_SECTION.values, error);
}

static int router_start(struct service *service, const struct topics_shape *shape, void **state, struct error *error) {
    struct router *router = mem_alloc(sizeof *router);
    *router = (struct router){
        .service = service,
        .settings = ROUTER_SECTION.values,
        .partitions = shape->partitions[TOPIC_SPACE_USERS],
        .routes = shape->partitions[TOPIC_SPACE_ROUTES],
        .path = mem_format("%s/friends", service_settings(service)->data_dir),
    };
    int code = open_store(router, error);
    if (code == 0) code = start_joiner(router, error);
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
    if (router->joiner) {
        joiner_drain(router->joiner);
        return;
    }
    checkpoints_stop(router->checkpoints);
    if (!checkpoints_busy(router->checkpoints)) service_finished(router->service);
}

static bool router_busy(void *state) {
    struct router *router = state;
    router->draining = true;
    bool busy = router->joiner && joiner_busy(router->joiner);
    return checkpoints_busy(router->checkpoints) || busy;
}

static void router_peer(void *state, struct http_request *request) {
    struct router *router = state;
    if (router->joiner)
        joiner_peer(router->joiner, request);
    else
        http_problem(request, 503, "starting", "this process is opening its friend lists", 1);
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
