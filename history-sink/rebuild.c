/* Files read back: a partition's newest one to see where the chain ends, and those that the store misses. In slices on the
 * loop, as avro-c has one thread and the store one user; finding ends goes before loading, as Kafka waits for it. */
#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "history-sink/sink.h"

enum { SLICE_ROWS = 2000, AGAIN_S = 10, SECOND_US = 1000000 };

static bool loads(const struct partition *partition) {
    return partition->state >= PARTITION_FOUND && !partition->whole;
}

size_t rebuild_files_left(const struct sink *sink) {
    size_t left = 0;
    for (size_t i = 0; i < sink->count; i++) {
        const struct partition *partition = &sink->partitions[i];
        if (loads(partition)) left += partition->file_count - partition->file_at;
        if (partition->state == PARTITION_MEASURING) left++;
    }
    return left;
}

static struct partition *next_partition(const struct sink *sink) {
    int64_t now = clock_monotonic_us();
    for (size_t i = 0; i < sink->count; i++)
        if (sink->partitions[i].state == PARTITION_MEASURING) return &sink->partitions[i];
    for (size_t i = 0; i < sink->count; i++)
        if (loads(&sink->partitions[i]) && sink->partitions[i].load_at_us <= now) return &sink->partitions[i];
    return NULL;
}

/* Loads rows of one file. 1: there are more; 0: that was its end; negative: it cannot be read, or goes beyond `limit`. */
static int load_slice(struct sink *sink, struct partition *partition, struct archive_file file, int64_t limit,
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
                             "the file of partition %d from offset %" PRId64
                             " reaches into the next one, from %" PRId64,
                             partition->id, file.first, limit);
        if (row.offset < partition->stored || row.time < horizon) continue;
        rows_put(sink->rows, &row);
        sink->metrics.loaded_rows->value++;
    }
    return 1;
}

static void reader_close(struct partition *partition) {
    segment_reader_free(partition->reader);
    partition->reader = NULL;
}

static void measure(struct sink *sink, struct partition *partition) {
    struct error error;
    int code = load_slice(sink, partition, partition->newest, INT64_MAX, &error);
    if (code > 0) return;
    if (code < 0) {
        partition_restart(sink, partition, code == -EEXIST ? -EIO : code, error.text);
        return;
    }
    int64_t end = segment_reader_last(partition->reader) + 1;
    reader_close(partition);
    partition->file_count--; // it is loaded now
    // Alone it does not make the store whole: `stored` follows the files before it.
    if (partition->file_count == partition->file_at && partition->stored < end) partition->stored = end;
    partition_measured(sink, partition, end);
}

static void load_failed(struct sink *sink, struct partition *partition, const char *reason) {
    log_error(service_log(sink->service), "a history file cannot be loaded: queries of its partition are refused",
              LOG_INT("partition", partition->id), LOG_TEXT("reason", reason), LOG_INT("again_in_s", AGAIN_S));
    reader_close(partition);
    partition->refused = true;
    partition->load_at_us = clock_monotonic_us() + (int64_t)AGAIN_S * SECOND_US;
}

static void load(struct sink *sink, struct partition *partition) {
    struct error error;
    const struct archive_file *file = &partition->files.files[partition->file_at];
    bool newest = partition->file_at + 1 == partition->files.count;
    int64_t limit = newest ? partition->end : file[1].first;
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
    if (partition->whole && partition->stored < partition->end) partition->stored = partition->end;
}

void rebuild_more(void *context) {
    struct sink *sink = context;
    struct partition *partition = next_partition(sink);
    if (!partition) {
        loop_idle_on(sink->loader, 0);
        return;
    }
    if (partition->state == PARTITION_MEASURING)
        measure(sink, partition);
    else
        load(sink, partition);
    records_write(sink);
}
