/* Closes epochs, commits the offsets of inputs whose effects are settled, and measures how far the owner is behind. */
#include "base/clock.h"
#include "decider/decider.h"
#include "owner/private.h"

enum { BEHIND_MS = 1000 };

static struct kafka_position at(const struct topic *topic, int32_t partition, int64_t offset) {
    return (struct kafka_position){.topic = topic, .partition = partition, .offset = offset};
}

/* ---- offsets ---- */

/* Without inputs there is nothing to tell but that this member is there: by how far it has read what the decider has written, which
 * nobody goes on from. */
static size_t commit_sign(struct owner *owner) {
    if (owner->input_count || !owner->options.offsets) return 0;
    for (int32_t p = 0; p < owner->options.partitions; p++) {
        int64_t next = owner_position(owner, owner->state_count, p);
        if (stages_of(owner->stages, p) != STAGE_LIVE) continue;
        owner->positions[0] = at(owner->options.offsets, p, next < 0 ? 0 : next);
        return 1;
    }
    return 0;
}

/* Offsets that were not told yet, or the first one once more: the group's answer is a sign that this member has its place. */
static size_t commit_positions(struct owner *owner) {
    size_t count = 0, input = 0;
    int32_t partition = -1;
    int64_t offset;
    while (stages_commit(owner->stages, false, &input, &partition, &offset))
        owner->positions[count++] = at(owner->inputs[input], partition, offset);
    if (count) return count;
    input = 0;
    partition = -1;
    if (stages_commit(owner->stages, true, &input, &partition, &offset))
        owner->positions[count++] = at(owner->inputs[input], partition, offset);
    return count ? count : commit_sign(owner);
}

void commits_make(struct owner *owner) {
    uint64_t epoch = epochs_settled(owner->options.epochs) - 1;
    uint64_t failures = kafka_consumer_commit_failures(owner->consumer);
    if (failures != owner->commit_failures) {
        owner->commit_failures = failures;
        stages_untold(owner->stages);
    }
    if (epoch != owner->told_epoch && epoch > 0) {
        owner->told_epoch = epoch;
        stages_settle(owner->stages, epoch);
    }
    if (!owner->assigned) return;
    size_t count = commit_positions(owner);
    if (!count) return;
    kafka_consumer_commit(owner->consumer, owner->positions, count);
    owner->metrics.commits->value++;
}

/* Readers stop at the first open transaction, whoever opened it. */
static void measure_held(struct owner *owner) {
    int64_t now_ms = clock_monotonic_us() / 1000, longest_ms = 0;
    for (size_t i = 0; i < owner->command_count * (size_t)owner->options.partitions; i++) {
        int32_t p = (int32_t)(i % (size_t)owner->options.partitions);
        const struct topic *topic = owner->commands[i / (size_t)owner->options.partitions];
        int64_t next = kafka_consumer_position(owner->consumer, topic, p);
        bool waits = stages_commanding(owner->stages, p) && kafka_consumer_lag(owner->consumer, topic, p) > 0;
        if (!waits || owner->unread[i].next != next) {
            owner->unread[i].next = next;
            owner->unread[i].since_ms = now_ms;
        }
        if (now_ms - owner->unread[i].since_ms > longest_ms) longest_ms = now_ms - owner->unread[i].since_ms;
    }
    owner->metrics.commands_held->value = (double)longest_ms / 1000;
}

void commits_second(struct owner *owner) {
    struct epochs *epochs = owner->options.epochs;
    uint64_t epoch = epochs_open(epochs);
    PRODUCT(owner, flush);
    if (epochs_close(epochs)) {
        int64_t *offsets = stages_note(owner->stages, epoch);
        for (size_t i = 0; owner->options.product->lower && i < owner->input_count; i++)
            PRODUCT(owner, lower, i, offsets + i * (size_t)owner->options.partitions);
    }
    commits_make(owner);
    inputs_hold(owner);
    measure_held(owner);
    owner->metrics.unsettled->value = (double)(epochs_open(epochs) - epochs_settled(epochs));
}

bool commits_settled(const struct owner *owner) {
    if (epochs_settled(owner->options.epochs) != epochs_open(owner->options.epochs)) return false;
    return !owner->assigned || stages_all_told(owner->stages);
}

/* ---- lag ---- */

static int64_t waiting_ms(struct owner *owner, int32_t partition, int64_t now) {
    enum stage stage = stages_of(owner->stages, partition);
    int64_t longest = 0;
    for (size_t i = 0; i < owner->input_count; i++) {
        if (stage == STAGE_FOREIGN && !owner->shared[i]) continue;
        // While it is restored nobody looks: what has come in the meantime is not known, but since when.
        bool nothing = inputs_at_end(owner, i, partition);
        int64_t waiting = stages_waiting_ms(owner->stages, i, partition, nothing, now, BEHIND_MS);
        if (waiting > longest) longest = waiting;
    }
    return longest;
}

void commits_measure(struct owner *owner) {
    int64_t now = clock_wall_ms(), lag = 0;
    for (int32_t p = 0; p < owner->options.partitions; p++) {
        int64_t waiting = waiting_ms(owner, p, now);
        if (waiting > lag) lag = waiting;
        owner->metrics.partition_lag[p]->value = (double)waiting / 1000;
    }
    owner->lag_ms = lag;
    owner->metrics.lag->value = (double)lag / 1000;
    if (owner->options.decider && !inputs_queue_above(owner, 2)) inputs_pause_commands(owner, false);
}

bool owner_commands_current(const struct owner *owner) {
    const struct decider *decider = owner->options.decider;
    if (!decider) return true;
    if (!owner->consumer || decider_queued(decider) || decider_committing(decider)) return false;
    for (int32_t p = 0; p < owner->options.partitions; p++) {
        if (!stages_owned(owner->stages, p)) continue;
        if (!stages_commanding(owner->stages, p)) return false;
        for (size_t c = 0; c < owner->command_count; c++)
            if (kafka_consumer_lag(owner->consumer, owner->commands[c], p)) return false;
    }
    return true;
}
