#include "cli/reader.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/lanes.h"
#include "event/topics.h"

enum { ASK_MS = 8000, TICK_MS = 100, MERGE_TICK_MS = 10, PATIENCE_US = 10000000, STOP_SIGNALS = 2 };
enum {
    HELD_MAX = 4000,
    HELD_LOW = 1000
}; /* merging: records of a partition that wait, before and until it is read again */

/* One partition that is read.   start ... [ next ... ) end      end: when reading began */
struct stretch {
    const struct topic *topic;
    int32_t partition;
    int64_t start, end;
    bool done, paused;
};

struct topic_reader {
    const struct reader_options *options;
    uv_loop_t loop;
    struct loop_timer *tick;
    uv_signal_t signals[STOP_SIGNALS]; /* when following */
    struct kafka_consumer *consumer;
    struct stretch *stretches;
    size_t count;
    struct lanes *lanes;   /* a lane a stretch; NULL: records are taken as they come */
    int64_t down_since_us; /* 0: up */
    char down_reason[256];
    bool ended;
    int code;
    struct error *error;
};

int reader_shape(const struct cli *cli, struct topics_shape *shape, struct error *error) {
    const struct kafka_settings *settings = &cli->kafka;
    struct kafka_admin *admin = NULL;
    cli_say_broker(cli);
    int code = kafka_admin_new(settings, &admin, error);
    if (!code) code = kafka_topics_verify(admin, &TOPICS_ALL, shape, ASK_MS, error);
    if (code == -EHOSTDOWN) error_prefix(error, code, "no Kafka broker answers at %s", settings->bootstrap);
    if (code == -ENOENT) error_prefix(error, code, "\"starling topics create\" makes the topics");
    kafka_admin_free(admin);
    return code;
}

static struct stretch *stretch_of(struct topic_reader *reader, const struct kafka_record *record) {
    for (size_t i = 0; i < reader->count; i++) {
        struct stretch *stretch = &reader->stretches[i];
        if (stretch->partition == record->partition && stretch->topic == record->topic) return stretch;
    }
    return NULL;
}

/* The beginning of the period in a topic. */
static int64_t from_of(const struct reader_options *options, const struct topic *topic) {
    return options->merge && topic->cleanup == TOPIC_COMPACTED ? 0 : options->from_ms;
}

static void finish(struct topic_reader *reader, int code) {
    if (!reader->ended) reader->code = code;
    reader->ended = true;
    uv_stop(&reader->loop);
}

static void hand_over(struct topic_reader *reader, const struct kafka_record *record) {
    reader->options->take(reader->options->context, record);
    if (reader->options->failure && *reader->options->failure) finish(reader, *reader->options->failure);
}

/* Takes what is known to be next, as far as it is due. */
static void take_merged(struct topic_reader *reader) {
    const struct reader_options *options = reader->options;
    size_t lane;
    const struct kafka_record *record;
    while (!reader->ended && (record = lanes_first(reader->lanes, &lane)) &&
           options->merge->due(options->context, record)) {
        hand_over(reader, record);
        lanes_next(reader->lanes, lane);
        struct stretch *stretch = &reader->stretches[lane];
        if (!stretch->paused || stretch->done || lanes_waiting(reader->lanes, lane) > HELD_LOW) continue;
        stretch->paused = false;
        kafka_consumer_resume(reader->consumer, stretch->topic, stretch->partition);
    }
    if (lanes_over(reader->lanes)) finish(reader, 0);
}

static void hold(struct topic_reader *reader, struct stretch *stretch, const struct kafka_record *record) {
    size_t lane = (size_t)(stretch - reader->stretches);
    lanes_put(reader->lanes, lane, record);
    if (stretch->paused || lanes_waiting(reader->lanes, lane) < HELD_MAX) return;
    stretch->paused = true;
    kafka_consumer_pause(reader->consumer, stretch->topic, stretch->partition);
}

static void on_records(void *context, const struct kafka_record *records, size_t count) {
    struct topic_reader *reader = context;
    const struct reader_options *options = reader->options;
    for (size_t i = 0; i < count && !reader->ended; i++) {
        struct stretch *stretch = stretch_of(reader, &records[i]);
        if (!stretch || records[i].offset >= stretch->end) continue;
        if (records[i].timestamp < from_of(options, stretch->topic) || records[i].timestamp >= options->to_ms) continue;
        if (reader->lanes)
            hold(reader, stretch, &records[i]);
        else
            hand_over(reader, &records[i]);
    }
    if (reader->lanes) take_merged(reader);
}

static void tell_progress(const struct topic_reader *reader) {
    int64_t done = 0, total = 0;
    if (!reader->options->progressed) return;
    for (size_t i = 0; i < reader->count; i++) {
        const struct stretch *stretch = &reader->stretches[i];
        int64_t next = kafka_consumer_position(reader->consumer, stretch->topic, stretch->partition);
        int64_t length = stretch->end - stretch->start, read = next > stretch->start ? next - stretch->start : 0;
        total += length;
        done += stretch->done || read > length ? length : read;
        if (reader->lanes) done -= (int64_t)lanes_waiting(reader->lanes, i);
    }
    reader->options->progressed(reader->options->context, done > 0 ? done : 0, total);
}

static void look(void *context) {
    struct topic_reader *reader = context;
    size_t left = 0;
    for (size_t i = 0; i < reader->count; i++) {
        struct stretch *stretch = &reader->stretches[i];
        if (stretch->done) continue;
        if (kafka_consumer_position(reader->consumer, stretch->topic, stretch->partition) >= stretch->end) {
            stretch->done = true;
            // Records after the end are not wanted, and would hold up the others.
            kafka_consumer_pause(reader->consumer, stretch->topic, stretch->partition);
            if (reader->lanes) lanes_end(reader->lanes, i);
        } else {
            left++;
        }
    }
    if (reader->lanes) take_merged(reader);
    tell_progress(reader);
    if (!left && !reader->lanes) {
        finish(reader, 0);
    } else if (reader->down_since_us && !reader->options->follow &&
               clock_monotonic_us() - reader->down_since_us > PATIENCE_US) {
        finish(reader, error_set(reader->error, -EHOSTDOWN, "no Kafka broker at %s any more: %s",
                                 reader->options->settings->bootstrap, reader->down_reason));
    }
}

static void on_drained(void *context) {
    struct topic_reader *reader = context;
    if (reader->options->drained) reader->options->drained(reader->options->context);
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

static void on_signal(uv_signal_t *handle, int number) {
    struct topic_reader *reader = handle->data;
    finish(reader, reader->lanes ? -EINTR : 0);
}

static int remaining_ms(int64_t deadline_us) {
    int64_t left = (deadline_us - clock_monotonic_us()) / 1000;
    return left > 1 ? (int)left : 1;
}

/* The end of a partition for us. */
static int find_end(struct topic_reader *reader, const struct topic *topic, int32_t partition, int64_t *low,
                    int64_t *end, int64_t deadline_us) {
    const struct reader_options *options = reader->options;
    int code = kafka_consumer_watermarks(reader->consumer, topic, partition, low, end, remaining_ms(deadline_us),
                                         reader->error);
    if (code) return code;
    if (options->follow) *end = INT64_MAX;
    // Only where the broker sets the timestamps do they rise with the offsets.
    if (topic != &TOPIC_LOCATIONS || options->settings->dead_letters || options->to_ms == INT64_MAX) return 0;
    struct kafka_position at = {.topic = topic, .partition = partition, .offset = 0};
    code =
        kafka_consumer_offsets_at(reader->consumer, &at, 1, options->to_ms, remaining_ms(deadline_us), reader->error);
    if (!code && at.offset < *end) *end = at.offset;
    return code;
}

/* Notes the stretch of a partition that is to be read, if there is one. */
static int plan_partition(struct topic_reader *reader, const struct topic *topic, int32_t partition,
                          struct kafka_position *starts, int64_t deadline) {
    struct kafka_position start = {.topic = topic, .partition = partition, .offset = KAFKA_OFFSET_BEGINNING};
    int64_t low, end, from_ms = from_of(reader->options, topic);
    int code = find_end(reader, topic, partition, &low, &end, deadline);
    if (!code && from_ms > 0)
        code = kafka_consumer_offsets_at(reader->consumer, &start, 1, from_ms, remaining_ms(deadline), reader->error);
    if (code || end <= low || (start.offset >= 0 && start.offset >= end)) return code;
    // librdkafka asks half a second later where a partition begins, if it does not know the partition's leader yet.
    if (start.offset < low) start.offset = low;
    if (reader->options->newest && start.offset < end - reader->options->newest)
        start.offset = end - reader->options->newest;
    starts[reader->count] = start;
    reader->stretches[reader->count++] = (struct stretch){
        .topic = topic,
        .partition = partition,
        .start = start.offset,
        .end = end,
    };
    return 0;
}

static size_t partitions_of(const struct reader_options *options) {
    size_t count = 0;
    if (!options->merge) return (size_t)options->partitions;
    for (size_t i = 0; i < options->merge->count; i++)
        count += (size_t)options->merge->shape->partitions[options->merge->topics[i]->space];
    return count;
}

static int plan(struct topic_reader *reader, struct kafka_position *starts) {
    const struct reader_options *options = reader->options;
    const struct reader_merge *merge = options->merge;
    int64_t deadline = clock_monotonic_us() + PATIENCE_US;
    int code = 0;
    for (size_t i = 0; merge && !code && i < merge->count; i++)
        for (int32_t p = 0; !code && p < merge->shape->partitions[merge->topics[i]->space]; p++)
            code = plan_partition(reader, merge->topics[i], p, starts, deadline);
    for (int32_t p = 0; !merge && !code && p < options->partitions; p++)
        if (options->partition == READER_ALL || p == options->partition)
            code = plan_partition(reader, options->topic, p, starts, deadline);
    if (!code && merge) reader->lanes = lanes_new(reader->count);
    return code;
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
    for (int i = 0; i < STOP_SIGNALS; i++)
        if (reader->signals[i].data) uv_close((uv_handle_t *)&reader->signals[i], on_closed);
    uv_run(&reader->loop, UV_RUN_DEFAULT);
    uv_loop_close(&reader->loop);
    lanes_free(reader->lanes);
    free(reader->stretches);
}

int reader_run(const struct reader_options *options, struct error *error) {
    struct topic_reader reader = {.options = options, .error = error};
    if (uv_loop_init(&reader.loop)) return error_set(error, -EMFILE, "no event loop can be made: too few descriptors");
    reader.stretches = mem_zero(partitions_of(options), sizeof *reader.stretches);
    struct kafka_position *starts = mem_zero(partitions_of(options), sizeof *starts);
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
        int tick_ms = options->merge ? MERGE_TICK_MS : TICK_MS;
        reader.tick = loop_timer_new(&reader.loop, tick_ms, tick_ms, look, &reader);
        if (options->follow || options->merge) watch_signals(&reader);
        uv_run(&reader.loop, UV_RUN_DEFAULT);
        code = reader.code;
    }
    close_all(&reader);
    free(starts);
    return code;
}
