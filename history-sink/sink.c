/* The sink as a daemon: made, kept going, drained, freed. */
#include "history-sink/sink.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "history-sink/history_sink.h"

enum { TICK_MS = 200, PRODUCER_FLUSH_MS = 5000, EXPIRE_EVERY_S = 3600, EXPIRE_USERS = 500 };

int64_t sink_horizon(const struct sink *sink) {
    int64_t days = sink->settings.store_days;
    return days ? clock_wall_ms() - days * 24 * 3600 * 1000 : 0;
}

/* Once an hour all users are looked at, some at each tick. */
static void expire(struct sink *sink) {
    struct error error;
    int64_t now = clock_monotonic_us();
    if (!sink->settings.store_days) return;
    if (sink->expire_user < 0) {
        if (now - sink->expired_us < (int64_t)EXPIRE_EVERY_S * 1000000) return;
        sink->expired_us = now;
        sink->expire_user = 0;
        sink->expire_before = sink_horizon(sink);
    }
    int more = rows_expire(sink->rows, sink->expire_before, EXPIRE_USERS, &sink->expire_user, &error);
    if (more < 0) service_fail(sink->service, error.text);
    if (more <= 0) sink->expire_user = -1;
}

static void tick(void *context) {
    partitions_tick(context);
    expire(context);
}

/* Gauges that are worked out when somebody looks. */
static void collect(void *context) {
    struct sink *sink = context;
    int64_t now = clock_wall_ms(), oldest = now;
    size_t refused = 0;
    for (size_t i = 0; i < sink->count; i++) {
        const struct partition *partition = &sink->partitions[i];
        int64_t lag = partition->state == PARTITION_READING
                          ? kafka_consumer_lag(sink->consumer, &TOPIC_LOCATIONS, partition->id)
                          : -1;
        if (lag >= 0) partition->lag->value = (double)lag;
        if (partition->open && segment_oldest(partition->open) < oldest) oldest = segment_oldest(partition->open);
        refused += partition->refused;
    }
    sink->metrics.refused->value = (double)refused;
    sink->metrics.oldest->value = (double)(now - oldest) / 1000;
    sink->metrics.files_left->value = (double)rebuild_files_left(sink);
    sink->metrics.store_bytes->value = (double)rows_bytes(sink->rows);
}

static void metrics_start(struct sink *sink) {
    struct metrics *m = service_metrics(sink->service);
    sink->metrics = (struct sink_metrics){
        .rows = metrics_counter(m, "starling_history_rows_total", "Rows written to open files.", NULL),
        .published_rows = metrics_counter(m, "starling_history_published_rows_total", "Rows in published files.", NULL),
        .files = metrics_counter(m, "starling_history_files_total", "Files published.", NULL),
        .bytes = metrics_counter(m, "starling_history_file_bytes_total", "Bytes of files published.", NULL),
        .races = metrics_counter(m, "starling_history_races_lost_total",
                                 "Files dropped because another sink had published first.", NULL),
        .undecodable = metrics_counter(m, "starling_history_undecodable_total",
                                       "Records that could not be read, sent to the dead letter queue.", NULL),
        .dropped = metrics_counter(m, "starling_history_dropped_offsets_total",
                                   "Offsets that Kafka dropped before they were read.", NULL),
        .queries = metrics_counter(m, "starling_history_queries_total", "Well-formed queries of peers.", NULL),
        .owned =
            metrics_gauge(m, "starling_history_partitions", "Partitions of locations that this process owns.", NULL),
        .refused = metrics_gauge(m, "starling_history_refused_partitions",
                                 "Owned partitions that do not work because of their files; the log says why.", NULL),
        .oldest = metrics_gauge(m, "starling_history_oldest_unpublished_seconds",
                                "Age of the oldest row that is in no published file yet; 0: all are.", NULL),
        .files_left = metrics_gauge(m, "starling_history_rebuild_files",
                                    "Published files that are still to be read back into the store.", NULL),
        .loaded_rows = metrics_counter(m, "starling_history_rebuilt_rows_total",
                                       "Rows read back from files into the store.", NULL),
        .store_bytes = metrics_gauge(m, "starling_history_store_bytes", "The store's size on disk.", NULL),
    };
    metrics_on_collect(m, collect, sink);
}

/* A member again only as a new process. */
static void given_up(void *context, const char *reason) {
    struct sink *sink = context;
    service_fail(sink->service, reason);
}

static int start_kafka(struct sink *sink, struct error *error) {
    static const struct topic *const SUBSCRIBED[] = {&TOPIC_LOCATIONS};
    struct service *service = sink->service;
    int code = kafka_producer_new(
        &(struct kafka_producer_options){.loop = service_loop(service), .settings = service_kafka(service)},
        &sink->producer, error);
    if (code) return code;
    return kafka_consumer_new(
        &(struct kafka_consumer_options){
            .loop = service_loop(service),
            .settings = service_kafka(service),
            .group = sink->settings.group,
            .instance_id = service_settings(service)->group_instance_id,
            .subscribe = SUBSCRIBED,
            .subscribe_count = ARRAY_SIZE(SUBSCRIBED),
            .context = sink,
            .on_records = records_arrived,
            .on_assigned = partitions_assigned,
            .on_revoked = partitions_revoked,
            .on_offset_lost = partitions_offset_lost,
            .on_fatal = given_up,
        },
        &sink->consumer, error);
}

static void sink_free(void *state) {
    struct sink *sink = state;
    if (!sink) return;
    loop_timer_free(sink->tick);
    loop_idle_free(sink->loader);
    partitions_clear(sink);
    look_free(sink->look);
    kafka_consumer_free(sink->consumer);
    kafka_producer_free(sink->producer, PRODUCER_FLUSH_MS);
    rows_close(sink->rows);
    codec_free(sink->codec);
    free(sink);
}

static int sink_start(struct service *service, const struct topics_shape *shape, void **state, struct error *error) {
    const struct history_settings *settings = HISTORY_SECTION.values;
    struct sink *sink = mem_alloc(sizeof *sink);
    *sink = (struct sink){
        .service = service,
        .settings = *settings,
        .limits = {.rows = settings->roll_rows, .bytes = settings->roll_bytes, .age_ms = settings->roll_s * 1000},
        .partitions_total = shape->partitions[TOPIC_SPACE_USERS],
        .codec = codec_new(),
        .expired_us = -(int64_t)EXPIRE_EVERY_S * 1000000, // at once
        .expire_user = -1,
    };
    sink->tick = loop_timer_new(service_loop(service), TICK_MS, TICK_MS, tick, sink);
    sink->look = look_new(&(struct look_options){
        .loop = service_loop(service), .dir = settings->dir, .context = sink, .on_seen = partitions_seen});
    sink->loader = loop_idle_new(service_loop(service), rebuild_more, sink);
    char *path = mem_format("%s/rows", service_settings(service)->data_dir);
    int code = archive_create(settings->dir, error);
    if (code == 0)
        code = rows_open(path, (size_t)settings->store_cache, (size_t)settings->store_memtables, &sink->rows, error);
    if (code == 0) code = start_kafka(sink, error);
    free(path);
    if (code) {
        sink_free(sink);
        return code;
    }
    metrics_start(sink);
    *state = sink;
    return 0;
}

/* What is open is published, so that whoever takes over finds it. */
static void sink_drain(void *state) {
    struct sink *sink = state;
    kafka_consumer_hold(sink->consumer, true);
    partitions_publish(sink);
    sink->draining = true;
    service_finished(sink->service);
}

static const char *const CONDITIONS[] = {"history", NULL};

static const struct topic *const NEEDED[] = {&TOPIC_LOCATIONS};
static const struct topic_list TOPICS = {NEEDED, ARRAY_SIZE(NEEDED)};

const struct service_definition HISTORY_SINK_SERVICE = {
    .name = "starling-history-sink",
    .ops_listen = "127.0.0.1:9140",
    .peer_listen = "127.0.0.1:9240",
    .section = &HISTORY_SECTION,
    .topics = &TOPICS,
    .conditions = CONDITIONS,
    .start = sink_start,
    .drain = sink_drain,
    .free = sink_free,
    .peer = query_answer,
};
