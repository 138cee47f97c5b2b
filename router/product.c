/* Nearby as a product of lib/owner: the topics that it names, and the owner's callbacks. */
#include "base/clock.h"
#include "event/topics.h"
#include "router/joiner_private.h"

enum { SECOND_MS = 1000 };

const struct owner_topic JOINER_TOPICS[] = {{&TOPIC_LOCATIONS, OWNER_SHARED},
                                            {&TOPIC_FRIEND_COMMANDS, OWNER_COMMAND},
                                            {&TOPIC_FRIENDSHIPS, OWNER_STATE},
                                            {&TOPIC_SHARING, OWNER_STATE}};
const size_t JOINER_TOPIC_COUNT = ARRAY_SIZE(JOINER_TOPICS);

/* ---- warm-up ---- */

static void warm_records(void *context, const struct kafka_record *records, size_t count) {
    struct joiner *joiner = context;
    int64_t now_us = clock_monotonic_us();
    report_clock_tick(joiner->clock);
    for (size_t i = 0; i < count; i++) reports_handle(joiner->reports, &records[i], false, now_us);
}

static void warm_first(void *context, const int64_t *first, const int64_t *next) {
    struct joiner *joiner = context;
    struct error error;
    log_info(joiner->options.log, "presence holds the newest reports",
             LOG_INT("users", (int64_t)presence_count(joiner->presence)));
    for (int32_t p = 0; p < joiner->options.partitions; p++)
        owner_begin(joiner->owner, INPUT_LOCATIONS, p, first[p], next[p]);
    if (owner_join(joiner->owner, &error)) joiner_fail(joiner, "the group cannot be joined", &error);
}

static void warm_done(void *context) {
    struct joiner *joiner = context;
    reports_warm(joiner->reports);
    joiner->metrics.warm->value = 1;
    joiner->options.ready(joiner->options.context, "warm", true);
    log_info(joiner->options.log, "presence is warm", LOG_INT("users", (int64_t)presence_count(joiner->presence)));
}

/* ---- the owner's product ---- */

/* Presence is read last, so that it is fresh when the group's partitions are taken over. */
static void prepared(void *context) {
    struct joiner *joiner = context;
    struct error error;
    bool stream = joiner->common->clock == SERVICE_CLOCK_STREAM;
    struct warmup_options options = {
        .loop = joiner->options.loop,
        .log = joiner->options.log,
        .kafka = joiner->options.kafka,
        .topic = &TOPIC_LOCATIONS,
        .partitions = joiner->options.partitions,
        .batch = (size_t)joiner->owning->batch_records,
        .first_ms = joiner->settings->warm_first_s * SECOND_MS,
        // The stream's time is not Kafka's: how far back its inactive window reaches cannot be told by timestamps.
        .window_ms = stream ? -1 : joiner->common->inactive_after_s * SECOND_MS,
        .context = joiner,
        .on_records = warm_records,
        .on_first = warm_first,
        .on_done = warm_done,
    };
    if (joiner->draining) return;
    if (warmup_new(&options, &joiner->warmup, &error)) joiner_fail(joiner, "presence cannot be read", &error);
}

static int state_attach(void *context, int32_t partition, int64_t *from, struct error *error) {
    struct joiner *joiner = context;
    from[STATE_SHARING] = KAFKA_OFFSET_BEGINNING; // consents live in memory
    return relations_attach(joiner->relations, partition, &from[STATE_FRIENDSHIPS], error);
}

static void state_detach(void *context, int32_t partition) {
    struct joiner *joiner = context;
    relations_detach(joiner->relations, partition);
    opting_detach(joiner->opting, partition);
}

static void state_own(void *context, int32_t partition, bool fresh, const int64_t *told, int64_t *again) {
    struct joiner *joiner = context;
    relations_own(joiner->relations, partition);
    again[STATE_SHARING] = opting_own(joiner->opting, partition, fresh, told[STATE_SHARING]);
}

static void state_silence(void *context, int32_t partition) {
    struct joiner *joiner = context;
    relations_silence(joiner->relations, partition);
    opting_silence(joiner->opting, partition);
}

static void state_take(void *context, const struct kafka_record *records, size_t count) {
    struct joiner *joiner = context;
    report_clock_tick(joiner->clock);
    for (size_t i = 0; i < count; i++) {
        if (records[i].topic == &TOPIC_SHARING) opting_take(joiner->opting, &records[i]);
    }
    relations_take(joiner->relations, records, count);
}

static void state_idle(void *context) {
    struct joiner *joiner = context;
    relations_idle(joiner->relations);
    deliver_flush(joiner->outbox);
}

static bool state_lost(void *context, size_t state, int32_t partition) {
    struct joiner *joiner = context;
    if (state != STATE_FRIENDSHIPS) return false;
    relations_lost(joiner->relations, partition);
    return true;
}

static bool state_reached(void *context, int32_t partition, const int64_t *ends) {
    struct joiner *joiner = context;
    return relations_reached(joiner->relations, partition, ends[STATE_FRIENDSHIPS]) &&
           owner_reached(joiner->owner, STATE_SHARING, partition, ends[STATE_SHARING]);
}

static int64_t state_unapplied(void *context, int32_t partition) {
    struct joiner *joiner = context;
    return relations_unapplied(joiner->relations, partition);
}

static void state_live(void *context, int32_t partition) {
    struct joiner *joiner = context;
    relations_live(joiner->relations, partition);
}

static void take_input(void *context, size_t input, const struct kafka_record *record, bool owned, int64_t now_us) {
    struct joiner *joiner = context;
    reports_handle(joiner->reports, record, owned, now_us);
}

static void flush_old(void *context, int64_t now_us) {
    struct joiner *joiner = context;
    deliver_set_stream_time(joiner->outbox, report_clock_stream(joiner->clock));
    deliver_flush_old(joiner->outbox, now_us);
    report_clock_tick(joiner->clock);
}

static void flush(void *context) {
    struct joiner *joiner = context;
    deliver_flush(joiner->outbox);
}

static void settle(void *context) {
    struct joiner *joiner = context;
    reports_settle(joiner->reports);
    deliver_flush(joiner->outbox);
}

static void lower(void *context, size_t input, int64_t *offsets) {
    struct joiner *joiner = context;
    reports_lower(joiner->reports, offsets);
}

static bool blocked(void *context) {
    struct joiner *joiner = context;
    return deliver_blocked(joiner->outbox) && !deliver_retry(joiner->outbox);
}

bool joiner_workers_busy(const struct joiner *joiner) {
    return warmup_busy(joiner->warmup) || relations_busy(joiner->relations);
}

static bool workers_busy(void *context) { return joiner_workers_busy(context); }

static void drained(void *context) {
    struct joiner *joiner = context;
    joiner->options.drained(joiner->options.context);
}

static void owner_gave_up(void *context, const char *doing, const struct error *error) {
    joiner_fail(context, doing, error);
}

const struct owner_product JOINER_PRODUCT = {
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
