/* A history file being written, and one being read back. Files are Avro object containers of HistoryRow; see archive.h for
 * what they cover. avro-c's rule: one thread of the process, but where it says so. Appends go to the page cache; publishing waits for the disk. */
#ifndef HISTORY_SINK_SEGMENT_H
#define HISTORY_SINK_SEGMENT_H

#include "event/records.h"
#include "history-sink/archive.h"

struct history_segment;

struct segment_limits { /* a file that has reached one of them is full */
    int64_t rows;
    int64_t bytes;  /* on disk */
    int64_t age_ms; /* since it was opened */
};

/* Opens a hidden file for rows from offset `first` on; row is the first of them, and is not appended by this. `before`: the
 * newest published file, NULL if there is none. */
int segment_open(const char *dir, const struct archive_file *before, int64_t first, const struct history_row *row,
                 struct history_segment **segment, struct error *error);

/* Does a row that arrived then belong into this file, or into a next one? */
bool segment_takes(const struct history_segment *segment, int64_t received_ms);
/* Rows by rising offset. */
int segment_append(struct history_segment *segment, const struct history_row *row, struct error *error);
bool segment_full(const struct history_segment *segment, const struct segment_limits *limits);
int64_t segment_rows(const struct history_segment *segment);
int64_t segment_oldest(const struct history_segment *segment); /* when its first row arrived, ms */

/* A published file. */
struct segment_published {
    struct archive_file file;
    int64_t last; /* offset of the last row: the next file starts behind it */
    int64_t rows, bytes;
};

/* Writes out all that was appended. Afterwards only segment_publish, which another thread may call then. On failure the file is
 * gone, and the segment freed. */
int segment_finish(struct history_segment *segment, struct error *error);
struct archive_file segment_file(const struct history_segment *segment);
int32_t segment_partition(const struct history_segment *segment);
int64_t segment_last(const struct history_segment *segment); /* offset of the last row */

/* Syncs, publishes and frees; blocks as long as the disk takes. At least one row was appended; of a segment that was finished, any
 * thread. -EEXIST: another owner was faster; the rows are for
 * nothing, and who publishes must look again where files end. After any failure nothing is left of the file. */
int segment_publish(struct history_segment *segment, struct segment_published *published, struct error *error);
void segment_drop(struct history_segment *segment); /* NULL is fine */

/* A published file read back, row by row, holding it against its name: partition, offsets rising from `first` on, at least
 * one row. Whatever is wrong is -EBADMSG. */
struct segment_reader;
int segment_reader_open(const char *dir, int32_t partition, struct archive_file file, struct segment_reader **reader,
                        struct error *error);
int segment_reader_next(struct segment_reader *reader, struct history_row *row,
                        struct error *error);                     /* 1, 0 end, negative */
int64_t segment_reader_last(const struct segment_reader *reader); /* offset of the row read last */
void segment_reader_free(struct segment_reader *reader);          /* NULL is fine */

#endif
