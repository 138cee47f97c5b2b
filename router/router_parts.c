/* Makes the parts of a router, connects them, and takes them apart. */
#include <stdlib.h>

#include "base/clock.h"
#include "decider/identity.h"
#include "event/topics.h"
#include "router/router_private.h"

enum {
    SECOND_MS = 1000,
    STATE_BATCH =
        4000, /* records of state taken in one go: more are cheaper to apply, and reports wait so long (30 ms) */
    QUEUED_BATCHES = 10 /* transactions' worth of commands that may be queued before their reading is paused */
};

/* ---- calls between the parts ---- */

static void store_failed(void *context, const struct error *error) {
    router_failed(context, "the store of friend lists failed", error);
}

static void batch_told(void *context, uint64_t epoch, bool stored) {
    struct router *router = context;
    if (stored)
        epochs_acknowledge(router->epochs, epoch);
    else if (router->tasks && epoch >= epochs_settled(router->epochs))
        tasks_effects_lost(router->tasks);
}

static void leave_told(void *context, uint64_t ticket, bool stored) {
    if (!opting_acknowledge(((struct router *)context)->opting, ticket, stored)) batch_told(context, ticket, stored);
}

static void remove_told(void *context, uint64_t ticket, bool stored) {
    excess_acknowledge(((struct router *)context)->excess, ticket, stored, clock_wall_ms());
}

static bool owns(void *context, int32_t partition) {
    return !owner_stands_by(tasks_owner(((struct router *)context)->tasks), partition);
}

/* ---- the parts ---- */

static int64_t inactive_ms(const struct router *router) { return router->common->inactive_after_s * SECOND_MS; }

static struct grid rounded(const struct router *router) { return grid_of((int)router->settings->rounded_precision); }

static void make_basics(struct router *router) {
    const struct router_settings *settings = router->settings;
    router_metrics_init(&router->metrics, service_metrics(router->service));
    router->presence = presence_new();
    router->codec = codec_new();
    router->epochs = epochs_new();
    router->clock =
        report_clock_new(router->common->clock == SERVICE_CLOCK_STREAM, router->partitions,
                         settings->clock_wall_max_ahead_s * SECOND_MS, settings->clock_stream_max_jump_s * SECOND_MS);
    router->tasks = tasks_new(service_loop(router->service), service_log(router->service), router->partitions,
                              &ROUTER_TOPOLOGY, router);
}

static int make_output(struct router *router, struct error *error) {
    int code = record_collector_new(
        &(struct record_collector_options){.loop = service_loop(router->service),
                                           .kafka = service_kafka(router->service),
                                           .log = service_log(router->service),
                                           .metrics = &router->metrics,
                                           .registry = service_metrics(router->service),
                                           .queue_bytes = (size_t)router->owning->outbox_queue_mb << 20,
                                           .context = router,
                                           .on_batch = batch_told,
                                           .on_leave = leave_told,
                                           .on_remove = remove_told,
                                           .failed = router_failed},
        &router->collector, error);
    if (code) return code;
    router->outbox = deliver_new(&(struct deliver_options){.destinations = router->routes,
                                                           .flush_bytes = (size_t)router->owning->outbox_flush_bytes,
                                                           .flush_us = router->owning->outbox_flush_ms * SECOND_MS,
                                                           .epochs = router->epochs,
                                                           .tracer = service_kafka(router->service)->tracer,
                                                           .context = router->collector,
                                                           .send = record_collector_batch});
    return notifying_new(&(struct notifying_options){.loop = service_loop(router->service),
                                                     .log = service_log(router->service),
                                                     .registry = service_metrics(router->service),
                                                     .kafka = service_kafka(router->service),
                                                     .settings = router->settings,
                                                     .partitions = router->partitions,
                                                     .clock = router->clock},
                         &router->notifying, error);
}

static int make_discover(struct router *router, struct error *error) {
    return discover_new(&(struct discover_options){.loop = service_loop(router->service),
                                                   .log = service_log(router->service),
                                                   .registry = service_metrics(router->service),
                                                   .metrics = &router->metrics,
                                                   .kafka = service_kafka(router->service),
                                                   .settings = router->settings,
                                                   .partitions = router->partitions,
                                                   .inactive_ms = inactive_ms(router),
                                                   .secret = router->common->peer_token,
                                                   .presence = router->presence,
                                                   .clock = router->clock,
                                                   .graph = router->graph,
                                                   .context = router,
                                                   .ready = router_warm_up},
                        &router->discover, error);
}

static int make_commands(struct router *router, struct error *error) {
    char *id;
    int code = identity_transactional(service_kafka(router->service)->prefix, router->settings->group_id,
                                      router->common->group_instance_id, router->common->data_dir, &id, error);
    if (code) return code;
    router->commands = commands_new(&(struct commands_options){
        .loop = service_loop(router->service),
        .settings = service_kafka(router->service),
        .log = service_log(router->service),
        .registry = service_metrics(router->service),
        .graph = router->graph,
        .metrics = &router->metrics,
        .transactional_id = id,
        .partitions = router->partitions,
        .batch = (size_t)router->settings->commands_batch,
        .cap = (size_t)router->settings->friends_cap,
        .tasks = router->tasks,
    });
    free(id);
    return 0;
}

static void make_state(struct router *router) {
    router->excess = excess_new();
    router->cap = cap_new(&(struct cap_options){
        .log = service_log(router->service),
        .metrics = &router->metrics,
        .graph = router->graph,
        .collector = router->collector,
        .excess = router->excess,
        .friends = (size_t)router->settings->friends_cap,
    });
    router->friends = router_friends_new(router);
    router->opting = opting_new(&(struct opting_options){
        .partitions = router->partitions,
        .inactive_ms = inactive_ms(router),
        .presence = router->presence,
        .clock = router->clock,
        .collector = router->collector,
        .epochs = router->epochs,
        .context = router,
        .owns = owns,
    });
}

static void make_reports(struct router *router) {
    router->reports = reports_new(&(struct reports_options){
        .loop = service_loop(router->service),
        .metrics = &router->metrics,
        .partitions = router->partitions,
        .routes = router->routes,
        .inactive_ms = inactive_ms(router),
        .radius_m = router->common->radius_m,
        .rounded = rounded(router),
        .max_lag_s = router->settings->max_lag_s,
        .joins_rate = router->settings->joins_rate,
        .joins_burst = router->settings->joins_burst,
        .registry = service_metrics(router->service),
        .input = ROUTER_LOCATIONS,
        .tracer = service_kafka(router->service)->tracer,
        .presence = router->presence,
        .clock = router->clock,
        .graph = router->graph,
        .opting = router->opting,
        .notifying = router->notifying,
        .discover = router->discover,
        .outbox = router->outbox,
        .collector = router->collector,
        .tasks = router->tasks,
        .context = router,
        .failed = store_failed,
    });
}

static int start_tasks(struct router *router, struct error *error) {
    const struct owner_options owner = {
        .loop = service_loop(router->service),
        .log = service_log(router->service),
        .kafka = service_kafka(router->service),
        .metrics = service_metrics(router->service),
        .prefix = "starling_router",
        .group = router->settings->group_id,
        .instance_id = router->common->group_instance_id,
        .partitions = router->partitions,
        .offsets = &TOPIC_COMMAND_OFFSETS,
        .leaving = &TOPIC_SHARING,
        .batch = (size_t)router->owning->batch_records,
        .state_batch = STATE_BATCH,
        .standbys = (size_t)router->owning->standby_replicas,
        .hands_over = router->owning->stop_hands_over,
        .queue_max = (size_t)router->settings->commands_batch * QUEUED_BATCHES,
        .epochs = router->epochs,
        .decider = commands_decider(router->commands),
    };
    return router_start_tasks(router, &owner, error);
}

static void make_answers(struct router *router) {
    router->near = near_pages_new(&(struct near_pages_options){
        .partitions = router->partitions,
        .inactive_ms = inactive_ms(router),
        .radius_m = router->common->radius_m,
        .rounded = rounded(router),
        .owner = tasks_owner(router->tasks),
        .graph = router->graph,
        .presence = router->presence,
        .clock = router->clock,
        .reports = router->reports,
    });
    router->peer = peer_new(&(struct peer_options){
        .partitions = router->partitions,
        .owner = tasks_owner(router->tasks),
        .graph = router->graph,
        .commands = router->commands,
        .near = router->near,
        .presence = router->presence,
        .clock = router->clock,
        .opting = router->opting,
        .reports = router->reports,
        .inactive_ms = inactive_ms(router),
        .radius_m = router->common->radius_m,
        .rounded = rounded(router),
        .discover = router->discover,
    });
}

int router_make_parts(struct router *router, struct error *error) {
    make_basics(router);
    int code = make_output(router, error);
    if (!code) code = make_discover(router, error);
    if (!code) code = make_commands(router, error);
    if (code) return code;
    make_state(router);
    make_reports(router);
    code = start_tasks(router, error);
    if (!code) make_answers(router);
    return code;
}

void router_free_parts(struct router *router) {
    warmup_free(router->warmup);
    tasks_free(router->tasks);
    router->tasks = NULL; // the outbox may still lose what was sent
    commands_free(router->commands);
    peer_free(router->peer);
    near_pages_free(router->near);
    record_collector_free(router->collector); // its last reports go to the outbox, opting and excess
    list_store_free(router->friends);
    reports_free(router->reports);
    discover_free(router->discover);
    notifying_free(router->notifying);
    opting_free(router->opting);
    cap_free(router->cap);
    excess_free(router->excess);
    deliver_free(router->outbox);
    epochs_free(router->epochs);
    codec_free(router->codec);
    report_clock_free(router->clock);
    presence_free(router->presence);
}
