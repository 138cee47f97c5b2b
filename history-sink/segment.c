#include "history-sink/segment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/container.h"
#include "json/details.h"

/* ---- gathering ---- */

struct history_segment {
    int32_t partition;
    struct archive_file file;
    struct chain_end before;
    struct history_row *rows;
    size_t count, room;
    int64_t last, oldest_ms, opened_us;
};

static struct history_segment *gather(int32_t partition, const struct chain_end *before, int64_t hour,
                                      int64_t oldest_ms) {
    return MEM_NEW(&(struct history_segment){
        .partition = partition,
        .file = {.hour = hour, .first = before->end, .end = 0, .changed_ms = 0},
        .before = *before,
        .last = before->end - 1,
        .oldest_ms = oldest_ms,
        .opened_us = clock_monotonic_us(),
    });
}

struct history_segment *segment_new(const struct chain_end *before, const struct history_row *row) {
    int64_t hour = archive_hour_of(row->received), least = before->some ? before->file.hour : 0;
    // A broker's clock may step back over the hour; the chain's hours must not fall, nor a closed one get more files.
    if (chain_closed(before)) least++;
    return gather(row->partition, before, hour > least ? hour : least, row->received);
}

struct history_segment *segment_closing(int32_t partition, const struct chain_end *before) {
    return gather(partition, before, before->file.hour, clock_wall_ms());
}

bool segment_takes(const struct history_segment *segment, int64_t received_ms) {
    return archive_hour_of(received_ms) <= segment->file.hour;
}

void segment_append(struct history_segment *segment, const struct history_row *row) {
    MEM_ROOM(segment->rows, segment->count, segment->room);
    segment->rows[segment->count++] = *row;
    segment->last = row->offset;
}

void segment_pass(struct history_segment *segment, int64_t offset) { segment->last = offset; }

void segment_wipe(struct history_segment *segment, int64_t user, int64_t before) {
    size_t kept = 0;
    for (size_t i = 0; i < segment->count; i++) {
        const struct history_row *row = &segment->rows[i];
        if (row->user != user || row->received >= before) segment->rows[kept++] = *row;
    }
    segment->count = kept;
}

int64_t segment_rows(const struct history_segment *segment) { return (int64_t)segment->count; }

bool segment_full(const struct history_segment *segment, const struct segment_limits *limits) {
    int64_t rows = segment_rows(segment);
    return rows >= limits->rows || clock_monotonic_us() - segment->opened_us >= limits->age_ms * 1000 ||
           rows * SEGMENT_ROW_BYTES >= limits->bytes;
}

int64_t segment_oldest(const struct history_segment *segment) { return segment->oldest_ms; }

int32_t segment_partition(const struct history_segment *segment) { return segment->partition; }

struct chain_end segment_end(const struct history_segment *segment) {
    return (struct chain_end){.some = true, .file = segment->file, .end = segment->last + 1};
}

void segment_drop(struct history_segment *segment) {
    if (!segment) return;
    free(segment->rows);
    free(segment);
}

int segment_row_order(const void *a, const void *b) {
    const struct history_row *x = a, *y = b;
    if (x->user != y->user) return x->user < y->user ? -1 : 1;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* ---- writing ---- */

struct segment_writer {
    struct container_writer *container;
    struct storage_writer *file;
};

static int file_write(void *context, const void *bytes, size_t size, struct error *error) {
    const struct segment_writer *writer = context;
    return storage_write(writer->file, bytes, size, error);
}

int segment_writer_open(struct storage *storage, const char *path, int64_t end, bool detailed,
                        struct segment_writer **out, struct error *error) {
    struct storage_writer *file;
    int code = storage_create(storage, path, &file, error);
    if (code) return code;
    struct segment_writer *writer = MEM_NEW(&(struct segment_writer){.container = NULL, .file = file});
    writer->container =
        container_writer_new(path, end, detailed, &(struct container_output){.context = writer, .write = file_write});
    *out = writer;
    return 0;
}

int segment_writer_append(struct segment_writer *writer, const struct history_row *row, struct error *error) {
    return container_writer_append(writer->container, row, error);
}

int segment_writer_finish(struct segment_writer *writer, struct storage_writer **file, struct error *error) {
    int code = container_writer_finish(writer->container, error);
    if (code) {
        segment_writer_abandon(writer);
        return code;
    }
    *file = writer->file;
    container_writer_free(writer->container);
    free(writer);
    return 0;
}

void segment_writer_abandon(struct segment_writer *writer) {
    if (!writer) return;
    storage_abandon(writer->file);
    container_writer_free(writer->container);
    free(writer);
}

static bool is_detailed(const struct history_segment *segment) {
    for (size_t i = 0; i < segment->count; i++)
        if (details_given(&(struct report_details){DETAILS_OF(&segment->rows[i])})) return true;
    return false;
}

static int write_rows(const struct history_segment *segment, struct storage *storage, struct storage_writer **file,
                      struct error *error) {
    struct segment_writer *writer;
    char *path = archive_path(segment->partition, segment->file);
    int code = segment_writer_open(storage, path, segment->last + 1, is_detailed(segment), &writer, error);
    free(path);
    if (code) return code;
    for (size_t i = 0; i < segment->count && code == 0; i++)
        code = segment_writer_append(writer, &segment->rows[i], error);
    if (code == 0) return segment_writer_finish(writer, file, error);
    segment_writer_abandon(writer);
    return code;
}

int segment_publish(struct history_segment *segment, struct storage *storage, struct segment_published *published,
                    struct error *error) {
    struct storage_writer *file;
    struct segment_published result = {.chain = segment_end(segment), .rows = segment_rows(segment)};
    if (segment->count) qsort(segment->rows, segment->count, sizeof *segment->rows, segment_row_order);
    int code = write_rows(segment, storage, &file, error);
    if (code == 0) {
        result.bytes = storage_written(file);
        code = archive_publish(storage, segment->partition, &segment->before, file, error);
    }
    segment_drop(segment);
    if (code == 0) *published = result;
    return code;
}

/* ---- reading ---- */

struct segment_reader {
    struct container_reader *container;
    struct storage_reader *stream;
    char *path;
    int32_t partition;
    struct archive_file file;
    bool sorted, empty;
    int64_t last; /* the greatest offset that was read; one before the first at the start */
};

static ssize_t stream_read(void *context, void *bytes, size_t size, struct error *error) {
    return storage_read(context, bytes, size, error);
}

int segment_reader_open(struct storage *storage, int32_t partition, struct archive_file file,
                        struct segment_reader **out, struct error *error) {
    struct container_reader *container = NULL;
    struct storage_reader *stream = NULL;
    char *path = archive_path(partition, file);
    int code = storage_read_open(storage, path, &stream, error);
    if (code == 0)
        code = container_reader_new(path, &(struct container_input){.context = stream, .read = stream_read}, &container,
                                    error);
    int64_t end = code ? 0 : container_reader_end(container);
    if (code == 0 && (file.end ? end != file.end : end >= 0 && end < file.first))
        code = error_set(error, -EBADMSG, "%s: its head says that it ends at offset %" PRId64, path, end);
    if (code) {
        if (container) container_reader_free(container);
        storage_read_close(stream);
        free(path);
        return code;
    }
    struct segment_reader *reader = MEM_NEW(&(struct segment_reader){
        .container = container,
        .stream = stream,
        .path = path,
        .partition = partition,
        .file = file,
        .sorted = end >= 0,
        .empty = true,
        .last = file.first - 1,
    });
    *out = reader;
    return 0;
}

static bool belongs(const struct segment_reader *reader, const struct history_row *row) {
    if (row->partition != reader->partition) return false;
    return reader->sorted ? row->offset >= reader->file.first && row->offset < container_reader_end(reader->container)
                          : row->offset > reader->last;
}

int segment_reader_next(struct segment_reader *reader, struct history_row *row, struct error *error) {
    struct history_row read;
    int code = container_reader_next(reader->container, &read, error);
    if (code == 0 && reader->empty && !reader->sorted)
        return error_set(error, -EBADMSG, "%s: holds no row", reader->path);
    if (code <= 0) return code;
    if (!belongs(reader, &read))
        return error_set(error, -EBADMSG, "%s: holds a row of partition %d, offset %" PRId64 " behind offset %" PRId64,
                         reader->path, read.partition, read.offset, reader->last);
    if (read.offset > reader->last) reader->last = read.offset;
    reader->empty = false;
    *row = read;
    return 1;
}

bool segment_reader_sorted(const struct segment_reader *reader) { return reader->sorted; }

int64_t segment_reader_end(const struct segment_reader *reader) {
    return reader->sorted ? container_reader_end(reader->container) : reader->last + 1;
}

bool segment_reader_detailed(const struct segment_reader *reader) {
    return container_reader_detailed(reader->container);
}

void segment_reader_free(struct segment_reader *reader) {
    if (!reader) return;
    container_reader_free(reader->container);
    storage_read_close(reader->stream);
    free(reader->path);
    free(reader);
}

int segment_measure(struct storage *storage, int32_t partition, struct archive_file file, int64_t *end,
                    struct error *error) {
    struct segment_reader *reader;
    struct history_row row;
    if (file.end) {
        *end = file.end;
        return 0;
    }
    int code = segment_reader_open(storage, partition, file, &reader, error);
    if (code) return code;
    for (code = !segment_reader_sorted(reader); code > 0;) code = segment_reader_next(reader, &row, error);
    if (code == 0) *end = segment_reader_end(reader);
    segment_reader_free(reader);
    return code;
}
