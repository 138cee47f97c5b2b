#include "history-sink/merging.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/folders.h"
#include "base/mem.h"
#include "event/topics.h"
#include "history-sink/merge.h"
#include "history-sink/records.h"
#include "history-sink/retention.h"

enum {
    SECOND_US = 1000000,
    HOUR_MS = 3600000,
    QUIET_MS =
        300000, /* after an hour's end, until it is closed although no later row came: clocks may differ by less */
};

/* While `busy`, all but that is the worker's. */
struct merging {
    struct sink *sink;
    struct worker *worker;
    struct storage *storage, *scratch;
    bool busy, cleaned;
    atomic_bool stop;
    int64_t began_us;
    int32_t *partitions;
    struct retention_partition *chains; /* of the same partitions */
    size_t count;
    int64_t before; /* files of earlier hours go; 0: none do */
    struct merge_options options;
    struct merge_done done;
    int code;
    struct error error;
};

int merging_new(struct sink *sink, struct merging **out, struct error *error) {
    struct merging *merging = mem_alloc(sizeof *merging);
    const struct storage_options options = history_storage_options(&sink->settings);
    char *scratch = mem_format("%s/merge", service_settings(sink->service)->data_dir);
    *merging = (struct merging){
        .sink = sink, .worker = NULL, .partitions = NULL, .chains = NULL, .storage = NULL, .scratch = NULL};
    int code = folders_make(scratch, error);
    if (code == 0) code = storage_open(&options, &merging->storage, error);
    if (code == 0) code = storage_open(&(struct storage_options){.place = scratch}, &merging->scratch, error);
    free(scratch);
    if (code) {
        merging_free(merging);
        return code;
    }
    merging->worker = worker_new(service_loop(sink->service));
    *out = merging;
    return 0;
}

struct worker *merging_worker(const struct merging *merging) {
    return merging->worker;
}

struct storage *merging_storage(const struct merging *merging) {
    return merging->storage;
}

bool merging_busy(const struct merging *merging) { return merging->busy; }

void merging_stop(struct merging *merging) { atomic_store(&merging->stop, true); }

void merging_free(struct merging *merging) {
    if (!merging) return;
    worker_free(merging->worker);
    storage_close(merging->storage);
    storage_close(merging->scratch);
    free(merging->partitions);
    free(merging->chains);
    free(merging);
}

static void merge(void *context) {
    struct merging *merging = context;
    if (!merging->cleaned) merging->code = merge_clean(merging->scratch, &merging->error);
    if (merging->code) return;
    merging->cleaned = true;
    merging->code =
        merge_round(&merging->options, merging->partitions, merging->count, &merging->done, &merging->error);
    if (merging->before && merging->code != -ECANCELED) {
        struct error error;
        int code = retention_remove(merging->storage, merging->before, merging->chains, merging->count,
                                    &merging->done.removed_files, &error);
        if (code && !merging->code) merging->code = error_set(&merging->error, code, "%s", error.text);
    }
}

static void merged(void *context) {
    struct merging *merging = context;
    struct sink *sink = merging->sink;
    const struct merge_done *done = &merging->done;
    merging->busy = false;
    sink->metrics.merged_files->value += (double)done->merged_files;
    sink->metrics.merged_rows->value += (double)done->merged_rows;
    sink->metrics.merged_bytes->value += (double)done->merged_bytes;
    sink->metrics.removed_files->value += (double)done->removed_files;
    if (merging->code == -ECANCELED) {
        log_debug(service_log(sink->service), "merging stopped");
    } else if (merging->code) {
        sink->metrics.merge_failures->value++;
        log_warn(service_log(sink->service), "finished hours could not be merged, or old files removed",
                 LOG_TEXT("reason", merging->error.text), LOG_INT("again_in_s", sink->settings.merge_s));
    } else if (done->merged_files) {
        log_info(service_log(sink->service), "finished hours merged", LOG_INT("files", done->merged_files),
                 LOG_INT("rows", done->merged_rows));
    }
}

/* Nobody writes into a quiet partition, so no later file says that its hour is over. */
static void close_quiet_hours(struct sink *sink) {
    int64_t now = clock_wall_ms();
    for (size_t i = 0; i < sink->count; i++) {
        struct sink_partition *partition = &sink->partitions[i];
        if (partition->state != PARTITION_READING || !partition->chain.some) continue;
        int64_t over = (partition->chain.file.hour + 1) * HOUR_MS;
        if (now - over < QUIET_MS || kafka_consumer_lag(sink->consumer, &TOPIC_LOCATIONS, partition->id) != 0) continue;
        records_close_hour(sink, partition);
    }
}

void merging_tick(struct merging *merging) {
    struct sink *sink = merging->sink;
    int64_t now = clock_monotonic_us();
    if (merging->busy || !sink->assigned || sink->draining || !sink->settings.merge_s) return;
    if (merging->began_us && now - merging->began_us < sink->settings.merge_s * SECOND_US) return;
    merging->began_us = now;
    close_quiet_hours(sink);
    merging->partitions = mem_resize(merging->partitions, sink->count + 1, sizeof *merging->partitions);
    merging->chains = mem_resize(merging->chains, sink->count + 1, sizeof *merging->chains);
    merging->count = 0;
    for (size_t i = 0; i < sink->count; i++) {
        const struct sink_partition *partition = &sink->partitions[i];
        if (partition->state != PARTITION_READING || !partition->published.some) continue;
        merging->chains[merging->count] =
            (struct retention_partition){.partition = (int32_t)partition->id, .newest = partition->published.file.hour};
        merging->partitions[merging->count++] = (int32_t)partition->id;
    }
    if (!merging->count) return;
    merging->options = (struct merge_options){
        .storage = merging->storage,
        .scratch = merging->scratch,
        .stop = &merging->stop,
        .now_ms = clock_wall_ms(),
        .keep_ms = sink->settings.merge_keep_s * 1000,
    };
    int64_t days = sink->settings.retention_days;
    merging->before = days ? archive_hour_of(clock_wall_ms()) - days * 24 : 0;
    merging->done = (struct merge_done){.merged_files = 0};
    merging->code = 0;
    atomic_store(&merging->stop, false);
    merging->busy = true;
    worker_run(merging->worker, merge, merged, merging);
}
