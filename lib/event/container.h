/* Avro object container files of HistoryRow (snappy), by avro-c. One thread, but where it says so (avro-c's errors are process-global). */
#ifndef EVENT_CONTAINER_H
#define EVENT_CONTAINER_H

#include "base/error.h"
#include "event/records.h"

struct container_writer;

/* Creates the file (must not exist). */
int container_writer_open(const char *path, struct container_writer **writer, struct error *error);
int container_writer_append(struct container_writer *writer, const struct history_row *row, struct error *error);
/* Writes out all that was appended, so that only container_writer_close or container_writer_abandon is left to call, from any thread:
 * they do not use avro-c any more. */
int container_writer_finish(struct container_writer *writer, struct error *error);
/* Finishes unless that was done, fsyncs, closes and frees, also on failure. The directory's fsync is the caller's. */
int container_writer_close(struct container_writer *writer, struct error *error);
void container_writer_abandon(struct container_writer *writer); /* closes and frees, ignoring errors; NULL is fine */

struct container_reader;
int container_reader_open(const char *path, struct container_reader **reader, struct error *error);
int container_reader_next(struct container_reader *reader, struct history_row *row,
                          struct error *error); /* 1, 0 end, negative */
void container_reader_free(struct container_reader *reader);

#endif
