#include "history-sink/history_sink.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/programs.h"
#include "event/topics.h"
#include "history-sink/look.h"
#include "history-sink/merging.h"
#include "history-sink/partitions.h"
#include "history-sink/query.h"
#include "history-sink/rebuild.h"
#include "history-sink/records.h"
#include "history-sink/sink.h"
#include "history-sink/wiping.h"

enum {
    PRODUCER_FLUSH_MS = 5000,
    EXPIRE_EVERY_S = 3600,
    EXPIRE_USERS = 500,
    BATCH = 4000, /* of records: a memtable takes sorted keys faster the more there are (bench history) */
};

/* Once an hour all users are looked at, some at each tick. */
static void expire(struct sink *sink) {
    struct error error;
    int64_t now = clock_monotonic_us();
    if (!sink_horizon(sink)) return;
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
    struct sink *sink = context;
    partitions_tick(sink);
    merging_tick(sink->merging);
    wiping_tick(sink->wiping);
    expire(sink);
}

/* Gauges that are worked out when somebody looks. */
static void collect(void *context) {
    struct sink *sink = context;
    int64_t now = clock_wall_ms(), oldest = now, erasure;
    size_t refused = 0;
    for (size_t i = 0; i < sink->count; i++) {
        const struct sink_partition *partition = &sink->partitions[i];
        int64_t waiting = sink_partition_oldest(partition, now);
        int64_t lag = partition->state == PARTITION_READING
                          ? kafka_consumer_lag(sink->consumer, &TOPIC_LOCATIONS, partition->id)
                          : -1;
        if (lag >= 0) partition->lag->value = (double)lag;
        if (waiting < oldest) oldest = waiting;
        refused += partition->refused;
    }
    size_t left = wiping_left(sink->wiping, &erasure);
    const struct metric_now series[] = {
        {"starling_history_wiping_users", "Erasures of users that may have rows in files of owned partitions.",
         (double)left},
        {"starling_history_wiping_oldest_seconds", "Age of the oldest of these erasures; 0 when none is left.",
         erasure ? (double)(now - erasure) / 1000 : 0},
        {"starling_history_refused_partitions",
         "Owned partitions that do not work because of their files; the log says why.", (double)refused},
        {"starling_history_oldest_unpublished_seconds",
         "Age of the oldest row that may be in no published file; of a partition that does not work, how long it has not. 0: all are.",
         (double)(now - oldest) / 1000},
        {"starling_history_rebuild_files", "Published files that are still to be read back into the store.",
         (double)rebuild_files_left(sink)},
        {"starling_history_store_bytes", "The store's size on disk.", (double)rows_bytes(sink->rows)},
    };
    metrics_set(service_metrics(sink->service), series, ARRAY_SIZE(series));
}

/* A member again only as a new process. */
static void given_up(void *context, const char *reason) { service_fail(((struct sink *)context)->service, reason); }

static int start_kafka(struct sink *sink, struct error *error) {
    static const struct topic *const SUBSCRIBED[] = {&TOPIC_LOCATIONS};
    struct service *service = sink->service;
    int code = kafka_producer_new(&(struct kafka_producer_options){.loop = service_loop(service),
                                                                   .settings = service_kafka(service),
                                                                   .metrics = service_metrics(service)},
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
            .batch = BATCH,
            .context = sink,
            .on_records = records_arrived,
            .on_assigned = partitions_assigned,
            .on_revoked = partitions_revoked,
            .on_offset_lost = partitions_offset_lost,
            .on_fatal = given_up,
        },
        &sink->consumer, error);
}

/* Each thread has one of its own. */
static int start_storages(struct sink *sink, struct error *error) {
    const struct storage_options options = history_storage_options(&sink->settings);
    int code = storage_open(&options, &sink->storage, error);
    if (code == 0) code = storage_open(&options, &sink->loading, error);
    if (code) return code;
    sink->look = look_new(sink, partitions_seen);
    sink->rebuild = rebuild_new(sink, sink->loading);
    code = merging_new(sink, &sink->merging, error);
    if (code) return code;
    return wiping_new(sink, merging_worker(sink->merging), merging_storage(sink->merging), &sink->wiping, error);
}

static bool sink_busy(void *state) {
    const struct sink *sink = state;
    return worker_busy(sink->worker) || rebuild_busy(sink->rebuild) || merging_busy(sink->merging) ||
           wiping_busy(sink->wiping);
}

static void sink_free(void *state) {
    struct sink *sink = state;
    if (!sink) return;
    loop_timer_free(sink->tick);
    queries_free(sink->queries);
    partitions_clear(sink);
    look_free(sink->look);
    worker_free(sink->worker);
    rebuild_free(sink->rebuild);
    wiping_free(sink->wiping);
    merging_free(sink->merging);
    storage_close(sink->storage);
    storage_close(sink->loading);
    kafka_consumer_free(sink->consumer);
    kafka_producer_free(sink->producer, PRODUCER_FLUSH_MS);
    rows_close(sink->rows);
    codec_free(sink->codec);
    free(sink);
}

static int sink_start(struct service *service, const struct topics_shape *shape, void **state, struct error *error) {
    const struct history_settings *settings = HISTORY_SECTION.values;
    struct sink *sink = MEM_NEW(&(struct sink){
        .service = service,
        .settings = *settings,
        .limits = {.rows = settings->roll_rows, .bytes = settings->roll_bytes, .age_ms = settings->roll_s * 1000},
        .partitions_total = shape->partitions[TOPIC_SPACE_USERS],
        .codec = codec_new(),
        .expired_us = -(int64_t)EXPIRE_EVERY_S * 1000000, // at once
        .expire_user = -1,
        .worker = worker_new(service_loop(service)),
        .metrics = sink_metrics_new(service_metrics(service)),
    });
    sink->queries = queries_new(sink);
    sink->tick = loop_timer_new(service_loop(service), SINK_TICK_MS, SINK_TICK_MS, tick, sink);
    char *path = mem_format("%s/rows", service_settings(service)->data_dir);
    int code = storage_prepare(settings->dir, error);
    if (code == 0)
        code = rows_open(path, (size_t)settings->store_cache, (size_t)settings->store_memtables, &sink->rows, error);
    if (code == 0) code = start_kafka(sink, error);
    if (code == 0) code = start_storages(sink, error);
    free(path);
    if (code) {
        sink_free(sink);
        return code;
    }
    metrics_on_collect(service_metrics(service), collect, sink);
    *state = sink;
    return 0;
}

/* Publishes the open files, so that the next owner finds them: the membership ends after that, in sink_free. */
static void sink_drain(void *state) {
    struct sink *sink = state;
    kafka_consumer_hold(sink->consumer, true);
    partitions_publish(sink);
    sink->draining = true;
    merging_stop(sink->merging);
    wiping_stop(sink->wiping);
    service_finished(sink->service);
}

static const char *const CONDITIONS[] = {"history", NULL};

const struct service_definition HISTORY_SINK_SERVICE = {
    .name = "starling-history-sink",
    .ops_listen = "127.0.0.1:9140",
    .peer_listen = "127.0.0.1:9240",
    .section = &HISTORY_SECTION,
    .uses = &PROGRAM_HISTORY_SINK.uses,
    .conditions = CONDITIONS,
    .start = sink_start,
    .drain = sink_drain,
    .busy = sink_busy,
    .free = sink_free,
    .peer = query_answer,
};
