#include "history-sink/rebuild.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "history-sink/wiping.h"

enum { SLICE_ROWS = 4000, AGAIN_S = 10, SECOND_US = 1000000 };

/* One file is read at a time, a slice by each job. While `busy`, everything from `reader` on is the worker's. */
struct rebuild {
    struct sink *sink;
    struct worker *worker;
    struct storage *storage;
    bool busy;
    bool reading; /* a file, slice by slice */
    int32_t partition;
    uint64_t number; /* the partition's: it changes when that looks again */
    struct archive_file file;
    int64_t limit; /* where the next file begins */

    struct segment_reader *reader; /* NULL: the file is not open yet */
    struct history_row *rows;      /* SLICE_ROWS */
    size_t count;
    int code; /* 1: there are more; 0: that was its end; negative: it cannot be read, or goes beyond `limit` */
    int64_t end;
    struct error error;
};

static void read_slice(void *context) {
    struct rebuild *rebuild = context;
    rebuild->count = 0;
    rebuild->code = 1;
    if (!rebuild->reader)
        rebuild->code =
            segment_reader_open(rebuild->storage, rebuild->partition, rebuild->file, &rebuild->reader, &rebuild->error);
    if (rebuild->code < 0) return;
    do {
        struct history_row *row = &rebuild->rows[rebuild->count];
        rebuild->code = segment_reader_next(rebuild->reader, row, &rebuild->error);
        if (rebuild->code > 0 && row->offset >= rebuild->limit)
            rebuild->code = error_set(&rebuild->error, -EBADMSG,
                                      "the file of partition %" PRId32 " from offset %" PRId64
                                      " reaches into the next one, from %" PRId64,
                                      rebuild->partition, rebuild->file.first, rebuild->limit);
        rebuild->count += rebuild->code > 0;
    } while (rebuild->code > 0 && rebuild->count < SLICE_ROWS);
    if (rebuild->code == 0) rebuild->end = segment_reader_end(rebuild->reader);
}

static void reader_close(struct rebuild *rebuild) {
    segment_reader_free(rebuild->reader);
    rebuild->reader = NULL;
    rebuild->reading = false;
}

struct rebuild *rebuild_new(struct sink *sink, struct storage *storage) {
    struct rebuild *rebuild = MEM_NEW(&(struct rebuild){
        .sink = sink,
        .worker = worker_new(service_loop(sink->service)),
        .storage = storage,
        .rows = mem_zero(SLICE_ROWS, sizeof *rebuild->rows),
    });
    return rebuild;
}

bool rebuild_busy(const struct rebuild *rebuild) { return rebuild->busy; }

void rebuild_free(struct rebuild *rebuild) {
    if (!rebuild) return;
    reader_close(rebuild);
    worker_free(rebuild->worker);
    free(rebuild->rows);
    free(rebuild);
}

static bool loads(const struct sink_partition *partition) {
    return partition->state >= PARTITION_FOUND && !partition->whole;
}

size_t rebuild_files_left(const struct sink *sink) {
    size_t left = 0;
    for (size_t i = 0; i < sink->count; i++) {
        const struct sink_partition *partition = &sink->partitions[i];
        if (loads(partition)) left += partition->files.count - partition->file_at;
    }
    return left;
}

/* ---- beginning ---- */

/* Files whose rows would all be too old for the store. */
static void skip_old_files(const struct sink *sink, struct sink_partition *partition) {
    int64_t hour = archive_hour_of(sink_horizon(sink));
    const struct archive_file *files = partition->files.files;
    while (partition->file_at + 1 < partition->files.count && files[partition->file_at].hour < hour)
        partition->file_at++;
    if (files[partition->file_at].first > partition->stored && partition->file_at)
        partition->stored = files[partition->file_at].first;
}

static bool is_of_this_topic(struct sink *sink, struct sink_partition *partition, int64_t end) {
    struct error error;
    if (end <= partition->target) return true;
    error_set(&error, 0,
              "history.dir has files up to offset %" PRId64 ", but the topic ends at %" PRId64
              ": was it made anew? Then history.dir and data.dir belong to another topic and must be moved away",
              end, partition->target);
    sink_restart(sink, partition, -EINVAL, error.text);
    return false;
}

static void tell_dropped(struct sink *sink, const struct sink_partition *partition, int64_t end) {
    if (end >= partition->kept || !partition->published.some) return;
    sink->metrics.dropped->value += (double)(partition->kept - end);
    log_warn(service_log(sink->service), "Kafka has dropped records that were not read",
             LOG_INT("partition", partition->id), LOG_INT("from_offset", end), LOG_INT("to_offset", partition->kept));
}

void rebuild_begin(struct sink *sink, struct sink_partition *partition, const struct archive_list *found,
                   const struct chain_end *chain) {
    struct error error;
    int64_t end = chain->end;
    if (rows_mark(sink->rows, (int32_t)partition->id, &partition->stored, &error)) {
        service_fail(sink->service, error.text);
        return;
    }
    if (!is_of_this_topic(sink, partition, end)) return;
    partition->published = partition->chain = *chain;
    tell_dropped(sink, partition, end);
    for (size_t i = 0; i < found->count; i++) archive_list_add(&partition->files, found->files[i]);
    if (found->count) skip_old_files(sink, partition);
    partition->state = PARTITION_FOUND;
    partition->files_end = end;
    partition->next = end > partition->kept ? end : partition->kept;
    // More is stored than published when the sink that wrote the store was killed.
    partition->whole = partition->stored >= end;
    partition->marked = true;
    sink_settle_soon(sink);
}

/* ---- loading ---- */

/* The end that a file of a partition must have: the beginning of the next one. */
static int64_t limit_of(const struct sink_partition *partition, size_t file) {
    return file + 1 == partition->files.count ? partition->files_end : partition->files.files[file + 1].first;
}

static void store_slice(struct rebuild *rebuild, const struct sink_partition *partition) {
    struct sink *sink = rebuild->sink;
    int64_t horizon = sink_horizon(sink);
    for (size_t i = 0; i < rebuild->count; i++) {
        const struct history_row *row = &rebuild->rows[i];
        if (row->offset < partition->stored || row->time < horizon || wiping_has(sink->wiping, row)) continue;
        rows_put(sink->rows, row);
        sink->metrics.loaded_rows->value++;
    }
}

static void load_failed(struct rebuild *rebuild, struct sink_partition *partition) {
    log_error(
        service_log(rebuild->sink->service), "a history file cannot be loaded: queries of its partition are refused",
        LOG_INT("partition", partition->id), LOG_TEXT("reason", rebuild->error.text), LOG_INT("again_in_s", AGAIN_S));
    partition->refused = true;
    partition->load_at_us = clock_monotonic_us() + (int64_t)AGAIN_S * SECOND_US;
}

static void loaded(struct rebuild *rebuild, struct sink_partition *partition) {
    if (rebuild->end < rebuild->limit)
        log_warn(service_log(rebuild->sink->service), "a history file is missing", LOG_INT("partition", partition->id),
                 LOG_INT("from_offset", rebuild->end), LOG_INT("to_offset", rebuild->limit));
    if (partition->stored < rebuild->limit) partition->stored = rebuild->limit;
    partition->marked = true;
    partition->whole = ++partition->file_at == partition->files.count;
}

static void slice_read(void *context) {
    struct rebuild *rebuild = context;
    struct sink *sink = rebuild->sink;
    struct sink_partition *partition = sink_find(sink, rebuild->partition);
    bool counts = partition && partition->number == rebuild->number; // it was not restarted or given away meanwhile
    rebuild->busy = false;
    if (counts) store_slice(rebuild, partition);
    if (!counts || rebuild->code <= 0) reader_close(rebuild);
    if (counts && rebuild->code == 0) loaded(rebuild, partition);
    sink_write(sink);
    // A small file may be merged, and removed, since the look.
    if (counts && rebuild->code == -ENOENT)
        sink_look_again(sink, partition);
    else if (counts && rebuild->code < 0)
        load_failed(rebuild, partition);
    rebuild_go_on(rebuild);
}

static const struct sink_partition *next_partition(const struct sink *sink) {
    int64_t now = clock_monotonic_us();
    for (size_t i = 0; i < sink->count; i++)
        if (loads(&sink->partitions[i]) && sink->partitions[i].load_at_us <= now) return &sink->partitions[i];
    return NULL;
}

void rebuild_go_on(struct rebuild *rebuild) {
    struct sink *sink = rebuild->sink;
    if (rebuild->busy || sink->draining) return;
    if (rebuild->reading) {
        const struct sink_partition *same = sink_find(sink, rebuild->partition);
        if (!same || same->number != rebuild->number) reader_close(rebuild);
    }
    if (!rebuild->reading) {
        const struct sink_partition *next = next_partition(sink);
        if (!next) return;
        rebuild->partition = (int32_t)next->id;
        rebuild->number = next->number;
        rebuild->reading = true;
        rebuild->file = next->files.files[next->file_at];
        rebuild->limit = limit_of(next, next->file_at);
    }
    rebuild->busy = true;
    worker_run(rebuild->worker, read_slice, slice_read, rebuild);
}
