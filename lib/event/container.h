/* Avro object containers of HistoryRow, packed with snappy, written and read as streams: where the bytes go and come from is the caller's.
 * In the metadata is `starling.end`, a decimal number: the offset behind the last one that the file covers. Files of version 0.1 lack it.
 *
 *     header: "Obj" 1, {avro.codec, avro.schema, starling.end}, marker     block: rows, bytes, snappy(rows) and crc, marker     block ...
 *
 * avro-c drops docs and `timestamp-millis`, has no place for metadata, leaks when a write fails, and allows one thread only.
 *
 * One thread per writer or reader; any thread. Memory: two blocks each, of about 64 KiB in files of ours. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "event/records.h"

struct container_writer;

struct container_output {
    void *context;
    int (*write)(void *context, const void *bytes, size_t size, struct error *error); /* 0 or negative */
};

/* end: what starling.end is to say; negative: nothing. detailed: rows may say more than version 1 of HistoryRow can; else the file is of
 * that version, which sinks of the release before read, and such a row is -EINVAL. `name` is for messages. Nothing is written before container_writer_finish or a
 * full block. The strings are copied. */
struct container_writer *container_writer_new(const char *name, int64_t end, bool detailed,
                                              const struct container_output *output);
int container_writer_append(struct container_writer *writer, const struct history_row *row, struct error *error);
/* Writes all that was appended, and the header in any case. Nothing may be appended behind it. */
int container_writer_finish(struct container_writer *writer, struct error *error);
void container_writer_free(struct container_writer *writer); /* NULL is fine */

struct container_reader;

struct container_input {
    void *context;
    ssize_t (*read)(void *context, void *bytes, size_t size,
                    struct error *error); /* some bytes; 0: the end; negative */
};

/* Reads the header. A file that is none of HistoryRow, or is damaged, gives -EBADMSG, here as below. */
int container_reader_new(const char *name, const struct container_input *input, struct container_reader **reader,
                         struct error *error);
int64_t container_reader_end(const struct container_reader *reader);   /* starling.end, -1: it has none */
bool container_reader_detailed(const struct container_reader *reader); /* of container_writer_new */
int container_reader_next(struct container_reader *reader, struct history_row *row,
                          struct error *error);              /* 1, 0 end, negative */
void container_reader_free(struct container_reader *reader); /* NULL is fine */
