/* Makes the parts of the joiner, connects them, and takes them apart. */
#include "event/topics.h"
#include "router/discover.h"
#include "router/joiner_private.h"
#include "router/notifying.h"
#include "router/peer.h"

enum {
    SECOND_MS = 1000,
    STATE_BATCH =
        4000, /* records of state taken in one go: more are cheaper to apply, and reports wait so long (30 ms) */
    QUEUED_BATCHES = 10 /* transactions' worth of commands that may be queued before their reading is paused */
};

/* ---- calls between the parts ---- */

static void producer_failed(void *context, const char *doing, const struct error *error) {
    joiner_fail(context, doing, error);
}

static void store_failed(void *context, const struct error *error) {
    joiner_fail(context, "the store of friend lists failed", error);
}

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

/* ---- beginning and end ---- */

static void start_outbox(struct joiner *joiner) {
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
}

static void start_cap(struct joiner *joiner) {
    const struct joiner_options *options = &joiner->options;
    struct cap_options cap = {
        .log = options->log,
        .metrics = &joiner->metrics,
        .graph = options->graph,
        .sending = joiner->sending,
        .friends = (size_t)joiner->settings->friends_cap,
    };
    joiner->cap = cap_new(&cap);
}

static void start_opting(struct joiner *joiner) {
    const struct joiner_options *options = &joiner->options;
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
}

static void start_relations(struct joiner *joiner) {
    const struct joiner_options *options = &joiner->options;
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
}

static void start_reports(struct joiner *joiner) {
    const struct joiner_options *options = &joiner->options;
    struct reports_options reports = {
        .loop = options->loop,
        .metrics = &joiner->metrics,
        .partitions = options->partitions,
        .routes = options->routes,
        .inactive_ms = joiner->common->inactive_after_s * SECOND_MS,
        .radius_m = joiner->common->radius_m,
        .rounded = grid_of((int)joiner->settings->rounded_precision),
        .max_lag_s = joiner->settings->max_lag_s,
        .joins_rate = joiner->settings->joins_rate,
        .joins_burst = joiner->settings->joins_burst,
        .registry = joiner->options.registry,
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
        .registry = joiner->options.registry,
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

static void start_near(struct joiner *joiner) {
    struct near_pages_options near = {
        .partitions = joiner->options.partitions,
        .inactive_ms = joiner->common->inactive_after_s * SECOND_MS,
        .radius_m = joiner->common->radius_m,
        .rounded = grid_of((int)joiner->settings->rounded_precision),
        .owner = joiner->owner,
        .graph = joiner->options.graph,
        .presence = joiner->presence,
        .clock = joiner->clock,
        .reports = joiner->reports,
    };
    joiner->near = near_pages_new(&near);
}

static void start_peer(struct joiner *joiner) {
    struct peer_options peer = {
        .partitions = joiner->options.partitions,
        .owner = joiner->owner,
        .graph = joiner->options.graph,
        .commands = joiner->commands,
        .near = joiner->near,
        .presence = joiner->presence,
        .clock = joiner->clock,
        .opting = joiner->opting,
        .reports = joiner->reports,
        .inactive_ms = joiner->common->inactive_after_s * SECOND_MS,
        .radius_m = joiner->common->radius_m,
        .rounded = grid_of((int)joiner->settings->rounded_precision),
        .discover = joiner->discover,
    };
    joiner->peer = peer_new(&peer);
}

static void start_basics(struct joiner *joiner) {
    const struct router_settings *settings = joiner->settings;
    joiner->presence = presence_new();
    joiner->clock =
        report_clock_new(joiner->common->clock == SERVICE_CLOCK_STREAM, joiner->options.partitions,
                         settings->clock_wall_max_ahead_s * SECOND_MS, settings->clock_stream_max_jump_s * SECOND_MS);
    joiner->epochs = epochs_new();
}

int joiner_make_parts(struct joiner *joiner, struct error *error) {
    start_basics(joiner);
    int code = start_sending(joiner, error);
    if (!code) code = start_discover(joiner, error);
    if (!code) code = start_notifying(joiner, error);
    if (code) return code;
    start_commands(joiner);
    start_outbox(joiner);
    start_cap(joiner);
    start_opting(joiner);
    start_relations(joiner);
    start_reports(joiner);
    code = start_owner(joiner, error);
    if (code) return code;
    relations_set_owner(joiner->relations, joiner->owner);
    reports_set_owner(joiner->reports, joiner->owner);
    start_near(joiner);
    start_peer(joiner);
    return owner_start(joiner->owner, error);
}

void joiner_free_parts(struct joiner *joiner) {
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
}
