#include "history-sink/rebuild.h"

#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/mem.h"

enum { SLICE_ROWS = 2000, AGAIN_S = 10, SECOND_US = 1000000 };

static bool loads(const struct sink_partition *partition) {
    return partition->state >= PARTITION_FOUND && !partition->whole;
}

size_t rebuild_files_left(const struct sink *sink) {
    size_t left = 0;
    for (size_t i = 0; i < sink->count; i++) {
        const struct sink_partition *partition = &sink->partitions[i];
        if (loads(partition)) left += partition->file_count - partition->file_at;
        if (partition->state == PARTITION_MEASURING) left++;
    }
    return left;
}

static struct sink_partition *next_partition(const struct sink *sink) {
    int64_t now = clock_monotonic_us();
    for (size_t i = 0; i < sink->count; i++)
        if (sink->partitions[i].state == PARTITION_MEASURING) return &sink->partitions[i];
    for (size_t i = 0; i < sink->count; i++)
        if (loads(&sink->partitions[i]) && sink->partitions[i].load_at_us <= now) return &sink->partitions[i];
    return NULL;
}

/* Its end is known. */
static void measured(struct sink *sink, struct sink_partition *partition, int64_t end) {
    if (end > partition->target) {
        struct error error;
        error_set(&error, 0,
                  "history.dir has files up to offset %" PRId64 ", but the topic ends at %" PRId64
                  ": was it made anew? Then history.dir and data.dir belong to another topic and must be moved away",
                  end, partition->target);
        sink_restart(sink, partition, -EINVAL, error.text);
        return;
    }
    if (end < partition->kept && partition->published.some) {
        sink->metrics.dropped->value += (double)(partition->kept - end);
        log_warn(service_log(sink->service), "Kafka has dropped records that were not read",
                 LOG_INT("partition", partition->id), LOG_INT("from_offset", end),
                 LOG_INT("to_offset", partition->kept));
    }
    partition->state = PARTITION_FOUND;
    partition->files_end = partition->published.end = end;
    partition->chain = partition->published;
    partition->next = end > partition->kept ? end : partition->kept;
    // More is stored than published when the sink that wrote the store was killed.
    partition->whole = partition->stored >= end;
    partition->marked = true;
    sink_settle_soon(sink);
}

/* Files whose rows would all be too old for the store. */
static void skip_old_files(const struct sink *sink, struct sink_partition *partition) {
    int64_t hour = archive_hour_of(sink_horizon(sink));
    const struct archive_file *files = partition->files.files;
    while (partition->file_at + 1 < partition->file_count && files[partition->file_at].hour < hour)
        partition->file_at++;
    if (files[partition->file_at].first > partition->stored && partition->file_at)
        partition->stored = files[partition->file_at].first;
}

void rebuild_begin(struct sink *sink, struct sink_partition *partition, const struct archive_wanted *wanted) {
    struct rows_mark mark;
    struct error error;
    if (rows_mark(sink->rows, partition->id, &mark, &error)) {
        service_fail(sink->service, error.text);
        return;
    }
    partition->stored = mark.next;
    partition->published.some = wanted->found.count > 0;
    if (!partition->published.some) {
        measured(sink, partition, 0);
        return;
    }
    partition->files.count = partition->file_count = wanted->found.count;
    partition->files.files = mem_alloc(wanted->found.count * sizeof *wanted->found.files);
    for (size_t i = 0; i < wanted->found.count; i++) partition->files.files[i] = wanted->found.files[i];
    partition->published.file = wanted->found.files[wanted->found.count - 1];
    skip_old_files(sink, partition);
    if (mark.file == partition->published.file.first)
        measured(sink, partition, mark.end);
    else
        partition->state = PARTITION_MEASURING;
    loop_idle_on(sink->loader, 1);
}

/* Loads rows of one file. 1: there are more; 0: that was its end; negative: it cannot be read, or goes beyond `limit`. */
static int load_slice(struct sink *sink, struct sink_partition *partition, struct archive_file file, int64_t limit,
                      struct error *error) {
    struct history_row row;
    int64_t horizon = sink_horizon(sink);
    int code = 1;
    if (!partition->reader)
        code = segment_reader_open(sink->settings.dir, partition->id, file, &partition->reader, error);
    if (code < 0) return code;
    for (int i = 0; i < SLICE_ROWS; i++) {
        code = segment_reader_next(partition->reader, &row, error);
        if (code <= 0) return code;
        if (row.offset >= limit)
            return error_set(error, -EBADMSG,
                             "the file of partition %" PRId64 " from offset %" PRId64
                             " reaches into the next one, from %" PRId64,
                             partition->id, file.first, limit);
        if (row.offset < partition->stored || row.time < horizon) continue;
        rows_put(sink->rows, &row);
        sink->metrics.loaded_rows->value++;
    }
    return 1;
}

static void reader_close(struct sink_partition *partition) {
    segment_reader_free(partition->reader);
    partition->reader = NULL;
}

static void measure(struct sink *sink, struct sink_partition *partition) {
    struct error error;
    int code = load_slice(sink, partition, partition->published.file, INT64_MAX, &error);
    if (code > 0) return;
    if (code < 0) {
        sink_restart(sink, partition, code == -EEXIST ? -EIO : code, error.text);
        return;
    }
    int64_t end = segment_reader_last(partition->reader) + 1;
    reader_close(partition);
    partition->file_count--; // it is loaded now
    // Alone it does not make the store whole: `stored` follows the files before it.
    if (partition->file_count == partition->file_at && partition->stored < end) partition->stored = end;
    measured(sink, partition, end);
}

static void load_failed(struct sink *sink, struct sink_partition *partition, const char *reason) {
    log_error(service_log(sink->service), "a history file cannot be loaded: queries of its partition are refused",
              LOG_INT("partition", partition->id), LOG_TEXT("reason", reason), LOG_INT("again_in_s", AGAIN_S));
    reader_close(partition);
    partition->refused = true;
    partition->load_at_us = clock_monotonic_us() + (int64_t)AGAIN_S * SECOND_US;
}

static void load(struct sink *sink, struct sink_partition *partition) {
    struct error error;
    const struct archive_file *file = &partition->files.files[partition->file_at];
    bool newest = partition->file_at + 1 == partition->files.count;
    int64_t limit = newest ? partition->files_end : file[1].first;
    int code = load_slice(sink, partition, *file, limit, &error);
    if (code > 0) return;
    if (code < 0) {
        load_failed(sink, partition, error.text);
        return;
    }
    int64_t end = segment_reader_last(partition->reader) + 1;
    reader_close(partition);
    if (end < limit)
        log_warn(service_log(sink->service), "a history file is missing", LOG_INT("partition", partition->id),
                 LOG_INT("from_offset", end), LOG_INT("to_offset", limit));
    partition->stored = limit;
    partition->marked = true;
    partition->whole = ++partition->file_at == partition->file_count;
    // With the newest file, which was loaded first, if it was.
    if (partition->whole && partition->stored < partition->files_end) partition->stored = partition->files_end;
}

void rebuild_more(void *context) {
    struct sink *sink = context;
    struct sink_partition *partition = next_partition(sink);
    if (!partition) {
        loop_idle_on(sink->loader, 0);
        return;
    }
    if (partition->state == PARTITION_MEASURING)
        measure(sink, partition);
    else
        load(sink, partition);
    sink_write(sink);
}
