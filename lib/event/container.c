#include "event/container.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "event/private.h"
#include "event/wire.h"

enum { BLOCK_SIZE = 64 * 1024, SYNC_SIZE = 16 };

/* avro-c leaks its writer when a write fails, and it writes a schema without logical types and docs, which the analysts
 * who open the file want. So it writes to a stream that never fails and whose first bytes, the header, are ours:
 *
 *     avro-c --stdio--> stream_write --+--> header: kept back for its sync marker, then replaced (container_writer_open)
 *                                      +--> file, until the first failure, which is kept for the next call to report
 */
struct container_writer {
    int fd;
    int failure; /* 0, or the errno code of the first write that failed */
    bool in_header;
    struct buffer header; /* as avro-c wrote it */
    FILE *stream;
    avro_file_writer_t avro;
    char *path;
};

static void file_write(struct container_writer *writer, const void *bytes, size_t size) {
    const uint8_t *at = bytes;
    while (size > 0 && !writer->failure) {
        ssize_t written = write(writer->fd, at, size);
        if (written >= 0) {
            at += written;
            size -= (size_t)written;
        } else if (errno != EINTR) {
            writer->failure = errno;
        }
    }
}

static ssize_t stream_write(void *cookie, const char *bytes, size_t size) {
    struct container_writer *writer = cookie;
    if (writer->in_header)
        buffer_append(&writer->header, bytes, size);
    else
        file_write(writer, bytes, size);
    return (ssize_t)size;
}

static void header_put_text(struct buffer *header, const char *text) {
    const struct event_text value = {.data = text, .size = strlen(text)};
    uint8_t *start = buffer_reserve(header, VARINT_MAX + value.size);
    buffer_commit(header, (size_t)(wire_put_string(start, value) - start));
}

/* The same header with our own text of the schema; ends with avro-c's sync marker, which every block repeats. */
static void header_replace(struct container_writer *writer, const struct event_schema *schema) {
    struct buffer header = {.data = NULL};
    buffer_string(&header, "Obj\1");
    buffer_byte(&header, 2 * 2); /* two pairs in the map of metadata */
    header_put_text(&header, "avro.codec");
    header_put_text(&header, "snappy");
    header_put_text(&header, "avro.schema");
    header_put_text(&header, schema->json);
    buffer_byte(&header, 0);
    buffer_append(&header, writer->header.data + writer->header.size - SYNC_SIZE, SYNC_SIZE);
    file_write(writer, header.data, header.size);
    buffer_free(&header);
}

static void writer_free(struct container_writer *writer) {
    if (writer->avro) avro_file_writer_close(writer->avro);
    if (writer->stream) fclose(writer->stream);
    if (writer->fd >= 0) close(writer->fd);
    buffer_free(&writer->header);
    free(writer->path);
    free(writer);
}

static int write_failed(const struct container_writer *writer, struct error *error) {
    return error_set(error, -writer->failure, "%s: %s", writer->path, strerror(writer->failure));
}

int container_writer_open(const char *path, struct container_writer **writer, struct error *error) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644), rc;
    if (fd < 0) {
        rc = -errno;
        return error_set(error, rc, "%s: %s", path, strerror(-rc));
    }
    struct container_writer *self = mem_alloc(sizeof *self);
    *self = (struct container_writer){
        .fd = fd,
        .failure = 0,
        .in_header = true,
        .header = {.data = NULL},
        .stream = NULL,
        .avro = NULL,
        .path = mem_string(path),
    };
    const struct event_schema *schema = event_schema_find(HISTORY_ROW_SCHEMA_ID);
    avro_schema_t parsed = event_schema_parse(schema);
    self->stream = fopencookie(self, "wb", (cookie_io_functions_t){.write = stream_write});
    if (!self->stream) {
        rc = error_set(error, -errno, "%s: %s", path, strerror(errno));
        goto finish;
    }
    rc = avro_file_writer_create_with_codec_fp(self->stream, path, 0, parsed, &self->avro, "snappy", BLOCK_SIZE);
    if (rc != 0) {
        rc = error_set(error, -EIO, "%s: %s", path, avro_strerror());
        goto finish;
    }
    fflush(self->stream);
    self->in_header = false;
    header_replace(self, schema);
    if (self->failure) rc = write_failed(self, error);
finish:
    avro_schema_decref(parsed);
    if (rc == 0)
        *writer = self;
    else
        writer_free(self);
    return rc;
}

int container_writer_append(struct container_writer *writer, const struct history_row *row, struct error *error) {
    uint8_t bytes[HISTORY_ROW_SIZE_MAX];
    if (avro_file_writer_append_encoded(writer->avro, bytes, history_row_write(bytes, row) - bytes) != 0)
        return error_set(error, -EIO, "%s: %s", writer->path, avro_strerror());
    return writer->failure ? write_failed(writer, error) : 0;
}

int container_writer_finish(struct container_writer *writer, struct error *error) {
    int rc = 0;
    if (avro_file_writer_flush(writer->avro) != 0) rc = error_set(error, -EIO, "%s: %s", writer->path, avro_strerror());
    if (writer->failure) rc = write_failed(writer, error);
    avro_file_writer_close(writer->avro);
    fclose(writer->stream);
    writer->avro = NULL;
    writer->stream = NULL;
    return rc;
}

int container_writer_close(struct container_writer *writer, struct error *error) {
    int rc = writer->avro ? container_writer_finish(writer, error) : 0;
    if (!writer->failure && fsync(writer->fd) != 0) writer->failure = errno;
    if (writer->failure) rc = write_failed(writer, error);
    writer_free(writer);
    return rc;
}

void container_writer_abandon(struct container_writer *writer) {
    if (!writer) return;
    writer->failure = ECANCELED; /* so that what is still buffered is not written */
    writer_free(writer);
}

struct container_reader {
    avro_file_reader_t avro;
    avro_value_t value;       /* in the schema that the file was written in */
    history_row_reader *read; /* its version's */
    bool ended;
    struct buffer row;
    struct codec *codec;
    char *path;
};

/* Which version of HistoryRow a schema is, NULL when it is none. */
static history_row_reader *reader_for(avro_schema_t schema) {
    history_row_reader *found = NULL;
    for (size_t i = 0; i < EVENT_SCHEMAS && !found; i++) {
        history_row_reader *read = history_row_reader_of(event_schemas[i].id);
        if (!read) continue;
        avro_schema_t known = event_schema_parse(&event_schemas[i]);
        if (avro_schema_equal(known, schema)) found = read;
        avro_schema_decref(known);
    }
    return found;
}

int container_reader_open(const char *path, struct container_reader **reader, struct error *error) {
    FILE *file = fopen(path, "rbe");
    avro_file_reader_t avro;
    int rc;
    if (!file) {
        rc = -errno;
        return error_set(error, rc, "%s: %s", path, strerror(-rc));
    }
    if (avro_file_reader_fp(file, path, 1, &avro) != 0)
        return error_set(error, -EBADMSG, "%s: %s", path, avro_strerror());

    avro_schema_t schema = avro_file_reader_get_writer_schema(avro);
    history_row_reader *read = reader_for(schema);
    if (!read) {
        avro_file_reader_close(avro);
        avro_schema_decref(schema);
        return error_set(error, -EBADMSG, "%s: not a file of HistoryRow", path);
    }
    struct container_reader *self = mem_alloc(sizeof *self);
    *self = (struct container_reader){
        .avro = avro,
        .value = {.iface = NULL},
        .read = read,
        .ended = false,
        .row = {.data = NULL},
        .codec = codec_new(),
        .path = mem_string(path),
    };
    avro_value_iface_t *iface = avro_generic_class_from_schema(schema);
    if (avro_generic_value_new(iface, &self->value) != 0) abort();
    avro_value_iface_decref(iface);
    avro_schema_decref(schema);
    *reader = self;
    return 0;
}

int container_reader_next(struct container_reader *reader, struct history_row *row, struct error *error) {
    struct history_row decoded;
    size_t size = 0;
    if (reader->ended) return 0;
    avro_value_reset(&reader->value);
    int rc = avro_file_reader_read_value(reader->avro, &reader->value);
    if (rc == EOF) {
        reader->ended = true; /* avro-c itself would fail when asked again */
        return 0;
    }
    if (rc != 0) return error_set(error, -EBADMSG, "%s: %s", reader->path, avro_strerror());

    /* avro-c gives values, not bytes; bytes are what our readers resolve to the newest version. */
    avro_value_sizeof(&reader->value, &size);
    buffer_clear(&reader->row);
    const uint8_t *start = buffer_reserve(&reader->row, size), *end = start + size;
    avro_writer_t memory = avro_writer_memory((const char *)start, (int64_t)size);
    rc = avro_value_write(memory, &reader->value);
    avro_writer_free(memory);
    codec_scratch_reset(reader->codec);
    if (rc != 0 || reader->read(start, end, &decoded, reader->codec) != end)
        return error_set(error, -EBADMSG, "%s: malformed row", reader->path);
    *row = decoded;
    return 1;
}

void container_reader_free(struct container_reader *reader) {
    if (!reader) return;
    avro_file_reader_close(reader->avro);
    avro_value_decref(&reader->value);
    buffer_free(&reader->row);
    codec_free(reader->codec);
    free(reader->path);
    free(reader);
}
