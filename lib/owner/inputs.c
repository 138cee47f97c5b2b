#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "decider/decider.h"
#include "owner/private.h"

enum {
    RETRY_MS = 5,
    NEVER_MS = INT32_MAX,
    FLUSH_LOOK = 64, /* records between two looks at the clock */
    /* What others own leads to no output here, so it may come a little later, and in large answers: a process asks each broker for it, as
     * all others do. */
    OBSERVE_MS = 100,
    STAY_TENTHS = 5
};

static struct kafka_position at(const struct topic *topic, int32_t partition, int64_t offset) {
    return (struct kafka_position){.topic = topic, .partition = partition, .offset = offset};
}

/* ---- records ---- */

/* Pauses or resumes the reading of commands, as commands_paused says. Called again when partitions have just begun to be read, which are
 * not paused at first; harmless where nothing changes. */
static void pause_follows(struct owner *owner) {
    for (int32_t p = 0; p < owner->options.partitions; p++) {
        for (size_t c = 0; stages_commanding(owner->stages, p) && c < owner->command_count; c++) {
            if (owner->commands_paused)
                kafka_consumer_pause(owner->consumer, owner->commands[c], p);
            else
                kafka_consumer_resume(owner->consumer, owner->commands[c], p);
        }
    }
}

bool inputs_queue_above(const struct owner *owner, size_t part) {
    const struct owner_options *options = &owner->options;
    return decider_queued(options->decider) > options->queue_max / part ||
           (options->queue_bytes && decider_queued_bytes(options->decider) > options->queue_bytes / part);
}

void inputs_pause_commands(struct owner *owner, bool pause) {
    if (owner->commands_paused == pause) return;
    owner->commands_paused = pause;
    pause_follows(owner);
}

/* The first input after an assignment has waited for as long as no process served the partition. */
static void measure_pause(struct owner *owner, const struct kafka_record *record) {
    double waited = (double)(clock_wall_ms() - record->timestamp) / 1000;
    owner->resumed[record->partition] = false;
    if (!(waited <= owner->metrics.pause->value)) owner->metrics.pause->value = waited;
}

static void take_input(struct owner *owner, size_t input, const struct kafka_record *record, int64_t now_us) {
    bool owned = stages_owned(owner->stages, record->partition);
    if (owned && owner->resumed[record->partition]) measure_pause(owner, record);
    PRODUCT(owner, input, input, record, owned, now_us);
    stages_handled(owner->stages, input, record->partition, record->offset, record->timestamp);
}

static void take(void *context, const struct kafka_record *records, size_t count) {
    struct owner *owner = context;
    int64_t now_us = clock_monotonic_us();
    PRODUCT(owner, flush_old, now_us);
    for (size_t i = 0; i < count; i++) {
        size_t input = owner_number_of(owner->inputs, owner->input_count, records[i].topic);
        if (input < owner->input_count)
            take_input(owner, input, &records[i], now_us);
        else
            decider_take(owner->options.decider, &records[i]);
        if (i % FLUSH_LOOK != FLUSH_LOOK - 1) continue;
        now_us = clock_monotonic_us();
        PRODUCT(owner, flush_old, now_us);
    }
    PRODUCT(owner, flush_old, clock_monotonic_us());
    if (owner->options.decider) {
        decider_run(owner->options.decider);
        if (inputs_queue_above(owner, 1)) inputs_pause_commands(owner, true);
    }
    inputs_hold(owner);
}

void inputs_flush_ready(struct owner *owner) {
    const struct owner_product *product = owner->options.product;
    int64_t left_ms = 0;
    if (product->flush_ready)
        left_ms = product->flush_ready(owner->options.context, clock_monotonic_us());
    else
        PRODUCT(owner, flush);
    if (left_ms)
        loop_timer_again(owner->ready, (uint64_t)left_ms, 0);
    else
        loop_timer_stop(owner->ready);
}

static void drained(void *context) {
    struct owner *owner = context;
    inputs_flush_ready(owner);
    inputs_hold(owner);
}

static void observe(void *context, const struct kafka_record *records, size_t count) {
    struct owner *owner = context;
    int64_t now_us = clock_monotonic_us();
    for (size_t i = 0; i < count; i++) {
        size_t input = owner_number_of(owner->inputs, owner->input_count, records[i].topic);
        if (!stages_owned(owner->stages, records[i].partition)) take_input(owner, input, &records[i], now_us);
        if (i % FLUSH_LOOK != FLUSH_LOOK - 1) continue;
        now_us = clock_monotonic_us();
        PRODUCT(owner, flush_old, now_us);
    }
}

static void retry(void *context) { inputs_hold(context); }

void inputs_hold(struct owner *owner) {
    if (!owner->consumer) return;
    bool blocked = PRODUCT(owner, blocked), hold = owner->stopped || blocked;
    if (blocked != owner->blocked) {
        owner->blocked = blocked;
        if (blocked) owner->metrics.held->value++;
        loop_timer_again(owner->retry, blocked ? RETRY_MS : NEVER_MS, blocked ? RETRY_MS : NEVER_MS);
    }
    if (hold == owner->held) return;
    owner->held = hold;
    kafka_consumer_hold(owner->consumer, hold);
    if (owner->observer) kafka_consumer_hold(owner->observer, hold);
}

/* ---- assignments ---- */

static void commands_forgotten(struct owner *owner) {
    stages_commands_forget(owner->stages);
    owner->commands_paused = false;
}

/* Keeps the partition's state, as a stand-by, until the stand-bys of the changed group are known. */
static void release(struct owner *owner, int32_t partition) {
    struct error error;
    if (!stages_release(owner->stages, partition)) return;
    if (!owner->options.standbys)
        changelogs_drop(owner, partition);
    else if (changelogs_stand_by(owner, partition, &error))
        owner_failed(owner, "state cannot be kept", &error);
}

/* The higher of the committed offset and the one that the decider wrote: a deleted group has forgotten the former. */
static int64_t commands_begin_at(const struct owner *owner, size_t command, int32_t partition, int64_t committed) {
    int64_t decided = changelogs_decided(owner, command, partition);
    int64_t from = committed > decided ? committed : decided;
    return from < 0 ? KAFKA_OFFSET_BEGINNING : from;
}

/* Where the reading of commands goes on: where it is, or else where it begins. */
static int64_t commands_next(const struct owner *owner, size_t command, int32_t partition) {
    const int64_t *ends;
    int64_t next = kafka_consumer_position(owner->consumer, owner->commands[command], partition);
    return next < 0
               ? commands_begin_at(owner, command, partition, stages_commands(owner->stages, partition, &ends)[command])
               : next;
}

static bool is_observed(const struct owner *owner, size_t input, enum stage stage) {
    return stage == STAGE_FOREIGN && owner->shared[input];
}

static bool is_read(const struct owner *owner, size_t input, enum stage stage) {
    return stage == STAGE_LIVE || is_observed(owner, input, stage);
}

bool inputs_at_end(const struct owner *owner, size_t input, int32_t partition) {
    enum stage stage = stages_of(owner->stages, partition);
    if (!is_read(owner, input, stage)) return false;
    return !kafka_consumer_lag(stage == STAGE_LIVE ? owner->consumer : owner->observer, owner->inputs[input],
                               partition);
}

void inputs_collect(struct owner *owner) {
    size_t partitions = (size_t)owner->options.partitions;
    for (size_t i = 0; i < owner->input_count * partitions; i++) {
        int32_t p = (int32_t)(i % partitions);
        int64_t next = stages_next(owner->stages, i / partitions, p);
        bool known = owner->assigned && next >= 0 && is_read(owner, i / partitions, stages_of(owner->stages, p));
        owner->metrics.next[i]->value = known ? (double)next : (double)NAN;
    }
}

static struct kafka_position next_of(const struct owner *owner, size_t input, int32_t partition) {
    int64_t next = stages_next(owner->stages, input, partition);
    return at(owner->inputs[input], partition, next < 0 ? KAFKA_OFFSET_BEGINNING : next);
}

/* Reads other owners' partitions of shared inputs, and no longer those that this process owns now. */
static void observe_all(struct owner *owner) {
    struct error error;
    size_t count = 0;
    if (!owner->observer) return;
    for (int32_t p = 0; p < owner->options.partitions; p++) {
        for (size_t i = 0; i < owner->input_count; i++)
            if (is_observed(owner, i, stages_of(owner->stages, p))) owner->positions[count++] = next_of(owner, i, p);
    }
    if (kafka_consumer_read(owner->observer, owner->positions, count, &error))
        owner_failed(owner, "others' inputs cannot be read", &error);
}

/* Reads all partitions that may be read now: owned and restored ones, and other owners' partitions of shared inputs. */
static void read_all(struct owner *owner) {
    struct error error;
    size_t count = 0;
    observe_all(owner);
    for (int32_t p = 0; p < owner->options.partitions; p++) {
        for (size_t i = 0; i < owner->input_count; i++)
            if (stages_of(owner->stages, p) == STAGE_LIVE) owner->positions[count++] = next_of(owner, i, p);
        for (size_t c = 0; stages_commanding(owner->stages, p) && c < owner->command_count; c++)
            owner->positions[count++] = at(owner->commands[c], p, commands_next(owner, c, p));
    }
    if (kafka_consumer_read(owner->consumer, owner->positions, count, &error))
        owner_failed(owner, "inputs cannot be read", &error);
    else
        pause_follows(owner);
}

/* The group divides all its topics alike, so the first one says which partitions are owned. */
static const struct topic *group_topic(const struct owner *owner) {
    return owner->input_count ? owner->inputs[0] : owner->commands[0];
}

static void assigned(void *context, const struct kafka_position *owned, size_t count) {
    struct owner *owner = context;
    int32_t partitions = owner->options.partitions;
    bool *mine = mem_zero((size_t)partitions, sizeof *mine);
    struct error error;
    int64_t given = 0, kept = 0;
    owner->left = owner->leaving;
    for (size_t i = 0; i < count; i++)
        if (owned[i].topic == group_topic(owner) && owned[i].partition < partitions) mine[owned[i].partition] = true;
    for (int32_t p = 0; p < partitions; p++) {
        given += mine[p];
        kept += mine[p] && stages_owned(owner->stages, p);
        if (mine[p])
            stages_assign(owner->stages, p);
        else if (stages_owned(owner->stages, p))
            release(owner, p);
        // Waiting for a command that another process decides now is over.
        if (!mine[p] && owner->options.decider) decider_lost(owner->options.decider, p);
        owner->resumed[p] = mine[p];
    }
    free(mine);
    owner->metrics.pause->value = NAN; // not known before the first input
    owner->assigned = owner->ever_assigned = true;
    log_info(owner->options.log, "partitions assigned", LOG_INT("owned", given), LOG_INT("kept", kept));
    if (changelogs_read(owner, &error)) owner_failed(owner, "state cannot be read", &error);
    if (owner->stopped) return;
    read_all(owner);
    answers_want(owner->answers);
    owner_progress(owner);
    standby_look(owner->standby);
}

static void revoked(void *context, bool lost) {
    struct owner *owner = context;
    struct error error;
    PRODUCT(owner, settle);
    if (!lost) commits_make(owner); // the less for the next owner to do again
    owner->assigned = false;
    answers_forget(owner->answers);
    if (owner->options.decider) decider_revoke(owner->options.decider);
    commands_forgotten(owner);
    log_info(owner->options.log, lost ? "partitions lost" : "partitions revoked");
    // When lost, somebody else may have handled them since; otherwise what stays ours goes on where it is.
    for (int32_t p = 0; lost && p < owner->options.partitions; p++) release(owner, p);
    if (changelogs_read(owner, &error)) owner_failed(owner, "state cannot be read", &error);
}

static void broker_changed(void *context, bool up, const char *reason) {
    struct owner *owner = context;
    if (up)
        log_info(owner->options.log, "Kafka is back");
    else
        log_warn(owner->options.log, "Kafka cannot be reached", LOG_TEXT("reason", reason));
}

/* A member again only as a new process: a process that has this one's name now is not to be thrown out in turn. */
static void given_up(void *context, const char *reason) {
    struct error error;
    error_set(&error, -EIO, "%s", reason);
    owner_failed(context, reason, &error);
}

/* ---- progress ---- */

static size_t begin_inputs(struct owner *owner, int32_t partition, size_t count) {
    stages_live(owner->stages, partition, epochs_open(owner->options.epochs));
    PRODUCT(owner, live, partition);
    for (size_t i = 0; i < owner->input_count; i++)
        owner->positions[count++] = at(owner->inputs[i], partition, stages_next(owner->stages, i, partition));
    return count;
}

static size_t begin_commands(struct owner *owner, int32_t partition, const int64_t *from, size_t count) {
    stages_commands_begin(owner->stages, partition);
    for (size_t c = 0; c < owner->command_count; c++) {
        int64_t offset = commands_begin_at(owner, c, partition, from[c]);
        decider_begin(owner->options.decider, owner->commands[c], partition, offset < 0 ? 0 : offset,
                      owner->command_ends[c * (size_t)owner->options.partitions + (size_t)partition]);
        owner->positions[count++] = at(owner->commands[c], partition, offset);
    }
    return count;
}

static size_t progress_of(struct owner *owner, int32_t partition, size_t count) {
    if (stages_of(owner->stages, partition) == STAGE_RESTORING &&
        changelogs_reached(owner, partition, stages_ends(owner->stages, partition)))
        count = begin_inputs(owner, partition, count);
    const int64_t *ends, *from = stages_commands(owner->stages, partition, &ends);
    if (owner->options.decider && stages_of(owner->stages, partition) == STAGE_LIVE && from &&
        !stages_commanding(owner->stages, partition) && decider_ready(owner->options.decider) &&
        changelogs_reached(owner, partition, ends))
        count = begin_commands(owner, partition, from, count);
    return count;
}

void inputs_progress(struct owner *owner) {
    struct error error;
    size_t count = 0, owned = 0, live = 0;
    if (!owner->assigned || owner->stopped) return;
    answers_try(owner->answers);
    for (int32_t p = 0; p < owner->options.partitions; p++) {
        count = progress_of(owner, p, count);
        owned += stages_owned(owner->stages, p);
        live += stages_of(owner->stages, p) == STAGE_LIVE;
    }
    if (count && kafka_consumer_read_more(owner->consumer, owner->positions, count, &error))
        owner_failed(owner, "restored partitions cannot be read", &error);
    else if (count) {
        pause_follows(owner);
        commits_make(owner); // the answer is the first sign that this member has its place
    }
    owner->metrics.owned->value = (double)owned;
    owner->metrics.restored->value = (double)live;
}

void inputs_commands_lost(struct owner *owner) {
    size_t count = 0;
    for (int32_t p = 0; p < owner->options.partitions; p++) {
        for (size_t c = 0; stages_commanding(owner->stages, p) && c < owner->command_count; c++)
            owner->positions[count++] = at(owner->commands[c], p, 0);
    }
    commands_forgotten(owner);
    if (!owner->assigned) return;
    if (count) kafka_consumer_read_less(owner->consumer, owner->positions, count, NULL);
    answers_want(owner->answers);
}

void inputs_restore_again(struct owner *owner, int32_t partition) {
    size_t count = 0;
    bool live = stages_of(owner->stages, partition) == STAGE_LIVE;
    if (!stages_restore_again(owner->stages, partition)) return;
    for (size_t i = 0; live && i < owner->input_count; i++)
        owner->positions[count++] = at(owner->inputs[i], partition, 0);
    for (size_t c = 0; stages_commanding(owner->stages, partition) && c < owner->command_count; c++)
        owner->positions[count++] = at(owner->commands[c], partition, 0);
    if (owner->assigned && count) kafka_consumer_read_less(owner->consumer, owner->positions, count, NULL);
    if (owner->options.decider) decider_revoke(owner->options.decider);
    inputs_commands_lost(owner);
}

/* ---- effects that were lost ---- */

void owner_effects_lost(struct owner *owner) {
    if (!owner->consumer) return;
    PRODUCT(owner, settle);
    epochs_forget(owner->options.epochs);
    owner->told_epoch = epochs_settled(owner->options.epochs) - 1; // of which nothing was noted
    log_warn(owner->options.log, "deliveries were lost: their events are handled again");
    stages_rewind(owner->stages);
    if (owner->assigned && !owner->stopped) read_all(owner);
}

/* ---- beginning and end ---- */

int owner_join(struct owner *owner, struct error *error) {
    const struct topic *subscribe[2 * STAGES_TOPICS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < owner->input_count; i++) subscribe[count++] = owner->inputs[i];
    for (size_t c = 0; c < owner->command_count; c++) subscribe[count++] = owner->commands[c];
    owner->told_epoch = epochs_settled(owner->options.epochs) - 1;
    struct kafka_consumer_options options = {
        .loop = owner->options.loop,
        .settings = owner->options.kafka,
        .group = owner->options.group,
        .instance_id = owner->options.instance_id,
        .subscribe = subscribe,
        .subscribe_count = count,
        .batch = owner->options.batch,
        .context = owner,
        .on_records = take,
        .on_assigned = assigned,
        .on_revoked = revoked,
        .on_drained = drained,
        .on_broker = broker_changed,
        .on_fatal = given_up,
    };
    owner->retry = loop_timer_new(owner->options.loop, NEVER_MS, NEVER_MS, retry, owner);
    struct kafka_consumer_options observing = {
        .loop = owner->options.loop,
        .settings = owner->options.kafka,
        .batch = owner->options.batch,
        .gather_ms = OBSERVE_MS,
        .context = owner,
        .on_records = observe,
    };
    bool shares = false;
    for (size_t i = 0; i < owner->input_count; i++) shares = shares || owner->shared[i];
    int code = shares ? kafka_consumer_new(&observing, &owner->observer, error) : 0;
    if (!code) code = kafka_consumer_new(&options, &owner->consumer, error);
    if (!code && owner->options.decider) decider_set_consumer(owner->options.decider, owner->consumer);
    return code;
}

const char *inputs_member(const struct owner *owner) { return kafka_consumer_member(owner->consumer); }

void inputs_stop(struct owner *owner) {
    if (!owner->consumer) return;
    PRODUCT(owner, settle);
    inputs_hold(owner);
}

bool inputs_leave(struct owner *owner) {
    struct error error;
    // Others that hand over at the same moment need an answer of this member's, as long as it has a place.
    if (owner->left) return owner->stays++ >= STAY_TENTHS;
    if (owner->leaving) return false;
    owner->leaving = true;
    int code = kafka_consumer_hand_over(owner->consumer, owner->options.leaving, &error);
    if (code)
        log_warn(owner->options.log, "partitions cannot be handed over", LOG_TEXT("reason", error.text));
    else
        kafka_consumer_hold(owner->consumer, false); // nothing is read: what it waits for are rebalances
    return code != 0;
}
