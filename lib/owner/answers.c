#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "decider/decider.h"
#include "owner/private.h"
#include "question/question.h"

enum { ASK_TIMEOUT_MS = 10000, AGAIN_MS = 300 };

struct asked_partition {
    int32_t partition;
    struct stages_answer answer;
    int64_t offsets_end; /* of options.offsets */
    int64_t command_ends[STAGES_TOPICS_MAX];
};

/* Committed offsets and ends of owned partitions. `items` is the worker's while it asks. */
struct answers {
    struct owner *owner;
    struct question *question;
    bool wanted;
    struct asked_partition *items;
    size_t count;
    struct kafka_position *positions; /* room for all topics of all partitions */
    int32_t *fenced;                  /* partitions of the fence that is under way */
    size_t fenced_count;
};

static void prepare(void *context) {
    struct answers *answers = context;
    const struct owner *owner = answers->owner;
    answers->count = 0;
    for (int32_t p = 0; p < owner->options.partitions; p++) {
        if (!stages_owned(owner->stages, p)) continue;
        struct asked_partition *item = &answers->items[answers->count++];
        memset(item, 0, sizeof *item);
        item->partition = p;
    }
}

/* The positions of one role's topics, partition by partition. */
static size_t put_topics(struct answers *answers, const struct topic *const *topics, size_t topic_count, size_t at) {
    for (size_t i = 0; i < answers->count; i++) {
        for (size_t t = 0; t < topic_count; t++)
            answers->positions[at++] = (struct kafka_position){
                .topic = topics[t], .partition = answers->items[i].partition, .offset = KAFKA_OFFSET_NONE};
    }
    return at;
}

static int ask_committed(struct answers *answers, struct error *error) {
    const struct owner *owner = answers->owner;
    size_t states = put_topics(answers, owner->inputs, owner->input_count, 0);
    size_t commands = put_topics(answers, owner->states, owner->state_count, states);
    size_t end = put_topics(answers, owner->commands, owner->command_count, commands);
    int code = kafka_consumer_committed(owner->consumer, answers->positions, end, ASK_TIMEOUT_MS, error);
    for (size_t i = 0; !code && i < answers->count; i++) {
        struct stages_answer *answer = &answers->items[i].answer;
        for (size_t t = 0; t < owner->input_count; t++)
            answer->inputs[t] = answers->positions[i * owner->input_count + t].offset;
        for (size_t t = 0; t < owner->state_count; t++)
            answer->states[t] = answers->positions[states + i * owner->state_count + t].offset;
        for (size_t t = 0; t < owner->command_count; t++)
            answer->commands[t] = answers->positions[commands + i * owner->command_count + t].offset;
    }
    return code;
}

/* Of all topics at once: each question may have to wait for a leader. */
static int ask_ends(struct answers *answers, struct error *error) {
    const struct owner *owner = answers->owner;
    size_t states = owner->state_count + (owner->options.offsets != NULL);
    size_t commands = put_topics(answers, owner->states, states, 0);
    size_t end = put_topics(answers, owner->commands, owner->command_count, commands);
    int code = kafka_consumer_ends(owner->changelogs, answers->positions, end, ASK_TIMEOUT_MS, error);
    for (size_t i = 0; !code && i < answers->count; i++) {
        struct asked_partition *item = &answers->items[i];
        for (size_t s = 0; s < owner->state_count; s++)
            item->answer.ends[s] = answers->positions[i * states + s].offset;
        if (owner->options.offsets) item->offsets_end = answers->positions[i * states + owner->state_count].offset;
        for (size_t c = 0; c < owner->command_count; c++)
            item->command_ends[c] = answers->positions[commands + i * owner->command_count + c].offset;
    }
    return code;
}

/* The ends after the committed offsets: whatever was written for commands before them is then below these ends. */
static int ask(void *context, struct error *error) {
    struct answers *answers = context;
    if (!answers->count) return 0;
    int code = ask_committed(answers, error);
    return code ? code : ask_ends(answers, error);
}

/* Where the decider knows a state to end; -1: it does not know. */
static int64_t decided_end(const struct owner *owner, size_t state, int32_t partition) {
    if (!owner->options.decider || state >= owner->state_count) return -1;
    return decider_end(owner->options.decider, owner->states[state], partition);
}

/* The decider knows better where its states end. */
static void correct_ends(const struct owner *owner, int32_t partition, struct stages_answer *answer) {
    for (size_t s = 0; s < owner->state_count; s++) {
        int64_t end = decided_end(owner, s, partition);
        answer->fenced[s] = end >= 0;
        if (end > answer->ends[s]) answer->ends[s] = end;
    }
}

static void take_fence(struct answers *answers, int code) {
    const struct owner *owner = answers->owner;
    for (size_t i = 0; i < answers->fenced_count; i++) {
        int32_t p = answers->fenced[i];
        int64_t ends[STAGES_TOPICS_MAX];
        for (size_t s = 0; s < STAGES_TOPICS_MAX; s++) {
            int64_t end = decided_end(owner, s, p);
            ends[s] = end < 0 ? INT64_MAX : end;
        }
        stages_fence_end(owner->stages, p, code ? NULL : ends);
    }
    answers->fenced_count = 0;
}

static void fence_over(void *context, int code) {
    struct answers *answers = context;
    take_fence(answers, code);
    owner_progress(answers->owner);
}

/* One at a time, of all partitions that wait for it. */
static void fence_try(struct answers *answers) {
    const struct owner *owner = answers->owner;
    struct decider *decider = owner->options.decider;
    size_t count = 0;
    if (!decider || answers->fenced_count || !decider_ready(decider) || decider_committing(decider)) return;
    for (int32_t p = 0; p < owner->options.partitions; p++)
        if (stages_fence_begin(owner->stages, p)) answers->fenced[count++] = p;
    if (!count) return;
    answers->fenced_count = count;
    if (decider_fence(decider, answers->fenced, count, answers, fence_over)) take_fence(answers, -EAGAIN);
}

static void answered(void *context) {
    struct answers *answers = context;
    struct owner *owner = answers->owner;
    struct error error;
    int code = 0;
    if (owner->stopped) return;
    for (size_t i = 0; !code && i < answers->count; i++) {
        struct asked_partition *item = &answers->items[i];
        if (!stages_owned(owner->stages, item->partition)) continue;
        correct_ends(owner, item->partition, &item->answer);
        changelogs_asked(owner, item->partition, item->offsets_end, item->command_ends);
        if (stages_answered(owner->stages, item->partition, &item->answer))
            code = changelogs_activate(owner, item->partition, &item->answer, &error);
    }
    if (!code) code = changelogs_read(owner, &error);
    if (code)
        owner_failed(owner, "state cannot be restored", &error);
    else
        owner_progress(owner);
}

static void failed(void *context, int code, const char *reason) {
    struct answers *answers = context;
    log_warn(answers->owner->options.log, "offsets of owned partitions cannot be had yet", LOG_TEXT("reason", reason));
}

struct answers *answers_new(struct owner *owner) {
    size_t partitions = (size_t)owner->options.partitions;
    struct answers *answers = MEM_NEW(&(struct answers){
        .owner = owner,
        .items = mem_zero(partitions, sizeof *answers->items),
        .fenced = mem_zero(partitions, sizeof *answers->fenced),
        .positions = mem_zero(partitions * (owner->options.topic_count + 1), sizeof *answers->positions),
    });
    struct question_options options = {
        .loop = owner->options.loop,
        .context = answers,
        .prepare = prepare,
        .ask = ask,
        .answered = answered,
        .failed = failed,
        .again_ms = AGAIN_MS,
    };
    answers->question = question_new(&options);
    return answers;
}

void answers_free(struct answers *answers) {
    if (!answers) return;
    question_free(answers->question);
    free(answers->fenced);
    free(answers->items);
    free(answers->positions);
    free(answers);
}

bool answers_busy(const struct answers *answers) { return answers && question_busy(answers->question); }

/* Not while a transaction is open: its end is part of the answer. */
void answers_try(struct answers *answers) {
    const struct owner *owner = answers->owner;
    if (!owner->assigned || owner->stopped) return;
    fence_try(answers);
    if (!answers->wanted) return;
    if (owner->options.decider && decider_committing(owner->options.decider)) return;
    answers->wanted = false;
    question_ask(answers->question);
}

void answers_want(struct answers *answers) {
    question_cancel(answers->question);
    answers->wanted = true;
    answers_try(answers);
}

void answers_forget(struct answers *answers) {
    question_cancel(answers->question);
    answers->wanted = false;
}
