#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "router/discover.h"
#include "router/joiner_private.h"
#include "router/notifying.h"
#include "router/peer.h"

enum {
    SECOND_MS = 1000,
    SWEEP_SLOTS = 500000, /* a second: ten million slots in twenty */
    STATE_BATCH =
        4000, /* records of state taken in one go: more are cheaper to apply, and reports wait so long (30 ms) */
    QUEUED_BATCHES = 10 /* transactions' worth of commands that may be queued before their reading is paused */
};

void joiner_fail(struct joiner *joiner, const char *doing, const struct error *error) {
    joiner->options.failed(joiner->options.context, doing, error);
}

static void producer_failed(void *context, const char *doing, const struct error *error) {
    joiner_fail(context, doing, error);
}

static void store_failed(void *context, const struct error *error) {
    joiner_fail(context, "the store of friend lists failed", error);
}

/* ---- calls between the parts ---- */

static void commands_decided(void *context) {
    struct joiner *joiner = context;
    if (joiner->owner) owner_progress(joiner->owner);
}

static void commands_lost(void *context) {
    struct joiner *joiner = context;
    if (joiner->owner) owner_commands_lost(joiner->owner);
}

static void batch_told(void *context, uint64_t epoch, bool stored) {
    struct joiner *joiner = context;
    if (stored)
        epochs_acknowledge(joiner->epochs, epoch);
    else if (joiner->owner && epoch >= epochs_settled(joiner->epochs))
        owner_effects_lost(joiner->owner);
}

static void leave_told(void *context, uint64_t ticket, bool stored) {
    struct joiner *joiner = context;
    opting_acknowledge(joiner->opting, ticket, stored);
}

static void remove_told(void *context, uint64_t ticket, bool stored) {
    struct joiner *joiner = context;
    cap_acknowledge(joiner->cap, ticket, stored);
}

/* ---- timers ---- */

static bool sharing_current(const struct joiner *joiner) {
    for (int32_t p = 0; p < joiner->options.partitions; p++) {
        if (owner_live(joiner->owner, p) && owner_state_lag(joiner->owner, STATE_SHARING, p)) return false;
    }
    return true;
}

void joiner_second(struct joiner *joiner) {
    bool stream = joiner->common->clock == SERVICE_CLOCK_STREAM;
    report_clock_tick(joiner->clock);
    int64_t now = report_clock_now(joiner->clock);
    presence_sweep(joiner->presence, now - 2 * joiner->common->inactive_after_s * SECOND_MS, SWEEP_SLOTS);
    if (owner_joined(joiner->owner)) {
        deliver_set_stream_time(joiner->outbox, report_clock_stream(joiner->clock));
        if (stream && !deliver_blocked(joiner->outbox)) deliver_beat(joiner->outbox);
    }
    owner_second(joiner->owner);
    relations_second(joiner->relations);
    opting_second(joiner->opting, joiner->owner);
}

static void measure(struct joiner *joiner) {
    struct router_metrics *metrics = &joiner->metrics;
    reports_measure(joiner->reports, owner_lag_ms(joiner->owner));
    bool lagging = reports_lagging(joiner->reports), warm = reports_are_warm(joiner->reports);
    deliver_set_flush_us(joiner->outbox, SECOND_MS * (lagging ? joiner->settings->outbox_flush_behind_ms
                                                              : joiner->owning->outbox_flush_ms));
    metrics->digesting->value = warm && !lagging;
    metrics->caught_up->value = warm && !lagging && owner_assigned(joiner->owner) && sending_up(joiner->sending) &&
                                !deliver_blocked(joiner->outbox) && owner_commands_current(joiner->owner) &&
                                relations_current(joiner->relations) && sharing_current(joiner);
}

void joiner_tenth(struct joiner *joiner) {
    report_clock_tick(joiner->clock);
    opting_tenth(joiner->opting);
    discover_tenth(joiner->discover);
    relations_tenth(joiner->relations);
    owner_tenth(joiner->owner);
    if (owner_joined(joiner->owner)) measure(joiner);
    near_pages_tenth(joiner->near);
    joiner->options.ready(joiner->options.context, "assigned", owner_was_assigned(joiner->owner));
    joiner->options.ready(joiner->options.context, "restored", owner_ready(joiner->owner));
}

void joiner_collect(struct joiner *joiner) {
    struct router_metrics *metrics = &joiner->metrics;
    struct adjacency_usage graph = graph_usage(joiner->options.graph);
    struct store_usage usage = graph.store;
    metrics->store_build->value = (double)graph.build;
    metrics->store_hits->value = (double)usage.cache_hits;
    metrics->store_misses->value = (double)usage.cache_misses;
    metrics->store_memtables->value = (double)usage.memtables;
    metrics->store_cache->value = (double)usage.block_cache;
    metrics->store_readers->value = (double)usage.table_readers;
    metrics->store_files->value = (double)usage.sst_files;
    metrics->present->value = (double)presence_count(joiner->presence);
    metrics->presence_bytes->value = (double)presence_bytes(joiner->presence);
    metrics->outbox_bytes->value = (double)deliver_bytes(joiner->outbox);
}

/* ---- calls from outside ---- */

void joiner_friends_changed(struct joiner *joiner, const struct graph_change *change) {
    if (change->made != change->was_made) (change->made ? joiner->metrics.made : joiner->metrics.parted)->value++;
    if (!change->made) cap_parted(joiner->cap, change->user, change->other);
    reports_friends_changed(joiner->reports, change);
}

void joiner_friends_exceeded(struct joiner *joiner, int32_t partition, int64_t user, int64_t other, int64_t since,
                             int64_t offset) {
    cap_notice(joiner->cap, partition, user, other, since, offset);
}

void joiner_friends_damaged(struct joiner *joiner, int32_t partition, const struct error *error) {
    relations_damaged(joiner->relations, partition, error);
}

void joiner_peer(struct joiner *joiner, struct http_request *request) {
    if (owner_joined(joiner->owner))
        peer_handle(joiner->peer, request);
    else
        http_problem(request, 503, "starting", "this process has not joined its group yet", 1);
}

bool joiner_whole(const struct joiner *joiner) { return owner_restored(joiner->owner) && !joiner->draining; }

/* ---- beginning and end ---- */

static void start_parts(struct joiner *joiner) {
    const struct joiner_options *options = &joiner->options;
    struct deliver_options outbox = {
        .destinations = options->routes,
        .flush_bytes = (size_t)joiner->owning->outbox_flush_bytes,
        .flush_us = joiner->owning->outbox_flush_ms * SECOND_MS,
        .epochs = joiner->epochs,
        .tracer = options->kafka->tracer,
        .context = joiner->sending,
        .send = sending_batch,
    };
    joiner->outbox = deliver_new(&outbox);
    struct cap_options cap = {
        .log = options->log,
        .metrics = &joiner->metrics,
        .graph = options->graph,
        .sending = joiner->sending,
        .friends = (size_t)joiner->settings->friends_cap,
    };
    joiner->cap = cap_new(&cap);
    struct opting_options opting = {
        .log = options->log,
        .partitions = options->partitions,
        .state = STATE_SHARING,
        .inactive_ms = joiner->common->inactive_after_s * SECOND_MS,
        .presence = joiner->presence,
        .clock = joiner->clock,
        .sending = joiner->sending,
    };
    joiner->opting = opting_new(&opting);
    struct relations_options relations = {
        .loop = options->loop,
        .log = options->log,
        .metrics = &joiner->metrics,
        .partitions = options->partitions,
        .state = STATE_FRIENDSHIPS,
        .graph = options->graph,
        .cap = joiner->cap,
        .decider = commands_decider(joiner->commands),
        .sending = joiner->sending,
        .context = joiner,
        .failed = store_failed,
    };
    joiner->relations = relations_new(&relations);
    struct reports_options reports = {
        .loop = options->loop,
        .metrics = &joiner->metrics,
        .partitions = options->partitions,
        .routes = options->routes,
        .inactive_ms = joiner->common->inactive_after_s * SECOND_MS,
        .radius_m = joiner->common->radius_m,
        .rounded = grid_of((int)joiner->settings->rounded_precision),
        .max_lag_s = joiner->settings->max_lag_s,
        .input = INPUT_LOCATIONS,
        .tracer = options->kafka->tracer,
        .presence = joiner->presence,
        .clock = joiner->clock,
        .graph = options->graph,
        .opting = joiner->opting,
        .notifying = joiner->notifying,
        .discover = joiner->discover,
        .outbox = joiner->outbox,
        .sending = joiner->sending,
        .context = joiner,
        .failed = store_failed,
    };
    joiner->reports = reports_new(&reports);
}

static int start_discover(struct joiner *joiner, struct error *error) {
    const struct joiner_options *options = &joiner->options;
    struct discover_options discover = {
        .loop = options->loop,
        .log = options->log,
        .registry = options->registry,
        .metrics = &joiner->metrics,
        .kafka = options->kafka,
        .settings = joiner->settings,
        .partitions = options->partitions,
        .inactive_ms = joiner->common->inactive_after_s * SECOND_MS,
        .secret = joiner->common->peer_token,
        .presence = joiner->presence,
        .clock = joiner->clock,
        .graph = options->graph,
    };
    return discover_new(&discover, &joiner->discover, error);
}

static int start_notifying(struct joiner *joiner, struct error *error) {
    const struct joiner_options *options = &joiner->options;
    struct notifying_options notifying = {
        .loop = options->loop,
        .log = options->log,
        .registry = options->registry,
        .kafka = options->kafka,
        .settings = joiner->settings,
        .partitions = options->partitions,
        .clock = joiner->clock,
    };
    return notifying_new(&notifying, &joiner->notifying, error);
}

static int start_sending(struct joiner *joiner, struct error *error) {
    struct sending_options options = {
        .loop = joiner->options.loop,
        .kafka = joiner->options.kafka,
        .log = joiner->options.log,
        .metrics = &joiner->metrics,
        .queue_bytes = (size_t)joiner->owning->outbox_queue_mb << 20,
        .context = joiner,
        .on_batch = batch_told,
        .on_leave = leave_told,
        .on_remove = remove_told,
        .failed = producer_failed,
    };
    return sending_new(&options, &joiner->sending, error);
}

static void start_commands(struct joiner *joiner) {
    struct commands_options options = {
        .loop = joiner->options.loop,
        .settings = joiner->options.kafka,
        .log = joiner->options.log,
        .registry = joiner->options.registry,
        .graph = joiner->options.graph,
        .metrics = &joiner->metrics,
        .transactional_id = joiner->options.transactional_id,
        .partitions = joiner->options.partitions,
        .batch = (size_t)joiner->settings->commands_batch,
        .cap = (size_t)joiner->settings->friends_cap,
        .context = joiner,
        .on_handled = commands_decided,
        .on_reset = commands_lost,
    };
    joiner->commands = commands_new(&options);
}

static int start_owner(struct joiner *joiner, struct error *error) {
    const struct router_settings *settings = joiner->settings;
    struct owner_options options = {
        .loop = joiner->options.loop,
        .log = joiner->options.log,
        .kafka = joiner->options.kafka,
        .metrics = joiner->options.registry,
        .prefix = "starling_router",
        .group = settings->group_id,
        .instance_id = joiner->common->group_instance_id,
        .partitions = joiner->options.partitions,
        .topics = JOINER_TOPICS,
        .topic_count = JOINER_TOPIC_COUNT,
        .offsets = &TOPIC_COMMAND_OFFSETS,
        .leaving = &TOPIC_SHARING,
        .batch = (size_t)joiner->owning->batch_records,
        .state_batch = STATE_BATCH,
        .standbys = (size_t)joiner->owning->standby_replicas,
        .hands_over = joiner->owning->stop_hands_over,
        .queue_max = (size_t)settings->commands_batch * QUEUED_BATCHES,
        .epochs = joiner->epochs,
        .decider = commands_decider(joiner->commands),
        .product = &JOINER_PRODUCT,
        .context = joiner,
    };
    return owner_new(&options, &joiner->owner, error);
}

int joiner_new(const struct joiner_options *options, struct joiner **out, struct error *error) {
    const struct router_settings *settings = options->settings;
    struct joiner *joiner = mem_alloc(sizeof *joiner);
    *joiner = (struct joiner){
        .options = *options,
        .settings = settings,
        .owning = options->owning,
        .common = options->common,
        .presence = presence_new(),
        .clock = report_clock_new(options->common->clock == SERVICE_CLOCK_STREAM, options->partitions,
                                  settings->clock_wall_max_ahead_s * SECOND_MS,
                                  settings->clock_stream_max_jump_s * SECOND_MS),
        .epochs = epochs_new(),
    };
    *out = joiner;
    router_metrics_init(&joiner->metrics, options->registry);
    int code = start_sending(joiner, error);
    if (code) return code;
    code = start_discover(joiner, error);
    if (!code) code = start_notifying(joiner, error);
    if (code) return code;
    start_commands(joiner);
    start_parts(joiner);
    code = start_owner(joiner, error);
    if (code) return code;
    relations_set_owner(joiner->relations, joiner->owner);
    reports_set_owner(joiner->reports, joiner->owner);
    struct near_pages_options near = {
        .partitions = options->partitions,
        .inactive_ms = joiner->common->inactive_after_s * SECOND_MS,
        .radius_m = joiner->common->radius_m,
        .rounded = grid_of((int)settings->rounded_precision),
        .owner = joiner->owner,
        .graph = options->graph,
        .presence = joiner->presence,
        .clock = joiner->clock,
        .reports = joiner->reports,
    };
    joiner->near = near_pages_new(&near);
    struct peer_options peer = {
        .partitions = options->partitions,
        .owner = joiner->owner,
        .graph = options->graph,
        .commands = joiner->commands,
        .near = joiner->near,
        .presence = joiner->presence,
        .clock = joiner->clock,
        .opting = joiner->opting,
        .reports = joiner->reports,
        .inactive_ms = joiner->common->inactive_after_s * SECOND_MS,
        .radius_m = joiner->common->radius_m,
        .rounded = grid_of((int)settings->rounded_precision),
        .discover = joiner->discover,
    };
    joiner->peer = peer_new(&peer);
    return owner_start(joiner->owner, error);
}

void joiner_free(struct joiner *joiner) {
    if (!joiner) return;
    warmup_free(joiner->warmup);
    owner_free(joiner->owner);
    joiner->owner = NULL;
    commands_free(joiner->commands);
    peer_free(joiner->peer);
    near_pages_free(joiner->near);
    sending_free(joiner->sending); // its last reports go to the outbox, opting and cap
    relations_free(joiner->relations);
    reports_free(joiner->reports);
    discover_free(joiner->discover);
    notifying_free(joiner->notifying);
    opting_free(joiner->opting);
    cap_free(joiner->cap);
    deliver_free(joiner->outbox);
    epochs_free(joiner->epochs);
    report_clock_free(joiner->clock);
    presence_free(joiner->presence);
    free(joiner);
}

void joiner_drain(struct joiner *joiner) {
    joiner->draining = true;
    warmup_stop(joiner->warmup);
    relations_stop(joiner->relations);
    owner_drain(joiner->owner);
}

bool joiner_busy(struct joiner *joiner) {
    joiner->draining = true;
    warmup_stop(joiner->warmup);
    relations_stop(joiner->relations);
    owner_stop(joiner->owner);
    return owner_busy(joiner->owner) || (joiner->commands && decider_busy(commands_decider(joiner->commands))) ||
           joiner_workers_busy(joiner);
}
