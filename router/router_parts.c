/* Makes the parts of a router, connects them, and takes them apart. */
#include "base/clock.h"
#include "event/topics.h"
#include "router/router_private.h"

enum {
    SECOND_MS = 1000,
    STATE_BATCH =
        4000, /* records of state taken in one go: more are cheaper to apply, and reports wait so long (30 ms) */
    DETAILED = 1 << 16, /* users, of whom details are kept */
    QUEUED_BATCHES = 10 /* transactions' worth of commands that may be queued before their reading is paused */
};

/* ---- calls between the parts ---- */

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

static enum opting_links links_of(void *context, int32_t partition, int64_t user) {
    struct router *router = context;
    struct link_row row;
    if (!owner_live(tasks_owner(router->tasks), partition)) return OPTING_LINKS_UNKNOWN;
    commands_links(router->commands, partition, user, &row);
    return row.count ? OPTING_LINKS : OPTING_NO_LINKS;
}

/* ---- the parts ---- */

static void make_basics(struct router *router) {
    const struct router_settings *settings = router->settings;
    router_metrics_init(&router->metrics, service_metrics(router->service));
    router->presence = presence_new(router->inactive_ms);
    router->details = kept_details_new(DETAILED);
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
                                                           .gather_most_us = DELIVER_GATHER_US,
                                                           .epochs = router->epochs,
                                                           .tracer = service_kafka(router->service)->tracer,
                                                           .context = router->collector,
                                                           .send = record_collector_batch});
    router->choices = choices_new(router);
    return notifying_new(router, &router->notifying, error);
}

static int make_discover(struct router *router, struct error *error) {
    return discover_new(&(struct discover_options){.loop = service_loop(router->service),
                                                   .log = service_log(router->service),
                                                   .registry = service_metrics(router->service),
                                                   .metrics = &router->metrics,
                                                   .kafka = service_kafka(router->service),
                                                   .settings = router->settings,
                                                   .partitions = router->partitions,
                                                   .inactive_ms = router->inactive_ms,
                                                   .secret = router->common->peer_token,
                                                   .presence = router->presence,
                                                   .clock = router->clock,
                                                   .graph = router->graph,
                                                   .context = router,
                                                   .ready = router_warm_up},
                        &router->discover, error);
}

static void make_state(struct router *router) {
    router->excess = excess_new();
    router->cap = cap_new(router);
    router->friends = router_friends_new(router);
    router->opting = opting_new(&(struct opting_options){
        .partitions = router->partitions,
        .inactive_ms = router->inactive_ms,
        .presence = router->presence,
        .clock = router->clock,
        .collector = router->collector,
        .epochs = router->epochs,
        .context = router,
        .owns = owns,
        .links = links_of,
    });
    router->links = links_new(router->partitions);
    router->places = telling_places_new(router, router_failed);
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

int router_make_parts(struct router *router, struct error *error) {
    make_basics(router);
    int code = make_output(router, error);
    if (!code) code = make_discover(router, error);
    if (!code) code = commands_new(router, &router->commands, error);
    if (code) return code;
    make_state(router);
    router->reports = reports_new(router);
    code = start_tasks(router, error);
    if (code) return code;
    router->near = near_pages_new(router);
    router->link_answers = link_answers_new(router);
    router->peer = peer_new(router);
    return 0;
}

void router_free_parts(struct router *router) {
    warmup_free(router->warmup);
    tasks_free(router->tasks);
    router->tasks = NULL; // the outbox may still lose what was sent
    commands_free(router->commands);
    peer_free(router->peer);
    link_answers_free(router->link_answers);
    near_pages_free(router->near);
    record_collector_free(router->collector); // its last reports go to the outbox, opting and excess
    list_store_free(router->friends);
    reports_free(router->reports);
    discover_free(router->discover);
    notifying_free(router->notifying);
    telling_places_free(router->places);
    choices_free(router->choices);
    opting_free(router->opting);
    links_free(router->links);
    cap_free(router->cap);
    excess_free(router->excess);
    deliver_free(router->outbox);
    epochs_free(router->epochs);
    codec_free(router->codec);
    report_clock_free(router->clock);
    presence_free(router->presence);
    kept_details_free(router->details);
}
