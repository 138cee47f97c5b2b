#include "history-sink/segment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/container.h"

struct history_segment {
    char *dir, *path; /* path: the temporary one */
    struct container_writer *writer;
    int32_t partition;
    struct archive_file file, before;
    bool has_before;
    int64_t last, rows, oldest_ms, opened_us;
};

static void segment_free(struct history_segment *segment) {
    free(segment->dir);
    free(segment->path);
    free(segment);
}

int segment_open(const char *dir, const struct archive_file *before, int64_t first, const struct history_row *row,
                 struct history_segment **out, struct error *error) {
    struct archive_file file = {.hour = archive_hour_of(row->received), .first = first};
    // A broker's clock may step back over the hour; the chain's hours must not fall.
    if (before && before->hour > file.hour) file.hour = before->hour;
    int code = archive_create_hour(dir, file.hour, error);
    if (code) return code;
    struct history_segment *segment = mem_alloc(sizeof *segment);
    *segment = (struct history_segment){
        .dir = mem_string(dir),
        .path = archive_temporary_path(dir, row->partition, file),
        .writer = NULL,
        .partition = row->partition,
        .file = file,
        .before = before ? *before : file,
        .has_before = before != NULL,
        .last = first - 1,
        .rows = 0,
        .oldest_ms = row->received,
        .opened_us = clock_monotonic_us(),
    };
    code = container_writer_open(segment->path, &segment->writer, error);
    if (code) {
        unlink(segment->path);
        segment_free(segment);
        return code;
    }
    *out = segment;
    return 0;
}

bool segment_takes(const struct history_segment *segment, int64_t received_ms) {
    return archive_hour_of(received_ms) <= segment->file.hour;
}

int segment_append(struct history_segment *segment, const struct history_row *row, struct error *error) {
    int code = container_writer_append(segment->writer, row, error);
    if (code) return code;
    segment->last = row->offset;
    segment->rows++;
    return 0;
}

static int64_t size_of(const char *path) {
    struct stat status;
    return stat(path, &status) ? 0 : (int64_t)status.st_size;
}

bool segment_full(const struct history_segment *segment, const struct segment_limits *limits) {
    return segment->rows >= limits->rows || clock_monotonic_us() - segment->opened_us >= limits->age_ms * 1000 ||
           size_of(segment->path) >= limits->bytes;
}

int64_t segment_rows(const struct history_segment *segment) { return segment->rows; }

int64_t segment_oldest(const struct history_segment *segment) { return segment->oldest_ms; }

struct archive_file segment_file(const struct history_segment *segment) {
    return segment->file;
}

int32_t segment_partition(const struct history_segment *segment) { return segment->partition; }

int64_t segment_last(const struct history_segment *segment) { return segment->last; }

int segment_finish(struct history_segment *segment, struct error *error) {
    int code = container_writer_finish(segment->writer, error);
    if (code) segment_drop(segment);
    return code;
}

int segment_publish(struct history_segment *segment, struct segment_published *published, struct error *error) {
    int code = container_writer_close(segment->writer, error);
    struct segment_published result = {
        .file = segment->file, .last = segment->last, .rows = segment->rows, .bytes = size_of(segment->path)};
    if (code)
        unlink(segment->path);
    else
        code = archive_publish(segment->dir, segment->partition, segment->has_before ? &segment->before : NULL,
                               segment->file, segment->path, error);
    segment_free(segment);
    if (code == 0) *published = result;
    return code;
}

void segment_drop(struct history_segment *segment) {
    if (!segment) return;
    container_writer_abandon(segment->writer);
    unlink(segment->path);
    segment_free(segment);
}

struct segment_reader {
    struct container_reader *container;
    char *path;
    int32_t partition;
    int64_t last; /* of the row read last; one before the first offset at the start */
    bool empty;
};

int segment_reader_open(const char *dir, int32_t partition, struct archive_file file, struct segment_reader **out,
                        struct error *error) {
    struct container_reader *container;
    char *path = archive_path(dir, partition, file);
    int code = container_reader_open(path, &container, error);
    if (code) {
        free(path);
        return code;
    }
    struct segment_reader *reader = mem_alloc(sizeof *reader);
    *reader = (struct segment_reader){
        .container = container, .path = path, .partition = partition, .last = file.first - 1, .empty = true};
    *out = reader;
    return 0;
}

int segment_reader_next(struct segment_reader *reader, struct history_row *row, struct error *error) {
    struct history_row read;
    int code = container_reader_next(reader->container, &read, error);
    if (code == 0 && reader->empty) return error_set(error, -EBADMSG, "%s: holds no row", reader->path);
    if (code <= 0) return code;
    if (read.partition != reader->partition || read.offset <= reader->last)
        return error_set(error, -EBADMSG, "%s: holds a row of partition %d, offset %" PRId64 " behind offset %" PRId64,
                         reader->path, read.partition, read.offset, reader->last);
    reader->last = read.offset;
    reader->empty = false;
    *row = read;
    return 1;
}

int64_t segment_reader_last(const struct segment_reader *reader) { return reader->last; }

void segment_reader_free(struct segment_reader *reader) {
    if (!reader) return;
    container_reader_free(reader->container);
    free(reader->path);
    free(reader);
}
