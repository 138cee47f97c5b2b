/* A small history file being gathered, and history files being read back. Files are Avro object containers of HistoryRow, sorted by
 * user and time; see archive.h for what they cover.
 *
 *     loop:    segment_new --> segment_append ...     rows are in memory, SEGMENT_ROW_MEMORY bytes each; no call waits
 *     worker:  segment_publish                        sorts, writes and publishes: as long as that takes
 */
#pragma once

#include "event/records.h"
#include "history-sink/archive.h"

struct history_segment;

struct segment_limits { /* a file that has reached one of them is full */
    int64_t rows;
    int64_t bytes;  /* in the storage, as is to be expected from its rows */
    int64_t age_ms; /* since it was opened */
};

enum {
    SEGMENT_ROW_MEMORY = sizeof(struct history_row),
    SEGMENT_ROW_BYTES = 24 /* of a row in a file, about */
};

/* A file for rows behind `before`, which is copied; row is the first of them, and is not appended by this. */
struct history_segment *segment_new(const struct chain_end *before, const struct history_row *row);
/* The empty file that closes the hour of `before`, which is a small file, and not closed. */
struct history_segment *segment_closing(int32_t partition, const struct chain_end *before);

/* Does a row that arrived then belong into this file, or into a next one? */
bool segment_takes(const struct history_segment *segment, int64_t received_ms);
void segment_append(struct history_segment *segment, const struct history_row *row); /* rows by rising offset */
void segment_pass(struct history_segment *segment, int64_t offset);                  /* covers it without its row */
/* Drops the user's rows that arrived before that time; what the file covers stays the same. */
void segment_wipe(struct history_segment *segment, int64_t user, int64_t before);
bool segment_full(const struct history_segment *segment, const struct segment_limits *limits);
int64_t segment_rows(const struct history_segment *segment);
int64_t segment_oldest(const struct history_segment *segment); /* when its first row arrived, ms */
int32_t segment_partition(const struct history_segment *segment);
struct chain_end segment_end(const struct history_segment *segment); /* of the chain with it */

/* A published file. */
struct segment_published {
    struct chain_end chain; /* it ends with this file */
    int64_t rows, bytes;
};

/* Publishes and frees; blocks as long as the storage takes. -EEXIST: another owner was faster; the rows are for
 * nothing, and who publishes must look again where files end. After any failure nothing is left of the file. */
int segment_publish(struct history_segment *segment, struct storage *storage, struct segment_published *published,
                    struct error *error);
void segment_drop(struct history_segment *segment); /* NULL is fine */

/* By user, time and offset, as files are. */
int segment_row_order(const void *a, const void *b);

/* A file being written whose rows come in their order: a container (event/container.h) on its way into the storage. */
struct segment_writer;
int segment_writer_open(struct storage *storage, const char *path, int64_t end, bool detailed,
                        struct segment_writer **writer, struct error *error);
int segment_writer_append(struct segment_writer *writer, const struct history_row *row, struct error *error);
/* Writes what is left, and frees the writer; the file is to be published, replaced or abandoned then. On failure nothing is left. */
int segment_writer_finish(struct segment_writer *writer, struct storage_writer **file, struct error *error);
void segment_writer_abandon(struct segment_writer *writer); /* NULL is fine */

/* A file read back, row by row, holding it against its name: partition, offsets from `first` on and before its end. Files of version
 * 0.1 are in order of offsets, and are not empty. Whatever is wrong is -EBADMSG; -ENOENT: the file is gone. */
struct segment_reader;
int segment_reader_open(struct storage *storage, int32_t partition, struct archive_file file,
                        struct segment_reader **reader, struct error *error);
int segment_reader_next(struct segment_reader *reader, struct history_row *row,
                        struct error *error);                    /* 1, 0 end, negative */
bool segment_reader_sorted(const struct segment_reader *reader); /* by user and time; false: by offset (0.1) */
int64_t segment_reader_end(
    const struct segment_reader *reader); /* where the file ends; of 0.1: once it is read whole */
bool segment_reader_detailed(const struct segment_reader *reader); /* container_reader_detailed */
void segment_reader_free(struct segment_reader *reader);           /* NULL is fine */

/* The end of a file: its head says it; a file of version 0.1 is read whole. */
int segment_measure(struct storage *storage, int32_t partition, struct archive_file file, int64_t *end,
                    struct error *error);
