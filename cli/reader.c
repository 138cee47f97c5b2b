#include "cli/reader.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"

enum { ASK_MS = 8000, TICK_MS = 100, PATIENCE_US = 10000000, STOP_SIGNALS = 2 };

/* One partition that is read.   start ... [ next ... ) end      end: when reading began */
struct stretch {
    int32_t partition;
    int64_t end;
    bool done;
};

struct topic_reader {
    const struct reader_options *options;
    uv_loop_t loop;
    struct loop_timer *tick;
    uv_signal_t signals[STOP_SIGNALS]; /* when following */
    struct kafka_consumer *consumer;
    struct stretch *stretches;
    size_t count;
    int64_t down_since_us; /* 0: up */
    char down_reason[256];
    int code;
    struct error *error;
};

int reader_shape(const struct kafka_settings *settings, struct topics_shape *shape, struct error *error) {
    struct kafka_admin *admin = NULL;
    int code = kafka_admin_new(settings, &admin, error);
    if (!code) code = kafka_topics_verify(admin, &TOPICS_ALL, shape, ASK_MS, error);
    if (code == -EHOSTDOWN) error_prefix(error, code, "no Kafka broker answers at %s", settings->bootstrap);
    if (code == -ENOENT) error_prefix(error, code, "\"starling topics create\" makes the topics");
    kafka_admin_free(admin);
    return code;
}

static struct stretch *stretch_of(struct topic_reader *reader, int32_t partition) {
    for (size_t i = 0; i < reader->count; i++) {
        if (reader->stretches[i].partition == partition) return &reader->stretches[i];
    }
    return NULL;
}

static void on_records(void *context, const struct kafka_record *records, size_t count) {
    struct topic_reader *reader = context;
    const struct reader_options *options = reader->options;
    for (size_t i = 0; i < count; i++) {
        const struct stretch *stretch = stretch_of(reader, records[i].partition);
        if (!stretch || records[i].offset >= stretch->end) continue;
        if (records[i].timestamp < options->from_ms || records[i].timestamp >= options->to_ms) continue;
        options->take(options->context, &records[i]);
    }
}

static void finish(struct topic_reader *reader, int code) {
    reader->code = code;
    uv_stop(&reader->loop);
}

static void look(void *context) {
    struct topic_reader *reader = context;
    size_t left = 0;
    for (size_t i = 0; i < reader->count; i++) {
        struct stretch *stretch = &reader->stretches[i];
        if (stretch->done) continue;
        if (kafka_consumer_position(reader->consumer, reader->options->topic, stretch->partition) >= stretch->end) {
            stretch->done = true;
            // What comes after the end is not wanted, and would hold up the others.
            kafka_consumer_pause(reader->consumer, reader->options->topic, stretch->partition);
        } else {
            left++;
        }
    }
    if (!left) {
        finish(reader, 0);
    } else if (reader->down_since_us && !reader->options->follow &&
               clock_monotonic_us() - reader->down_since_us > PATIENCE_US) {
        finish(reader, error_set(reader->error, -EHOSTDOWN, "no Kafka broker at %s any more: %s",
                                 reader->options->settings->bootstrap, reader->down_reason));
    }
}

static void on_drained(void *context) {
    struct topic_reader *reader = context;
    reader->options->drained(reader->options->context);
    look(reader);
}

static void on_broker(void *context, bool up, const char *reason) {
    struct topic_reader *reader = context;
    if (up) {
        reader->down_since_us = 0;
    } else if (!reader->down_since_us) {
        reader->down_since_us = clock_monotonic_us();
        snprintf(reader->down_reason, sizeof reader->down_reason, "%s", reason);
    }
}

static void on_signal(uv_signal_t *handle, int number) { finish(handle->data, 0); }

static int remaining_ms(int64_t deadline_us) {
    int64_t left = (deadline_us - clock_monotonic_us()) / 1000;
    return left > 1 ? (int)left : 1;
}

/* Where a partition ends for us. */
static int find_end(struct topic_reader *reader, int32_t partition, int64_t *low, int64_t *end, int64_t deadline_us) {
    const struct reader_options *options = reader->options;
    int code = kafka_consumer_watermarks(reader->consumer, options->topic, partition, low, end,
                                         remaining_ms(deadline_us), reader->error);
    if (code) return code;
    if (options->follow) *end = INT64_MAX;
    // Only where the broker sets the timestamps do they rise with the offsets.
    if (options->topic != &TOPIC_LOCATIONS || options->settings->dead_letters || options->to_ms == INT64_MAX) return 0;
    struct kafka_position at = {.topic = options->topic, .partition = partition, .offset = 0};
    code =
        kafka_consumer_offsets_at(reader->consumer, &at, 1, options->to_ms, remaining_ms(deadline_us), reader->error);
    if (!code && at.offset < *end) *end = at.offset;
    return code;
}

/* What there is to read. */
static int plan(struct topic_reader *reader, struct kafka_position *starts) {
    const struct reader_options *options = reader->options;
    int64_t deadline = clock_monotonic_us() + PATIENCE_US;
    for (int32_t p = 0; p < options->partitions; p++) {
        if (options->partition != READER_ALL && p != options->partition) continue;
        struct kafka_position start = {.topic = options->topic, .partition = p, .offset = KAFKA_OFFSET_BEGINNING};
        int64_t low, end;
        int code = find_end(reader, p, &low, &end, deadline);
        if (!code && options->from_ms > 0) {
            code = kafka_consumer_offsets_at(reader->consumer, &start, 1, options->from_ms, remaining_ms(deadline),
                                             reader->error);
        }
        if (code) return code;
        if (end <= low || (start.offset >= 0 && start.offset >= end)) continue;
        starts[reader->count] = start;
        reader->stretches[reader->count++] = (struct stretch){.partition = p, .end = end, .done = false};
    }
    return 0;
}

static void on_closed(uv_handle_t *handle) {}

static void watch_signals(struct topic_reader *reader) {
    static const int NUMBERS[STOP_SIGNALS] = {SIGINT, SIGTERM};
    for (int i = 0; i < STOP_SIGNALS; i++) {
        uv_signal_init(&reader->loop, &reader->signals[i]);
        reader->signals[i].data = reader;
        uv_signal_start(&reader->signals[i], on_signal, NUMBERS[i]);
    }
}

static void close_all(struct topic_reader *reader) {
    kafka_consumer_free(reader->consumer);
    loop_timer_free(reader->tick);
    for (int i = 0; i < STOP_SIGNALS; i++) {
        if (reader->signals[i].data) uv_close((uv_handle_t *)&reader->signals[i], on_closed);
    }
    uv_run(&reader->loop, UV_RUN_DEFAULT);
    uv_loop_close(&reader->loop);
    free(reader->stretches);
}

int reader_run(const struct reader_options *options, struct error *error) {
    struct topic_reader reader = {.options = options, .error = error};
    if (uv_loop_init(&reader.loop)) return error_set(error, -EMFILE, "no event loop can be made: too few descriptors");
    reader.stretches = mem_zero((size_t)options->partitions, sizeof *reader.stretches);
    struct kafka_position *starts = mem_zero((size_t)options->partitions, sizeof *starts);
    int code = kafka_consumer_new(
        &(struct kafka_consumer_options){
            .loop = &reader.loop,
            .settings = options->settings,
            .context = &reader,
            .on_records = on_records,
            .on_drained = on_drained,
            .on_broker = on_broker,
        },
        &reader.consumer, error);
    if (!code) code = plan(&reader, starts);
    if (!code && reader.count) code = kafka_consumer_read(reader.consumer, starts, reader.count, error);
    if (!code && reader.count) {
        reader.tick = loop_timer_new(&reader.loop, TICK_MS, TICK_MS, look, &reader);
        if (options->follow) watch_signals(&reader);
        uv_run(&reader.loop, UV_RUN_DEFAULT);
        code = reader.code;
    }
    close_all(&reader);
    free(starts);
    return code;
}
