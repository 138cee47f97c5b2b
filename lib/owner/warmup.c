#include "owner/warmup.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "question/question.h"

enum { ASK_TIMEOUT_MS = 10000, AGAIN_MS = 500, LOOK_MS = 10, NEARLY = 1000 };

enum part_of_window { NEWEST, REST };

struct warmup {
    struct warmup_options options;
    struct kafka_consumer *consumer;
    struct question *question; /* where the part at hand begins */
    struct loop_timer *timer;  /* looks whether it is read; NULL: all is */
    enum part_of_window reading;
    bool reading_now, stopped;

    struct kafka_position *from; /* of the part at hand, by partition */
    int64_t *until;
    int64_t *first, *next; /* as told to on_first */
};

static void take(void *context, const struct kafka_record *records, size_t count) {
    struct warmup *warmup = context;
    warmup->options.on_records(warmup->options.context, records, count);
}

/* ---- where it begins ---- */

static int ask_start(struct warmup *warmup, int64_t since_ms, struct error *error) {
    for (int32_t p = 0; p < warmup->options.partitions; p++)
        warmup->from[p] =
            (struct kafka_position){.topic = warmup->options.topic, .partition = p, .offset = KAFKA_OFFSET_NONE};
    return kafka_consumer_offsets_at(warmup->consumer, warmup->from, (size_t)warmup->options.partitions, since_ms,
                                     ASK_TIMEOUT_MS, error);
}

static int ask(void *context, struct error *error) {
    struct warmup *warmup = context;
    const struct warmup_options *options = &warmup->options;
    int64_t now = clock_wall_ms();
    if (warmup->reading == REST && options->window_ms >= 0) return ask_start(warmup, now - options->window_ms, error);
    for (int32_t p = 0; p < options->partitions; p++) {
        int64_t low, high;
        int code = kafka_consumer_watermarks(warmup->consumer, options->topic, p, &low, &high, ASK_TIMEOUT_MS, error);
        if (code) return code;
        warmup->from[p] = (struct kafka_position){.topic = options->topic, .partition = p, .offset = low};
        if (warmup->reading == NEWEST) warmup->until[p] = high;
    }
    return warmup->reading == NEWEST ? ask_start(warmup, now - options->first_ms, error) : 0;
}

static void failed(void *context, int code, const char *reason) {
    struct warmup *warmup = context;
    log_warn(warmup->options.log, "recent input cannot be read yet", LOG_TEXT("reason", reason));
}

static void answered(void *context) {
    struct warmup *warmup = context;
    struct kafka_position *read = mem_alloc((size_t)warmup->options.partitions * sizeof *read);
    struct error error;
    size_t count = 0;
    for (int32_t p = 0; p < warmup->options.partitions; p++)
        if (warmup->from[p].offset < warmup->until[p]) read[count++] = warmup->from[p];
    int code = kafka_consumer_read(warmup->consumer, read, count, &error);
    free(read);
    warmup->reading_now = !code;
    if (!code) {
        loop_timer_again(warmup->timer, LOOK_MS, LOOK_MS);
        return;
    }
    failed(warmup, code, error.text);
    question_ask_later(warmup->question, AGAIN_MS);
}

/* ---- reading ---- */

/* The newest part is read on for as long as more has come in the meantime: the partitions that the group gives wait for what
 * is missing. */
static bool all_read(const struct warmup *warmup) {
    const struct topic *topic = warmup->options.topic;
    for (int32_t p = 0; p < warmup->options.partitions; p++) {
        if (warmup->from[p].offset >= warmup->until[p]) continue;
        if (kafka_consumer_position(warmup->consumer, topic, p) < warmup->until[p]) return false;
        if (warmup->reading == NEWEST && kafka_consumer_lag(warmup->consumer, topic, p) > NEARLY) return false;
    }
    return true;
}

static void newest_done(struct warmup *warmup) {
    for (int32_t p = 0; p < warmup->options.partitions; p++) {
        int64_t position = kafka_consumer_position(warmup->consumer, warmup->options.topic, p);
        warmup->first[p] = warmup->from[p].offset;
        warmup->next[p] = warmup->first[p] < warmup->until[p] ? position : warmup->first[p];
        warmup->until[p] = warmup->first[p]; // where the rest ends
    }
    warmup->reading = REST;
    warmup->options.on_first(warmup->options.context, warmup->first, warmup->next);
}

static void rest_done(struct warmup *warmup) {
    loop_timer_free(warmup->timer);
    warmup->timer = NULL;
    kafka_consumer_free(warmup->consumer);
    warmup->consumer = NULL;
    warmup->options.on_done(warmup->options.context);
}

static void look(void *context) {
    struct warmup *warmup = context;
    if (warmup->stopped || !warmup->reading_now || !all_read(warmup)) return;
    warmup->reading_now = false;
    if (warmup->reading == REST) {
        rest_done(warmup);
        return;
    }
    newest_done(warmup);
    question_ask(warmup->question);
}

/* ---- beginning and end ---- */

int warmup_new(const struct warmup_options *options, struct warmup **out, struct error *error) {
    size_t partitions = (size_t)options->partitions;
    struct warmup *warmup = mem_alloc(sizeof *warmup);
    *warmup = (struct warmup){
        .options = *options,
        .timer = loop_timer_new(options->loop, LOOK_MS, LOOK_MS, look, warmup),
        .reading = NEWEST,
        .from = mem_zero(partitions, sizeof *warmup->from),
        .until = mem_zero(partitions, sizeof *warmup->until),
        .first = mem_zero(partitions, sizeof *warmup->first),
        .next = mem_zero(partitions, sizeof *warmup->next),
    };
    struct question_options question = {
        .loop = options->loop,
        .context = warmup,
        .ask = ask,
        .answered = answered,
        .failed = failed,
        .again_ms = AGAIN_MS,
    };
    warmup->question = question_new(&question);
    struct kafka_consumer_options consumer = {
        .loop = options->loop,
        .settings = options->kafka,
        .batch = options->batch,
        .context = warmup,
        .on_records = take,
    };
    int code = kafka_consumer_new(&consumer, &warmup->consumer, error);
    if (code) {
        warmup_free(warmup);
        return code;
    }
    question_ask(warmup->question);
    *out = warmup;
    return 0;
}

void warmup_stop(struct warmup *warmup) {
    if (!warmup) return;
    warmup->stopped = true;
    question_cancel(warmup->question);
}

void warmup_free(struct warmup *warmup) {
    if (!warmup) return;
    question_free(warmup->question);
    loop_timer_free(warmup->timer);
    kafka_consumer_free(warmup->consumer);
    free(warmup->from);
    free(warmup->until);
    free(warmup->first);
    free(warmup->next);
    free(warmup);
}

bool warmup_busy(const struct warmup *warmup) { return warmup && question_busy(warmup->question); }
