#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "owner/private.h"
#include "question/question.h"

enum { EVERY_MS = 300, TIMEOUT_MS = 5000 };

struct fresh_part {
    int64_t as_of_us;                /* all that was in the topics then is read; 0: not known */
    int64_t asked_us;                /* when it was asked where they end; 0: that is reached, or was not asked */
    int64_t ends[STAGES_TOPICS_MAX]; /* by state; 0 of those that are not counted */
};

/* Where the topics end that a partition's age is counted by. `positions` are the worker's while it asks. */
struct fresh {
    struct owner *owner;
    struct question *question;
    size_t states[STAGES_TOPICS_MAX], state_count;
    struct fresh_part *parts;
    struct kafka_position *positions;
    size_t count;
    int64_t asked_us;
};

/* Of a live partition the product knows better: it may read records once more, whose effects were put off. */
static bool reached(const struct owner *owner, int32_t partition, const int64_t *ends) {
    bool all = true;
    for (size_t s = 0; all && s < owner->state_count; s++) all = owner_reached(owner, s, partition, ends[s]);
    return all || (owner_live(owner, partition) && PRODUCT(owner, reached, partition, ends));
}

/* Ends that are not reached yet stay, or a reader that is always a little behind would reach none. */
static bool settle(const struct fresh *fresh, int32_t partition) {
    struct fresh_part *part = &fresh->parts[partition];
    if (part->asked_us && !reached(fresh->owner, partition, part->ends)) return false;
    if (part->asked_us) part->as_of_us = part->asked_us;
    part->asked_us = 0;
    return true;
}

static void prepare(void *context) {
    struct fresh *fresh = context;
    const struct owner *owner = fresh->owner;
    fresh->count = 0;
    fresh->asked_us = clock_monotonic_us();
    for (int32_t p = 0; p < owner->options.partitions; p++) {
        if (!owner->opened[p] || !settle(fresh, p)) continue;
        for (size_t i = 0; i < fresh->state_count; i++)
            fresh->positions[fresh->count++] =
                (struct kafka_position){.topic = owner->states[fresh->states[i]], .partition = p};
    }
}

static int ask(void *context, struct error *error) {
    struct fresh *fresh = context;
    return kafka_consumer_ends(fresh->owner->changelogs, fresh->positions, fresh->count, TIMEOUT_MS, error);
}

static void answered(void *context) {
    struct fresh *fresh = context;
    for (size_t i = 0; i < fresh->count; i += fresh->state_count) {
        struct fresh_part *part = &fresh->parts[fresh->positions[i].partition];
        part->asked_us = fresh->asked_us;
        for (size_t s = 0; s < fresh->state_count; s++) part->ends[fresh->states[s]] = fresh->positions[i + s].offset;
    }
    question_ask_later(fresh->question, EVERY_MS);
}

struct fresh *fresh_new(struct owner *owner) {
    size_t partitions = (size_t)owner->options.partitions, states = 0;
    struct fresh *fresh = MEM_NEW(&(struct fresh){.owner = owner});
    for (size_t i = 0; i < owner->options.topic_count; i++) {
        if (owner->options.topics[i].role != OWNER_STATE) continue;
        if (owner->options.topics[i].aged) fresh->states[fresh->state_count++] = states;
        states++;
    }
    if (!fresh->state_count) {
        free(fresh);
        return NULL;
    }
    fresh->parts = mem_zero(partitions, sizeof *fresh->parts);
    fresh->positions = mem_zero(partitions * fresh->state_count, sizeof *fresh->positions);
    fresh->question = question_new(&(struct question_options){
        .loop = owner->options.loop,
        .context = fresh,
        .prepare = prepare,
        .ask = ask,
        .answered = answered,
        .again_ms = EVERY_MS,
    });
    return fresh;
}

void fresh_free(struct fresh *fresh) {
    if (!fresh) return;
    question_free(fresh->question);
    free(fresh->parts);
    free(fresh->positions);
    free(fresh);
}

void fresh_start(struct fresh *fresh) {
    if (fresh) question_ask(fresh->question);
}

void fresh_stop(struct fresh *fresh) {
    if (fresh) question_cancel(fresh->question);
}

bool fresh_busy(const struct fresh *fresh) { return fresh && question_busy(fresh->question); }

void fresh_forget(struct fresh *fresh, int32_t partition) {
    if (fresh) fresh->parts[partition] = (struct fresh_part){.as_of_us = 0};
}

int64_t owner_age_ms(const struct owner *owner, int32_t partition) {
    const struct fresh *fresh = owner->fresh;
    if (!fresh) return INT64_MAX;
    settle(fresh, partition);
    int64_t as_of_us = fresh->parts[partition].as_of_us;
    return as_of_us ? (clock_monotonic_us() - as_of_us) / 1000 + 1 : INT64_MAX;
}
