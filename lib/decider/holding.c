/* Commits where the product holds positions back (decider_options.held), and transactions in which nothing is written. */
#include "decider/private.h"

bool decider_is_quiet(const struct decider *decider) {
    return decider->options.held && decider->stage == STAGE_OPEN && !decider->wrote && !decider->code &&
           !decider->alone;
}

/* A course's position; the product's memory has nothing of what lies before it. */
static int64_t position_of(const struct decider *decider, size_t place, struct kafka_position *position) {
    const struct course *course = &decider->courses[place];
    size_t partitions = (size_t)decider->options.partitions;
    position->topic = decider->options.commands[place / partitions];
    position->partition = (int32_t)(place % partitions);
    position->offset = course->queued ? course->decided : course->expected;
    int64_t held = decider->options.held(decider->options.context, position->topic, position->partition);
    if (held < position->offset) position->offset = held;
    return position->offset;
}

/* One that has not moved is committed if no other has: the offsets are what binds a transaction to the group. */
bool decider_hold(struct decider *decider) {
    struct kafka_position position;
    size_t moved = 0;
    decider->commit_count = 0;
    for (size_t place = 0; place < decider->places; place++) {
        const struct course *course = &decider->courses[place];
        if (course->expected < 0) continue;
        bool moves = position_of(decider, place, &position) > course->committed;
        if (moves && !moved) decider->commit_count = 0;
        if (moves || !decider->commit_count) decider->commits[decider->commit_count++] = position;
        moved += moves;
    }
    return moved > 0;
}

void decider_held(struct decider *decider) {
    for (size_t i = 0; i < decider->commit_count; i++) {
        const struct kafka_position *position = &decider->commits[i];
        for (size_t c = 0; c < decider->options.command_count; c++) {
            size_t place = c * (size_t)decider->options.partitions + (size_t)position->partition;
            if (decider->options.commands[c] == position->topic) decider->courses[place].committed = position->offset;
        }
    }
    decider->commit_count = 0;
}

static bool is_begun(const struct decider *decider) {
    size_t place = 0;
    while (place < decider->places && decider->courses[place].expected < 0) place++;
    return place < decider->places;
}

void decider_second(struct decider *decider) {
    if (!decider->options.held || decider->stopped || !decider->consumer || !is_begun(decider)) return;
    if (decider->stage == STAGE_IDLE && !decider_open(decider)) return;
    if (!decider_is_quiet(decider)) return;
    if (decider->options.finish)
        decider->code = decider->options.finish(decider->options.context, &decider->reason) ? -EAGAIN : 0;
    if (!decider_is_quiet(decider) || decider_hold(decider)) decider_commit(decider);
}
