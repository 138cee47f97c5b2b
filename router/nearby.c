#include "router/nearby.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "owner/warmup.h"
#include "router/peer.h"
#include "router/relations.h"
#include "router/reports.h"

enum {
    SECOND_MS = 1000,
    SWEEP_SLOTS = 500000, /* a second: ten million slots in twenty */
    STATE_BATCH = 4000,   /* records of state taken in one go: more are cheaper to apply, and reports wait so long (30 ms) */
    QUEUED_BATCHES = 10   /* transactions' worth of commands that may be queued before their reading is paused */
};

/* What the owner reads; locations are its input 0. */
enum { INPUT_LOCATIONS = 0 };
enum { STATE_FRIENDSHIPS, STATE_SHARING };
static const struct owner_topic OWNED[] = {{&TOPIC_LOCATIONS, OWNER_SHARED},
                                           {&TOPIC_FRIEND_COMMANDS, OWNER_COMMAND},
                                           {&TOPIC_FRIENDSHIPS, OWNER_STATE},
                                           {&TOPIC_SHARING, OWNER_STATE}};

struct nearby {
    struct nearby_options options;
    const struct router_settings *settings;
    const struct service_settings *common;
    struct router_metrics metrics;

    struct presence *presence;
    struct report_clock *clock;
    struct epochs *epochs;
    struct deliver *outbox;
    struct sending *sending;
    struct cap *cap;
    struct opting *opting;
    struct commands *commands;
    struct relations *relations;
    struct reports *reports;
    struct warmup *warmup;
    struct owner *owner;
    struct peer *peer;
    bool draining;
};

static void fail(struct nearby *nearby, const char *doing, const struct error *error) {
    nearby->options.failed(nearby->options.context, doing, error);
}

static void store_failed(void *context, const struct error *error) {
    fail(context, "the store of friend lists failed", error);
}

/* ---- what the parts say to each other ---- */

static void commands_decided(void *context) {
    struct nearby *nearby = context;
    if (nearby->owner) owner_progress(nearby->owner);
}

static void commands_lost(void *context) {
    struct nearby *nearby = context;
    if (nearby->owner) owner_commands_lost(nearby->owner);
}

static void batch_told(void *context, uint64_t epoch, bool stored) {
    struct nearby *nearby = context;
    if (stored)
        epochs_acknowledge(nearby->epochs, epoch);
    else if (nearby->owner && epoch >= epochs_settled(nearby->epochs))
        owner_effects_lost(nearby->owner);
}

static void leave_told(void *context, uint64_t ticket, bool stored) {
    struct nearby *nearby = context;
    opting_acknowledge(nearby->opting, ticket, stored);
}

static void remove_told(void *context, uint64_t ticket, bool stored) {
    struct nearby *nearby = context;
    cap_acknowledge(nearby->cap, ticket, stored);
}

/* ---- warm-up ---- */

static void warm_records(void *context, const struct kafka_record *records, size_t count) {
    struct nearby *nearby = context;
    int64_t now_us = clock_monotonic_us();
    report_clock_tick(nearby->clock);
    for (size_t i = 0; i < count; i++) reports_handle(nearby->reports, &records[i], false, now_us);
}

static void warm_first(void *context, const int64_t *first, const int64_t *next) {
    struct nearby *nearby = context;
    struct error error;
    log_info(nearby->options.log, "presence holds the newest reports", LOG_INT("users", (int64_t)presence_count(nearby->presence)));
    for (int32_t p = 0; p < nearby->options.partitions; p++)
        owner_begin(nearby->owner, INPUT_LOCATIONS, p, first[p], next[p]);
    if (owner_join(nearby->owner, &error)) fail(nearby, "the group cannot be joined", &error);
}

static void warm_done(void *context) {
    struct nearby *nearby = context;
    reports_warm(nearby->reports);
    nearby->metrics.warm->value = 1;
    nearby->options.ready(nearby->options.context, "warm", true);
    log_info(nearby->options.log, "presence is warm", LOG_INT("users", (int64_t)presence_count(nearby->presence)));
}

/* ---- the owner's product ---- */

/* Presence is read last, so that it is fresh when the group's partitions are taken over. */
static void prepared(void *context) {
    struct nearby *nearby = context;
    struct error error;
    bool stream = nearby->common->clock == SERVICE_CLOCK_STREAM;
    struct warmup_options options = {
        .loop = nearby->options.loop,
        .log = nearby->options.log,
        .kafka = nearby->options.kafka,
        .topic = &TOPIC_LOCATIONS,
        .partitions = nearby->options.partitions,
        .batch = (size_t)nearby->settings->batch_records,
        .first_ms = nearby->settings->warm_first_s * SECOND_MS,
        // The stream's time is not Kafka's: how far back its inactive window reaches cannot be told by timestamps.
        .window_ms = stream ? -1 : nearby->common->inactive_after_s * SECOND_MS,
        .context = nearby,
        .on_records = warm_records,
        .on_first = warm_first,
        .on_done = warm_done,
    };
    if (nearby->draining) return;
    if (warmup_new(&options, &nearby->warmup, &error)) fail(nearby, "presence cannot be read", &error);
}

static int state_attach(void *context, int32_t partition, int64_t *from, struct error *error) {
    struct nearby *nearby = context;
    from[STATE_SHARING] = KAFKA_OFFSET_BEGINNING; // consents live in memory
    return relations_attach(nearby->relations, partition, &from[STATE_FRIENDSHIPS], error);
}

static void state_detach(void *context, int32_t partition) {
    struct nearby *nearby = context;
    relations_detach(nearby->relations, partition);
    opting_detach(nearby->opting, partition);
}

static void state_own(void *context, int32_t partition, bool fresh, const int64_t *told, int64_t *again) {
    struct nearby *nearby = context;
    relations_own(nearby->relations, partition);
    again[STATE_SHARING] = opting_own(nearby->opting, partition, fresh, told[STATE_SHARING]);
}

static void state_silence(void *context, int32_t partition) {
    struct nearby *nearby = context;
    relations_silence(nearby->relations, partition);
    opting_silence(nearby->opting, partition);
}

static void state_take(void *context, const struct kafka_record *records, size_t count) {
    struct nearby *nearby = context;
    report_clock_tick(nearby->clock);
    for (size_t i = 0; i < count; i++) {
        if (records[i].topic == &TOPIC_SHARING) opting_take(nearby->opting, &records[i]);
    }
    relations_take(nearby->relations, records, count);
}

static void state_idle(void *context) {
    struct nearby *nearby = context;
    relations_idle(nearby->relations);
    deliver_flush(nearby->outbox);
}

static bool state_lost(void *context, size_t state, int32_t partition) {
    struct nearby *nearby = context;
    if (state != STATE_FRIENDSHIPS) return false;
    relations_lost(nearby->relations, partition);
    return true;
}

static bool state_reached(void *context, int32_t partition, const int64_t *ends) {
    struct nearby *nearby = context;
    return relations_reached(nearby->relations, partition, ends[STATE_FRIENDSHIPS]) &&
           owner_reached(nearby->owner, STATE_SHARING, partition, ends[STATE_SHARING]);
}

static int64_t state_unapplied(void *context, int32_t partition) {
    struct nearby *nearby = context;
    return relations_unapplied(nearby->relations, partition);
}

static void state_live(void *context, int32_t partition) {
    struct nearby *nearby = context;
    relations_live(nearby->relations, partition);
}

static void take_input(void *context, size_t input, const struct kafka_record *record, bool owned, int64_t now_us) {
    struct nearby *nearby = context;
    reports_handle(nearby->reports, record, owned, now_us);
}

static void flush_old(void *context, int64_t now_us) {
    struct nearby *nearby = context;
    deliver_set_stream_time(nearby->outbox, report_clock_stream(nearby->clock));
    deliver_flush_old(nearby->outbox, now_us);
    report_clock_tick(nearby->clock);
}

static void flush(void *context) {
    struct nearby *nearby = context;
    deliver_flush(nearby->outbox);
}

static void settle(void *context) {
    struct nearby *nearby = context;
    reports_settle(nearby->reports);
    deliver_flush(nearby->outbox);
}

static void lower(void *context, size_t input, int64_t *offsets) {
    struct nearby *nearby = context;
    reports_lower(nearby->reports, offsets);
}

static bool blocked(void *context) {
    struct nearby *nearby = context;
    return deliver_blocked(nearby->outbox) && !deliver_retry(nearby->outbox);
}

static bool workers_busy(void *context) {
    struct nearby *nearby = context;
    return warmup_busy(nearby->warmup) || relations_busy(nearby->relations);
}

static void drained(void *context) {
    struct nearby *nearby = context;
    nearby->options.drained(nearby->options.context);
}

static void owner_gave_up(void *context, const char *doing, const struct error *error) {
    fail(context, doing, error);
}

static const struct owner_product PRODUCT = {
    .attach = state_attach,
    .detach = state_detach,
    .own = state_own,
    .silence = state_silence,
    .state = state_take,
    .state_idle = state_idle,
    .state_lost = state_lost,
    .reached = state_reached,
    .unapplied = state_unapplied,
    .live = state_live,
    .input = take_input,
    .flush_old = flush_old,
    .flush = flush,
    .settle = settle,
    .lower = lower,
    .blocked = blocked,
    .prepared = prepared,
    .busy = workers_busy,
    .drained = drained,
    .failed = owner_gave_up,
};

/* ---- timers ---- */

static bool sharing_current(const struct nearby *nearby) {
    for (int32_t p = 0; p < nearby->options.partitions; p++) {
        if (owner_live(nearby->owner, p) && owner_state_lag(nearby->owner, STATE_SHARING, p)) return false;
    }
    return true;
}

void nearby_second(struct nearby *nearby) {
    bool stream = nearby->common->clock == SERVICE_CLOCK_STREAM;
    report_clock_tick(nearby->clock);
    int64_t now = report_clock_now(nearby->clock);
    presence_sweep(nearby->presence, now - 2 * nearby->common->inactive_after_s * SECOND_MS, SWEEP_SLOTS);
    if (owner_joined(nearby->owner)) {
        deliver_set_stream_time(nearby->outbox, report_clock_stream(nearby->clock));
        if (stream && !deliver_blocked(nearby->outbox)) deliver_beat(nearby->outbox);
    }
    owner_second(nearby->owner);
    relations_second(nearby->relations);
    opting_second(nearby->opting, nearby->owner);
}

static void measure(struct nearby *nearby) {
    struct router_metrics *metrics = &nearby->metrics;
    reports_measure(nearby->reports, owner_lag_ms(nearby->owner));
    bool lagging = reports_lagging(nearby->reports), warm = reports_are_warm(nearby->reports);
    deliver_set_flush_us(nearby->outbox, SECOND_MS * (lagging ? nearby->settings->outbox_flush_behind_ms
                                                              : nearby->settings->outbox_flush_ms));
    metrics->digesting->value = warm && !lagging;
    metrics->caught_up->value = warm && !lagging && owner_assigned(nearby->owner) && sending_up(nearby->sending) &&
                                !deliver_blocked(nearby->outbox) && owner_commands_current(nearby->owner) &&
                                relations_current(nearby->relations) && sharing_current(nearby);
}

void nearby_tenth(struct nearby *nearby) {
    owner_tenth(nearby->owner);
    if (owner_joined(nearby->owner)) measure(nearby);
    nearby->options.ready(nearby->options.context, "assigned", owner_was_assigned(nearby->owner));
    nearby->options.ready(nearby->options.context, "restored", owner_ready(nearby->owner));
}

void nearby_collect(struct nearby *nearby) {
    struct router_metrics *metrics = &nearby->metrics;
    struct adjacency_usage graph = graph_usage(nearby->options.graph);
    struct store_usage usage = graph.store;
    metrics->store_build->value = (double)graph.build;
    metrics->store_hits->value = (double)usage.cache_hits;
    metrics->store_misses->value = (double)usage.cache_misses;
    metrics->store_memtables->value = (double)usage.memtables;
    metrics->store_cache->value = (double)usage.block_cache;
    metrics->store_readers->value = (double)usage.table_readers;
    metrics->store_files->value = (double)usage.sst_files;
    metrics->present->value = (double)presence_count(nearby->presence);
    metrics->presence_bytes->value = (double)presence_bytes(nearby->presence);
    metrics->outbox_bytes->value = (double)deliver_bytes(nearby->outbox);
}

/* ---- what comes from outside ---- */

void nearby_friends_changed(struct nearby *nearby, int64_t user, int64_t other, bool made) {
    (made ? nearby->metrics.made : nearby->metrics.parted)->value++;
    if (made) {
        reports_befriended(nearby->reports, user, other);
    } else {
        cap_parted(nearby->cap, user, other);
        reports_parted(nearby->reports, user, other);
    }
}

void nearby_friends_exceeded(struct nearby *nearby, int32_t partition, int64_t user, int64_t other, int64_t since,
                             int64_t offset) {
    cap_notice(nearby->cap, partition, user, other, since, offset);
}

void nearby_friends_damaged(struct nearby *nearby, int32_t partition, const struct error *error) {
    relations_damaged(nearby->relations, partition, error);
}

void nearby_peer(struct nearby *nearby, struct http_request *request) {
    if (owner_joined(nearby->owner))
        peer_handle(nearby->peer, request);
    else
        http_problem(request, 503, "starting", "this process has not joined its group yet", 1);
}

bool nearby_whole(const struct nearby *nearby) { return owner_restored(nearby->owner) && !nearby->draining; }

/* ---- beginning and end ---- */

static void start_parts(struct nearby *nearby) {
    const struct nearby_options *options = &nearby->options;
    struct deliver_options outbox = {
        .destinations = options->routes,
        .flush_bytes = (size_t)nearby->settings->outbox_flush_bytes,
        .flush_us = nearby->settings->outbox_flush_ms * SECOND_MS,
        .epochs = nearby->epochs,
        .context = nearby->sending,
        .send = sending_batch,
    };
    nearby->outbox = deliver_new(&outbox);
    struct cap_options cap = {
        .log = options->log,
        .metrics = &nearby->metrics,
        .graph = options->graph,
        .sending = nearby->sending,
        .friends = (size_t)nearby->settings->friends_cap,
    };
    nearby->cap = cap_new(&cap);
    struct opting_options opting = {
        .log = options->log,
        .partitions = options->partitions,
        .state = STATE_SHARING,
        .clock = nearby->clock,
        .sending = nearby->sending,
    };
    nearby->opting = opting_new(&opting);
    struct relations_options relations = {
        .loop = options->loop,
        .log = options->log,
        .metrics = &nearby->metrics,
        .partitions = options->partitions,
        .state = STATE_FRIENDSHIPS,
        .graph = options->graph,
        .cap = nearby->cap,
        .decider = commands_decider(nearby->commands),
        .sending = nearby->sending,
        .context = nearby,
        .failed = store_failed,
    };
    nearby->relations = relations_new(&relations);
    struct reports_options reports = {
        .loop = options->loop,
        .metrics = &nearby->metrics,
        .partitions = options->partitions,
        .routes = options->routes,
        .inactive_ms = nearby->common->inactive_after_s * SECOND_MS,
        .radius_m = nearby->common->radius_m,
        .max_lag_s = nearby->settings->max_lag_s,
        .input = INPUT_LOCATIONS,
        .presence = nearby->presence,
        .clock = nearby->clock,
        .graph = options->graph,
        .opting = nearby->opting,
        .outbox = nearby->outbox,
        .sending = nearby->sending,
        .context = nearby,
        .failed = store_failed,
    };
    nearby->reports = reports_new(&reports);
}

static int start_sending(struct nearby *nearby, struct error *error) {
    struct sending_options options = {
        .loop = nearby->options.loop,
        .kafka = nearby->options.kafka,
        .log = nearby->options.log,
        .metrics = &nearby->metrics,
        .queue_bytes = (size_t)nearby->settings->outbox_queue_mb << 20,
        .context = nearby,
        .on_batch = batch_told,
        .on_leave = leave_told,
        .on_remove = remove_told,
    };
    return sending_new(&options, &nearby->sending, error);
}

static void start_commands(struct nearby *nearby) {
    struct commands_options options = {
        .loop = nearby->options.loop,
        .settings = nearby->options.kafka,
        .log = nearby->options.log,
        .registry = nearby->options.registry,
        .graph = nearby->options.graph,
        .metrics = &nearby->metrics,
        .transactional_id = nearby->options.transactional_id,
        .partitions = nearby->options.partitions,
        .batch = (size_t)nearby->settings->commands_batch,
        .cap = (size_t)nearby->settings->friends_cap,
        .context = nearby,
        .on_handled = commands_decided,
        .on_reset = commands_lost,
    };
    nearby->commands = commands_new(&options);
}

static int start_owner(struct nearby *nearby, struct error *error) {
    const struct router_settings *settings = nearby->settings;
    struct owner_options options = {
        .loop = nearby->options.loop,
        .log = nearby->options.log,
        .kafka = nearby->options.kafka,
        .metrics = nearby->options.registry,
        .prefix = "starling_router",
        .group = settings->group_id,
        .instance_id = nearby->common->group_instance_id,
        .partitions = nearby->options.partitions,
        .topics = OWNED,
        .topic_count = ARRAY_SIZE(OWNED),
        .offsets = &TOPIC_COMMAND_OFFSETS,
        .leaving = &TOPIC_SHARING,
        .batch = (size_t)settings->batch_records,
        .state_batch = STATE_BATCH,
        .standbys = (size_t)settings->standby_replicas,
        .hands_over = settings->stop_hands_over,
        .queue_max = (size_t)settings->commands_batch * QUEUED_BATCHES,
        .epochs = nearby->epochs,
        .decider = commands_decider(nearby->commands),
        .product = &PRODUCT,
        .context = nearby,
    };
    return owner_new(&options, &nearby->owner, error);
}

int nearby_new(const struct nearby_options *options, struct nearby **out, struct error *error) {
    const struct router_settings *settings = options->settings;
    struct nearby *nearby = mem_alloc(sizeof *nearby);
    *nearby = (struct nearby){
        .options = *options,
        .settings = settings,
        .common = options->common,
        .presence = presence_new(),
        .clock = report_clock_new(options->common->clock == SERVICE_CLOCK_STREAM, options->partitions,
                                  settings->clock_wall_max_ahead_s * SECOND_MS,
                                  settings->clock_stream_max_jump_s * SECOND_MS),
        .epochs = epochs_new(),
    };
    *out = nearby;
    router_metrics_init(&nearby->metrics, options->registry);
    int code = start_sending(nearby, error);
    if (code) return code;
    start_commands(nearby);
    start_parts(nearby);
    code = start_owner(nearby, error);
    if (code) return code;
    relations_set_owner(nearby->relations, nearby->owner);
    reports_set_owner(nearby->reports, nearby->owner);
    struct peer_options peer = {
        .partitions = options->partitions,
        .owner = nearby->owner,
        .graph = options->graph,
        .commands = nearby->commands,
    };
    nearby->peer = peer_new(&peer);
    return owner_start(nearby->owner, error);
}

void nearby_free(struct nearby *nearby) {
    if (!nearby) return;
    warmup_free(nearby->warmup);
    owner_free(nearby->owner);
    nearby->owner = NULL;
    commands_free(nearby->commands);
    peer_free(nearby->peer);
    sending_free(nearby->sending); // its last reports go to the outbox, opting and cap
    relations_free(nearby->relations);
    reports_free(nearby->reports);
    opting_free(nearby->opting);
    cap_free(nearby->cap);
    deliver_free(nearby->outbox);
    epochs_free(nearby->epochs);
    report_clock_free(nearby->clock);
    presence_free(nearby->presence);
    free(nearby);
}

void nearby_drain(struct nearby *nearby) {
    nearby->draining = true;
    warmup_stop(nearby->warmup);
    relations_stop(nearby->relations);
    owner_drain(nearby->owner);
}

bool nearby_busy(struct nearby *nearby) {
    nearby->draining = true;
    warmup_stop(nearby->warmup);
    relations_stop(nearby->relations);
    owner_stop(nearby->owner);
    return owner_busy(nearby->owner) || (nearby->commands && decider_busy(commands_decider(nearby->commands))) || workers_busy(nearby);
}
