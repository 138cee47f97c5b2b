#include "copies/copies.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "question/question.h"

enum { ASK_TIMEOUT_MS = 2000, RETRY_MS = 1000, CURRENT_EVERY_MS = 600 * 1000 };

struct copy {
    struct copy_definition definition;
    struct kafka_position *ends; /* [partitions]: where the topic ended; the question's while it is asked */
    bool stuck;                  /* its disk refused a write; its partitions are paused until it is open again */
    struct metric *records, *bad;
};

struct copies {
    struct copies_options options;
    struct copy *items;
    size_t count;
    struct kafka_consumer *consumer;
    struct question *question; /* where the topics end */
    struct loop_timer *timer;  /* opens stuck copies; else, once ready, notes that those on disk are current */
    int64_t current_at_us;
    bool reading; /* the ends are known, and all is read */
    bool ready, closing;
    struct metric *ready_gauge, *store_failures;
};

/* ---- where the topics end ---- */

/* All within one time limit, as the end of the process waits for it. */
static int ask(void *context, struct error *error) {
    struct copies *copies = context;
    size_t partitions = (size_t)copies->options.partitions;
    int64_t deadline_us = clock_monotonic_us() + ASK_TIMEOUT_MS * INT64_C(1000);
    int code = 0;
    for (size_t i = 0; !code && i < copies->count; i++) {
        struct copy *copy = &copies->items[i];
        for (size_t p = 0; p < partitions; p++)
            copy->ends[p] = (struct kafka_position){copy->definition.topic, (int32_t)p, KAFKA_OFFSET_NONE};
        int64_t left_ms = (deadline_us - clock_monotonic_us()) / 1000;
        code = kafka_consumer_ends(copies->consumer, copy->ends, partitions, left_ms > 1 ? (int)left_ms : 1, error);
    }
    return code;
}

static void failed(void *context, int code, const char *reason) {
    struct copies *copies = context;
    log_debug(copies->options.log, "waiting for the ends of the copied topics", LOG_TEXT("error", reason));
}

/* ---- reading ---- */

static int64_t start_of(const struct copy *copy, int32_t partition) {
    int64_t next = copy->definition.disk ? copy_disk_next(copy->definition.disk, partition) : -1;
    return next < 0 ? KAFKA_OFFSET_BEGINNING : next;
}

static int read_all(struct copies *copies, struct error *error) {
    size_t partitions = (size_t)copies->options.partitions, count = 0;
    struct kafka_position *list = mem_alloc((copies->count * partitions + 1) * sizeof *list);
    for (size_t i = 0; i < copies->count; i++) {
        struct copy *copy = &copies->items[i];
        for (int32_t p = 0; p < copies->options.partitions; p++)
            list[count++] = (struct kafka_position){copy->definition.topic, p, start_of(copy, p)};
    }
    int code = kafka_consumer_read(copies->consumer, list, count, error);
    free(list);
    return code;
}

static void pause_copy(struct copies *copies, const struct copy *copy) {
    for (int32_t p = 0; p < copies->options.partitions; p++)
        kafka_consumer_pause(copies->consumer, copy->definition.topic, p);
}

/* reason NULL: the disk works again. */
static void tell_disk(const struct copies *copies, const struct copy *copy, const char *reason) {
    const struct copies_options *options = &copies->options;
    const struct topic *topic = copy->definition.topic;
    if (options->on_disk)
        options->on_disk(options->context, topic, reason);
    else if (reason)
        log_error(options->log, "a copy on disk failed; it is tried again each second", LOG_TEXT("topic", topic->name),
                  LOG_TEXT("reason", reason));
    else
        log_info(options->log, "a copy on disk goes on", LOG_TEXT("topic", topic->name));
}

/* The disk has refused something, and is closed. */
static void stop(struct copies *copies, struct copy *copy, const struct error *error) {
    copies->store_failures->value++;
    if (!copy->stuck) tell_disk(copies, copy, error->text);
    copy->stuck = true;
    pause_copy(copies, copy);
    loop_timer_again(copies->timer, RETRY_MS, RETRY_MS);
}

/* Goes on from where each partition was written last. */
static int read_copy_anew(struct copies *copies, const struct copy *copy, struct error *error) {
    int code = 0;
    for (int32_t p = 0; !code && p < copies->options.partitions; p++) {
        struct kafka_position from = {copy->definition.topic, p, start_of(copy, p)};
        code = kafka_consumer_seek(copies->consumer, &from, error);
        if (!code) code = kafka_consumer_resume(copies->consumer, copy->definition.topic, p);
    }
    return code;
}

static int forget(struct copy *copy, struct error *error) {
    if (copy->definition.disk) return copy_disk_forget(copy->definition.disk, error);
    copy->definition.forget(copy->definition.context);
    return 0;
}

/* A topic that ends before what was read of it is another topic. */
static bool is_another(const struct copies *copies, const struct copy *copy) {
    for (int32_t p = 0; copy->definition.disk && p < copies->options.partitions; p++)
        if (copy_disk_next(copy->definition.disk, p) > copy->ends[p].offset) return true;
    return false;
}

static void answered(void *context) {
    struct copies *copies = context;
    struct error error = {.text = ""};
    for (size_t i = 0; i < copies->count; i++) {
        struct copy *copy = &copies->items[i];
        if (is_another(copies, copy) && copy_disk_forget(copy->definition.disk, &error)) stop(copies, copy, &error);
    }
    if (read_all(copies, &error)) {
        log_debug(copies->options.log, "the copied topics cannot be read yet", LOG_TEXT("error", error.text));
        question_ask_later(copies->question, RETRY_MS);
        return;
    }
    copies->reading = true;
    for (size_t i = 0; i < copies->count; i++)
        if (copies->items[i].stuck) pause_copy(copies, &copies->items[i]);
}

static bool reached_the_end(const struct copies *copies, const struct copy *copy) {
    if (copy->stuck) return false;
    for (int32_t p = 0; p < copies->options.partitions; p++)
        if (kafka_consumer_position(copies->consumer, copy->definition.topic, p) < copy->ends[p].offset) return false;
    return true;
}

/* A failure costs reading the copy again after the next start. */
static void note_current(struct copies *copies) {
    copies->current_at_us = clock_monotonic_us();
    for (size_t i = 0; i < copies->count; i++) {
        struct copy *copy = &copies->items[i];
        struct error error = {.text = ""};
        if (!copy->definition.disk || !reached_the_end(copies, copy)) continue;
        if (copy_disk_current(copy->definition.disk, &error)) stop(copies, copy, &error);
    }
}

static void drained(void *context) {
    struct copies *copies = context;
    if (copies->closing || copies->ready || !copies->reading) return;
    for (size_t i = 0; i < copies->count; i++)
        if (!reached_the_end(copies, &copies->items[i])) return;
    copies->ready = true;
    copies->ready_gauge->value = 1;
    note_current(copies);
    if (copies->options.on_ready) copies->options.on_ready(copies->options.context);
}

/* Opens the store of a stuck copy. */
static void try_again(struct copies *copies, struct copy *copy) {
    struct error error = {.text = ""};
    int code = copy_disk_reopen(copy->definition.disk, &error);
    if (!code && copies->reading) code = read_copy_anew(copies, copy, &error);
    if (code) {
        copies->store_failures->value++;
        log_debug(copies->options.log, "a copy on disk still fails", LOG_TEXT("topic", copy->definition.topic->name),
                  LOG_TEXT("reason", error.text));
        return;
    }
    copy->stuck = false;
    tell_disk(copies, copy, NULL);
}

static void ticked(void *context) {
    struct copies *copies = context;
    for (size_t i = 0; i < copies->count; i++)
        if (copies->items[i].stuck) try_again(copies, &copies->items[i]);
    drained(copies);
    int64_t since_us = clock_monotonic_us() - copies->current_at_us;
    if (copies->ready && since_us >= (int64_t)CURRENT_EVERY_MS * 1000) note_current(copies);
}

static struct copy *copy_of(struct copies *copies, const struct topic *topic) {
    for (size_t i = 0; i < copies->count; i++)
        if (copies->items[i].definition.topic == topic) return &copies->items[i];
    return NULL;
}

static void offset_lost(void *context, const struct topic *topic, int32_t partition) {
    struct copies *copies = context;
    struct copy *copy = copy_of(copies, topic);
    struct error error = {.text = ""};
    if (copies->closing || !copy || copy->stuck) return;
    log_debug(copies->options.log, "Kafka has lost what was read of a copied topic: it is read anew",
              LOG_TEXT("topic", topic->name), LOG_INT("partition", partition));
    if (forget(copy, &error))
        stop(copies, copy, &error);
    else if (read_copy_anew(copies, copy, &error))
        log_debug(copies->options.log, "a copied topic cannot be read anew", LOG_TEXT("reason", error.text));
}

/* ---- records ---- */

/* false: it went to the dead letters. */
static bool apply(struct copies *copies, struct copy *copy, const struct kafka_record *record) {
    struct error error = {.text = ""};
    struct copy_disk *disk = copy->definition.disk;
    copy->records->value++;
    int code = copy->definition.apply(copy->definition.context, record, &error);
    if (code) {
        copy->bad->value++;
        kafka_producer_send_dead(copies->options.dead_letters, record, error.text);
    } else if (disk) {
        copy_disk_put(disk, record->key, record->key_size, record->value, record->value_size);
    }
    if (disk) copy_disk_reached(disk, record->partition, record->offset + 1);
    return !code;
}

static void write_disks(struct copies *copies) {
    for (size_t i = 0; i < copies->count; i++) {
        struct copy *copy = &copies->items[i];
        struct error error = {.text = ""};
        if (!copy->definition.disk || copy->stuck) continue;
        if (copy_disk_write(copy->definition.disk, &error)) stop(copies, copy, &error);
    }
}

static void take(void *context, const struct kafka_record *records, size_t count) {
    struct copies *copies = context;
    if (copies->closing) return;
    bool *applied = mem_zero(count + 1, sizeof *applied);
    for (size_t i = 0; i < count; i++) {
        struct copy *copy = copy_of(copies, records[i].topic);
        if (copy && !copy->stuck) applied[i] = apply(copies, copy, &records[i]);
    }
    write_disks(copies);
    for (size_t i = 0; copies->ready && i < count; i++) {
        // Those of a copy that has just become stuck come again.
        const struct copy *copy = copy_of(copies, records[i].topic);
        if (!applied[i] || copy->stuck || !copy->definition.changed) continue;
        copy->definition.changed(copy->definition.context, &records[i]);
    }
    free(applied);
}

/* ---- the outside ---- */

static void make_metrics(struct copies *copies) {
    struct metrics *metrics = copies->options.metrics;
    for (size_t i = 0; i < copies->count; i++) {
        struct copy *copy = &copies->items[i];
        char *labels = mem_format("topic=\"%s\"", copy->definition.topic->name);
        copy->records =
            metrics_counter(metrics, "starling_copies_records_total", "Records read into the local copies.", labels);
        copy->bad = metrics_counter(metrics, "starling_copies_bad_records_total",
                                    "Records that could not be read and went to the dead letter queue.", labels);
        free(labels);
    }
    copies->ready_gauge =
        metrics_gauge(metrics, "starling_copies_ready", "1 once the local copies were read to the end.", NULL);
    copies->store_failures = metrics_counter(metrics, "starling_copies_store_failures_total",
                                             "Writes that the disk of a local copy refused (tried again).", NULL);
}

/* The question is through: nothing uses the consumer any more. */
static void destroy(void *context) {
    struct copies *copies = context;
    kafka_consumer_free(copies->consumer);
    for (size_t i = 0; i < copies->count; i++) free(copies->items[i].ends);
    free(copies->items);
    free(copies);
}

int copies_new(const struct copies_options *options, struct copies **out, struct error *error) {
    struct copies *copies = MEM_NEW(&(struct copies){
        .options = *options,
        .items = mem_zero(options->count, sizeof *copies->items),
        .count = options->count,
    });
    for (size_t i = 0; i < options->count; i++) {
        copies->items[i] = (struct copy){
            .definition = options->definitions[i],
            .ends = mem_zero((size_t)options->partitions, sizeof *copies->items[i].ends),
        };
    }
    make_metrics(copies);
    struct kafka_consumer_options reading = {
        .loop = options->loop,
        .settings = options->settings,
        .context = copies,
        .on_records = take,
        .on_drained = drained,
        .on_offset_lost = offset_lost,
    };
    int code = kafka_consumer_new(&reading, &copies->consumer, error);
    if (code) {
        destroy(copies);
        return code;
    }
    copies->timer = loop_timer_new(options->loop, RETRY_MS, RETRY_MS, ticked, copies);
    copies->question = question_new(&(struct question_options){
        .loop = options->loop,
        .context = copies,
        .ask = ask,
        .answered = answered,
        .failed = failed,
        .again_ms = RETRY_MS,
        .freed = destroy,
    });
    question_ask(copies->question);
    *out = copies;
    return 0;
}

void copies_free(struct copies *copies) {
    if (!copies) return;
    copies->closing = true;
    loop_timer_free(copies->timer);
    question_free(copies->question);
}

bool copies_ready(const struct copies *copies) { return copies->ready; }
