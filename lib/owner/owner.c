#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "decider/decider.h"
#include "owner/private.h"

enum { DRAIN_TENTHS = 100 };

void owner_failed(struct owner *owner, const char *doing, const struct error *error) {
    PRODUCT(owner, failed, doing, error);
}

/* ---- beginning and end ---- */

static bool too_many(const struct owner_options *options) {
    size_t counts[OWNER_STATE + 1] = {0};
    for (size_t i = 0; i < options->topic_count; i++) counts[options->topics[i].role]++;
    return counts[OWNER_INPUT] + counts[OWNER_SHARED] > STAGES_TOPICS_MAX ||
           counts[OWNER_COMMAND] > STAGES_TOPICS_MAX || counts[OWNER_STATE] > STAGES_TOPICS_MAX;
}

static void sort_topics(struct owner *owner) {
    for (size_t i = 0; i < owner->options.topic_count; i++) {
        const struct owner_topic *topic = &owner->options.topics[i];
        switch (topic->role) {
        case OWNER_SHARED:
        case OWNER_INPUT:
            owner->shared[owner->input_count] = topic->role == OWNER_SHARED;
            owner->inputs[owner->input_count++] = topic->topic;
            break;
        case OWNER_COMMAND: owner->commands[owner->command_count++] = topic->topic; break;
        case OWNER_STATE: owner->states[owner->state_count++] = topic->topic; break;
        }
    }
}

static void flush_ready(void *context) { inputs_flush_ready(context); }

int owner_new(const struct owner_options *options, struct owner **out, struct error *error) {
    size_t partitions = (size_t)options->partitions;
    if (too_many(options))
        return error_set(error, -EINVAL, "a product has at most %d topics of a role", STAGES_TOPICS_MAX);
    struct owner *owner = MEM_NEW(&(struct owner){
        .options = *options,
        .unread = mem_zero(STAGES_TOPICS_MAX * partitions, sizeof *owner->unread),
        .resumed = mem_zero(partitions, sizeof *owner->resumed),
        .positions = mem_zero(partitions * options->topic_count + 1, sizeof *owner->positions),
        .lag_ms = INT64_MAX,
    });
    sort_topics(owner);
    owner->ready = loop_timer_new(options->loop, INT32_MAX, 0, flush_ready, owner);
    owner->stages = stages_new(options->partitions, owner->input_count, owner->shared, EPOCHS_MAX);
    owner->answers = answers_new(owner);
    owner->fresh = fresh_new(owner);
    owner_metrics_init(&owner->metrics, options->metrics, options->prefix, options->partitions, owner->inputs,
                       owner->input_count);
    int code = changelogs_new(owner, error);
    if (code) {
        owner_free(owner);
        return code;
    }
    *out = owner;
    return 0;
}

static void collect(void *context) { inputs_collect(context); }

int owner_start(struct owner *owner, struct error *error) {
    metrics_on_collect(owner->options.metrics, collect, owner);
    fresh_start(owner->fresh);
    if (owner->options.standbys) return standby_new(owner, &owner->standby, error);
    PRODUCT(owner, prepared);
    return 0;
}

void owner_free(struct owner *owner) {
    if (!owner) return;
    standby_free(owner->standby);
    answers_free(owner->answers);
    fresh_free(owner->fresh);
    if (owner->consumer && owner->options.decider) decider_set_consumer(owner->options.decider, NULL);
    kafka_consumer_free(owner->consumer);
    kafka_consumer_free(owner->observer);
    loop_timer_free(owner->retry);
    loop_timer_free(owner->ready);
    changelogs_free(owner);
    stages_free(owner->stages);
    owner_metrics_free(&owner->metrics);
    free(owner->unread);
    free(owner->resumed);
    free(owner->positions);
    free(owner);
}

bool owner_busy(const struct owner *owner) {
    return owner && (answers_busy(owner->answers) || fresh_busy(owner->fresh) || standby_busy(owner->standby));
}

void owner_begin(struct owner *owner, size_t input, int32_t partition, int64_t first, int64_t next) {
    stages_begin(owner->stages, input, partition, first, next);
}

/* ---- the end ---- */

/* A static member that hands over serves until the moment is good. */
static bool may_stop(struct owner *owner) {
    if (!owner->consumer || !*owner->options.instance_id || !owner->options.hands_over) return true;
    enum standby_way way = standby_way_to_end(owner->standby);
    owner->hands_over = way == STANDBY_HAND_OVER && owner->assigned;
    return way != STANDBY_WAIT || ++owner->wait_tenths >= DRAIN_TENTHS;
}

void owner_stop(struct owner *owner) {
    if (owner->stopped) return;
    owner->stopped = true;
    if (owner->options.decider) decider_stop(owner->options.decider);
    answers_forget(owner->answers);
    fresh_stop(owner->fresh);
    standby_stop(owner->standby);
    inputs_stop(owner);
}

void owner_drain(struct owner *owner) {
    owner->draining = true;
    if (may_stop(owner)) owner_stop(owner);
}

static bool workers_busy(const struct owner *owner) {
    const struct owner_product *product = owner->options.product;
    return owner_busy(owner) || (owner->options.decider && decider_busy(owner->options.decider)) ||
           (product->busy && product->busy(owner->options.context));
}

/* Nothing is left to do, or it has taken too long. */
static void drain_on(struct owner *owner) {
    bool settled = !owner->consumer || commits_settled(owner);
    if (owner->ended || workers_busy(owner)) return; // they must come back whatever it takes
    if (!settled && ++owner->drain_tenths < DRAIN_TENTHS) return;
    if (!settled) log_warn(owner->options.log, "ending with deliveries that are not acknowledged");
    if (owner->hands_over && !inputs_leave(owner) && ++owner->drain_tenths < DRAIN_TENTHS) return;
    owner->ended = true;
    PRODUCT(owner, drained);
}

/* ---- timers ---- */

enum shown_stage { SHOWN_FOREIGN, SHOWN_STANDBY_BEHIND, SHOWN_STANDBY, SHOWN_RESTORING, SHOWN_LIVE };

static void measure_second(struct owner *owner) {
    struct owner_metrics *m = &owner->metrics;
    int64_t standbys = 0, current = 0, behind = 0, left = 0;
    for (int32_t p = 0; p < owner->options.partitions; p++) {
        enum shown_stage shown = SHOWN_FOREIGN;
        if (stages_of(owner->stages, p) == STAGE_LIVE) {
            shown = SHOWN_LIVE;
        } else if (stages_owned(owner->stages, p)) {
            shown = SHOWN_RESTORING;
            left += changelogs_left(owner, p, stages_ends(owner->stages, p));
        } else if (owner->standing[p]) {
            int64_t lag = changelogs_standby_lag(owner, p);
            shown = lag == 0 ? SHOWN_STANDBY : SHOWN_STANDBY_BEHIND;
            standbys++;
            current += lag == 0;
            behind += lag > 0 ? lag : 0;
        }
        m->partition_stage[p]->value = (double)shown;
    }
    double records = m->restore_records->value + m->standby_records->value;
    m->rate->value = records - m->records_before;
    m->records_before = records;
    m->standbys->value = (double)standbys;
    m->current->value = (double)current;
    m->standby_lag->value = (double)behind;
    m->left->value = (double)left;
    m->seconds_left->value = !left ? 0 : m->rate->value > 0 ? (double)left / m->rate->value : (double)NAN;
}

void owner_second(struct owner *owner) {
    if (owner->consumer) commits_second(owner);
    measure_second(owner);
}

void owner_tenth(struct owner *owner) {
    owner_progress(owner);
    if (owner->consumer) commits_measure(owner);
    standby_progress(owner->standby);
    if (!owner->draining) return;
    if (!owner->stopped && may_stop(owner)) owner_stop(owner);
    if (!owner->stopped) return;
    if (owner->consumer) commits_second(owner);
    drain_on(owner);
}

/* ---- what the product asks and says ---- */

bool owner_joined(const struct owner *owner) { return owner->consumer != NULL; }

bool owner_assigned(const struct owner *owner) { return owner->assigned; }

bool owner_was_assigned(const struct owner *owner) { return owner->ever_assigned; }

bool owner_ready(const struct owner *owner) {
    if (owner->options.decider && !decider_ready(owner->options.decider)) return false;
    for (int32_t p = 0; p < owner->options.partitions; p++) {
        bool commanding = !owner->options.decider || stages_commanding(owner->stages, p);
        if (stages_owned(owner->stages, p) && !(owner_live(owner, p) && commanding)) return false;
    }
    return owner->ever_assigned;
}

bool owner_live(const struct owner *owner, int32_t partition) {
    return stages_of(owner->stages, partition) == STAGE_LIVE;
}

bool owner_stands_by(const struct owner *owner, int32_t partition) { return owner->standing[partition]; }

bool owner_restored(const struct owner *owner) {
    bool any = false;
    for (int32_t p = 0; p < owner->options.partitions; p++) {
        enum stage stage = stages_of(owner->stages, p);
        if (stage != STAGE_FOREIGN && stage != STAGE_LIVE) return false;
        any |= stage == STAGE_LIVE;
    }
    return any;
}

int owner_serves(const struct owner *owner, int32_t partition) {
    if (!owner->assigned) return -EAGAIN;
    if (!stages_owned(owner->stages, partition)) return -ESTALE;
    if (!owner_live(owner, partition)) return -EAGAIN;
    // Half of the session's time without an answer: when the other half is over, the group has another owner.
    int64_t silent_us = clock_monotonic_us() - kafka_consumer_heard_us(owner->consumer);
    return silent_us > kafka_consumer_session_us(owner->consumer) / 2 ? -EAGAIN : 0;
}

void owner_progress(struct owner *owner) {
    if (owner->consumer) inputs_progress(owner);
}

void owner_commands_lost(struct owner *owner) {
    if (owner->consumer) inputs_commands_lost(owner);
}

void owner_lower(struct owner *owner, size_t input, int32_t partition, int64_t offset) {
    stages_lower(owner->stages, input, partition, offset);
}

const int64_t *owner_ends(const struct owner *owner, int32_t partition) {
    return stages_of(owner->stages, partition) == STAGE_RESTORING ? stages_ends(owner->stages, partition) : NULL;
}

void owner_restore_again(struct owner *owner, int32_t partition) {
    if (owner->consumer) inputs_restore_again(owner, partition);
}

void owner_commit(struct owner *owner, const struct kafka_position *positions, size_t count) {
    if (owner->consumer && owner->assigned && count) kafka_consumer_commit(owner->consumer, positions, count);
}

int64_t owner_lag_ms(const struct owner *owner) { return owner->lag_ms; }
