#include "moderation/intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/worker.h"
#include "event/topics.h"
#include "moderation/batch.h"
#include "question/question.h"

enum {
    BATCH_RECORDS = 5000,
    BATCH_BYTES = 8 << 20,
    ASK_TIMEOUT_MS = 2000,
    TICK_MS = 1000,
    CURRENT_EVERY_S = 600,
};

/* A partition of one of the topics. */
struct intake_place {
    const struct topic *topic;
    int32_t partition;
};

struct intake {
    struct intake_options options;
    struct intake_place *places; /* all that are read */
    int32_t place_count;
    struct codec *codec, *writers_codec;
    struct kafka_consumer *consumer;
    struct worker *worker;
    struct question *question;    /* where the places end */
    struct kafka_position *ends;  /* the question's while it is asked */
    struct kafka_position *owned; /* what the group gave this process */
    size_t owned_count;
    struct loop_timer *timer;
    int64_t *taken, *written; /* by place: the next offset; -1: the beginning */

    struct batch *gathering, *writing;
    enum { IDLE, WRITING, FORGETTING, NOTING, REFUSED } at_work; /* REFUSED: the disk did not take `writing` */
    int work_code;                                               /* of the worker's last job */
    struct error work_error;

    bool assigned, reading, ready, stopping;
    bool failing, to_commit;
    bool forget; /* the index is to be begun anew, as soon as the worker is free */
    int64_t current_us, rows;
    struct metric *records, *bad, *failures;
};

static void go_on(struct intake *intake);

static void tell_ready(struct intake *intake, bool ready) {
    if (intake->ready == ready) return;
    intake->ready = ready;
    service_ready(intake->options.service, "comments", ready);
}

/* ---- the worker ---- */

static void write_batch(void *context) {
    struct intake *intake = context;
    intake->work_code = batch_write(intake->writing, intake->writers_codec, intake->options.index, &intake->work_error);
}

static void forget_index(void *context) {
    struct intake *intake = context;
    intake->work_code = index_forget(intake->options.index, &intake->work_error);
}

static void note_current(void *context) {
    struct intake *intake = context;
    intake->work_code = index_current(intake->options.index, &intake->work_error);
}

static void read_marks(struct intake *intake) {
    intake->rows = index_rows(intake->options.index);
    for (int32_t p = 0; p < intake->place_count; p++) intake->written[p] = index_next(intake->options.index, p);
}

static void forgotten(struct intake *intake) {
    batch_clear(intake->writing);
    batch_clear(intake->gathering);
    read_marks(intake);
    memcpy(intake->taken, intake->written, (size_t)intake->place_count * sizeof *intake->taken);
    intake->forget = false;
    if (intake->assigned) question_ask(intake->question);
}

/* The worker does again what failed: `writing` and `forget` are as they were. */
static void refused(struct intake *intake) {
    intake->failures->value++;
    if (!intake->failing)
        log_error(service_log(intake->options.service), "the search index cannot be written; it is tried again",
                  LOG_TEXT("reason", intake->work_error.text));
    intake->failing = true;
    intake->forget |= intake->work_code == -EBADMSG;
    intake->at_work = REFUSED; // until the next tick
}

static void worked(void *context) {
    struct intake *intake = context;
    int job = intake->at_work;
    intake->at_work = IDLE;
    if (intake->work_code) {
        refused(intake);
    } else {
        intake->failing = false;
        if (job == FORGETTING) forgotten(intake);
        if (job == WRITING) {
            batch_clear(intake->writing);
            read_marks(intake);
            intake->to_commit = true;
        }
    }
    go_on(intake);
}

static void work(struct intake *intake, int job, loop_fn *fn) {
    intake->at_work = job;
    worker_run(intake->worker, fn, worked, intake);
}

/* ---- what is to be done next ---- */

static bool is_full(const struct batch *batch) {
    return batch_count(batch) >= BATCH_RECORDS || batch_bytes(batch) >= BATCH_BYTES;
}

static bool reached_the_ends(const struct intake *intake) {
    if (!intake->reading || batch_count(intake->writing) || batch_count(intake->gathering)) return false;
    for (int32_t p = 0; p < intake->place_count; p++) {
        const struct intake_place *place = &intake->places[p];
        if (kafka_consumer_position(intake->consumer, place->topic, place->partition) < intake->ends[p].offset)
            return false;
    }
    return true;
}

/* Begins the worker's next job, if there is one. */
static void find_work(struct intake *intake) {
    int64_t now = clock_monotonic_us();
    if (intake->at_work != IDLE || intake->stopping) return;
    if (intake->forget) {
        intake->reading = false;
        tell_ready(intake, false);
        question_cancel(intake->question);
        work(intake, FORGETTING, forget_index);
        return;
    }
    if (!batch_count(intake->writing) && batch_count(intake->gathering)) {
        struct batch *gathered = intake->gathering;
        intake->gathering = intake->writing;
        intake->writing = gathered;
    }
    if (batch_count(intake->writing)) {
        work(intake, WRITING, write_batch);
    } else if (intake->ready && now - intake->current_us > (int64_t)CURRENT_EVERY_S * 1000000) {
        intake->current_us = now;
        work(intake, NOTING, note_current);
    }
}

static void go_on(struct intake *intake) {
    find_work(intake);
    kafka_consumer_hold(intake->consumer, intake->stopping || intake->forget || is_full(intake->gathering));
    if (!intake->stopping && !intake->ready && reached_the_ends(intake)) tell_ready(intake, true);
}

/* ---- where to read ---- */

/* A question is about one topic, and the places of a topic stand together. */
static int ask(void *context, struct error *error) {
    struct intake *intake = context;
    int code = 0;
    for (int32_t p = 0, first = 0; !code && p < intake->place_count; p++) {
        const struct intake_place *place = &intake->places[p];
        intake->ends[p] = (struct kafka_position){place->topic, place->partition, KAFKA_OFFSET_NONE};
        if (p + 1 < intake->place_count && place[1].topic == place->topic) continue;
        code =
            kafka_consumer_ends(intake->consumer, &intake->ends[first], (size_t)(p + 1 - first), ASK_TIMEOUT_MS, error);
        first = p + 1;
    }
    return code;
}

static void failed(void *context, int code, const char *reason) {
    struct intake *intake = context;
    log_debug(service_log(intake->options.service), "waiting for the ends of the topic", LOG_TEXT("reason", reason));
}

/* A topic that ends before what was read of it is another topic. */
static bool is_another(const struct intake *intake) {
    for (int32_t p = 0; p < intake->place_count; p++)
        if (intake->taken[p] > intake->ends[p].offset) return true;
    return false;
}

static void begin_anew(struct intake *intake, const char *why) {
    log_warn(service_log(intake->options.service), "the search index is begun anew", LOG_TEXT("reason", why));
    intake->forget = true;
    intake->reading = false;
    go_on(intake);
}

static void answered(void *context) {
    struct intake *intake = context;
    struct error error = {.text = ""};
    if (!intake->assigned || intake->forget) return;
    if (is_another(intake)) {
        begin_anew(intake, "the topic ends before what was read of it");
        return;
    }
    size_t count = (size_t)intake->place_count;
    struct kafka_position *from = mem_alloc(count * sizeof *from);
    for (size_t p = 0; p < count; p++)
        from[p] = (struct kafka_position){intake->places[p].topic, intake->places[p].partition,
                                          intake->taken[p] < 0 ? KAFKA_OFFSET_BEGINNING : intake->taken[p]};
    int code = kafka_consumer_read(intake->consumer, from, count, &error);
    free(from);
    intake->reading = code == 0;
    if (code) question_ask_later(intake->question, TICK_MS);
}

static void assigned(void *context, const struct kafka_position *owned, size_t count) {
    struct intake *intake = context;
    intake->owned = mem_resize(intake->owned, count + 1, sizeof *intake->owned);
    memcpy(intake->owned, owned, count * sizeof *owned);
    intake->owned_count = count;
    intake->assigned = intake->to_commit = true;
    if (!intake->stopping && !intake->forget) question_ask(intake->question);
}

static void revoked(void *context, bool lost) {
    struct intake *intake = context;
    intake->owned_count = 0;
    intake->assigned = intake->reading = false;
    question_cancel(intake->question);
}

static void offset_lost(void *context, const struct topic *topic, int32_t partition) {
    struct intake *intake = context;
    if (!intake->stopping && !intake->forget) begin_anew(intake, "Kafka has lost what was to be read next");
}

static void given_up(void *context, const char *reason) {
    service_fail(((struct intake *)context)->options.service, reason); // a member again only as a new process
}

/* ---- records ---- */

static int32_t place_of(const struct intake *intake, const struct topic *topic, int32_t partition) {
    int32_t place = 0;
    while (intake->places[place].topic != topic) place++;
    return place + partition;
}

static void take(void *context, const struct kafka_record *records, size_t count) {
    struct intake *intake = context;
    if (intake->stopping || intake->forget || !intake->reading) return;
    for (size_t i = 0; i < count; i++) {
        struct error error = {.text = ""};
        int32_t place = place_of(intake, records[i].topic, records[i].partition);
        int checked = batch_check(intake->codec, &records[i], &error);
        if (checked < 0) {
            intake->bad->value++;
            kafka_producer_send_dead(intake->options.dead_letters, &records[i], error.text);
        }
        intake->records->value++;
        tracer_keep(service_kafka(intake->options.service)->tracer);
        intake->taken[place] = records[i].offset + 1;
        batch_add(intake->gathering, &records[i], place, checked == 0);
    }
    go_on(intake);
}

static void drained(void *context) { go_on(context); }

/* ---- now and then ---- */

/* For tools that show a group's lag: the index has its own offsets. */
static void commit(struct intake *intake) {
    struct kafka_position *positions = mem_alloc((intake->owned_count + 1) * sizeof *positions);
    size_t count = 0;
    for (size_t i = 0; i < intake->owned_count; i++) {
        positions[count] = intake->owned[i];
        positions[count].offset = intake->written[place_of(intake, intake->owned[i].topic, intake->owned[i].partition)];
        count += positions[count].offset >= 0;
    }
    kafka_consumer_commit(intake->consumer, positions, count);
    free(positions);
    intake->to_commit = false;
}

static void ticked(void *context) {
    struct intake *intake = context;
    if (intake->at_work == REFUSED) intake->at_work = IDLE;
    if (intake->reading && intake->to_commit) commit(intake);
    go_on(intake);
}

static void collect(void *context) {
    struct intake *intake = context;
    int64_t lag = 0;
    for (int32_t p = 0; p < intake->place_count; p++) {
        const struct intake_place *place = &intake->places[p];
        int64_t waiting = intake->reading ? kafka_consumer_lag(intake->consumer, place->topic, place->partition) : -1;
        if (waiting > 0) lag += waiting;
    }
    lag += (int64_t)(batch_count(intake->gathering) + batch_count(intake->writing));
    const struct metric_now now[] = {
        {"starling_moderation_comments", "Comments in the search index.", (double)intake->rows},
        {"starling_moderation_lag_records",
         "Records of comments and posts that Kafka has and the search index has not.", (double)lag},
    };
    metrics_set(service_metrics(intake->options.service), now, ARRAY_SIZE(now));
}

static void make_metrics(struct intake *intake, struct metrics *metrics) {
    intake->records =
        metrics_counter(metrics, "starling_moderation_records_total", "Records of comments and posts read.", NULL);
    intake->bad = metrics_counter(metrics, "starling_moderation_bad_records_total",
                                  "Records that are none of their topic and went to the dead letter queue.", NULL);
    intake->failures = metrics_counter(metrics, "starling_moderation_write_failures_total",
                                       "Writes to the search index that failed (tried again).", NULL);
    metrics_on_collect(metrics, collect, intake);
}

/* ---- the outside ---- */

static int start_consumer(struct intake *intake, struct error *error) {
    static const struct topic *const SUBSCRIBED[] = {&TOPIC_COMMENTS_WIDE};
    struct service *service = intake->options.service;
    return kafka_consumer_new(
        &(struct kafka_consumer_options){
            .loop = service_loop(service),
            .settings = service_kafka(service),
            .group = intake->options.group,
            .instance_id = service_settings(service)->group_instance_id,
            .subscribe = SUBSCRIBED,
            .subscribe_count = ARRAY_SIZE(SUBSCRIBED),
            .context = intake,
            .on_records = take,
            .on_assigned = assigned,
            .on_revoked = revoked,
            .on_drained = drained,
            .on_offset_lost = offset_lost,
            .on_fatal = given_up,
        },
        &intake->consumer, error);
}

int32_t intake_places(int32_t subjects, int32_t users) { return 2 * subjects + 2 * users; }

static void make_places(struct intake *intake) {
    const struct {
        const struct topic *topic;
        int32_t partitions;
    } topics[] = {{&TOPIC_COMMENTS_WIDE, intake->options.partitions},
                  {&TOPIC_MODERATION_LOG, intake->options.partitions},
                  {&TOPIC_POSTS, intake->options.user_partitions},
                  {&TOPIC_POST_TEXTS, intake->options.user_partitions}};
    for (size_t t = 0; t < ARRAY_SIZE(topics); t++)
        for (int32_t p = 0; p < topics[t].partitions; p++)
            intake->places[intake->place_count++] = (struct intake_place){topics[t].topic, p};
}

int intake_new(const struct intake_options *options, struct intake **out, struct error *error) {
    size_t places = (size_t)intake_places(options->partitions, options->user_partitions);
    uv_loop_t *loop = service_loop(options->service);
    struct intake *intake = MEM_NEW(&(struct intake){
        .options = *options,
        .codec = codec_new(),
        .writers_codec = codec_new(),
        .worker = worker_new(loop),
        .ends = mem_zero(places, sizeof *intake->ends),
        .taken = mem_zero(places, sizeof *intake->taken),
        .written = mem_zero(places, sizeof *intake->written),
        .places = mem_zero(places, sizeof *intake->places),
        .gathering = batch_new(),
        .writing = batch_new(),
        .at_work = IDLE,
    });
    make_places(intake);
    read_marks(intake);
    memcpy(intake->taken, intake->written, places * sizeof *intake->taken);
    int code = start_consumer(intake, error);
    if (code) {
        intake_free(intake);
        return code;
    }
    make_metrics(intake, service_metrics(options->service));
    intake->timer = loop_timer_new(loop, TICK_MS, TICK_MS, ticked, intake);
    intake->question = question_new(&(struct question_options){
        .loop = loop,
        .worker = intake->worker,
        .context = intake,
        .ask = ask,
        .answered = answered,
        .failed = failed,
        .again_ms = TICK_MS,
    });
    *out = intake;
    return 0;
}

bool intake_ready(const struct intake *intake) { return intake->ready; }

void intake_damaged(struct intake *intake) {
    if (!intake->stopping && !intake->forget) begin_anew(intake, "a search found it damaged");
}

void intake_stop(struct intake *intake) {
    intake->stopping = true;
    question_cancel(intake->question);
    kafka_consumer_hold(intake->consumer, true);
    loop_timer_stop(intake->timer);
}

bool intake_busy(const struct intake *intake) { return worker_busy(intake->worker) || question_busy(intake->question); }

void intake_free(struct intake *intake) {
    if (!intake) return;
    loop_timer_free(intake->timer);
    question_free(intake->question);
    worker_free(intake->worker);
    kafka_consumer_free(intake->consumer);
    batch_free(intake->gathering);
    batch_free(intake->writing);
    codec_free(intake->codec);
    codec_free(intake->writers_codec);
    free(intake->ends);
    free(intake->owned);
    free(intake->taken);
    free(intake->written);
    free(intake->places);
    free(intake);
}
