#include "event/container.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#define ZLIB_CONST // its input is const then
#include <zlib.h>

#include "base/mem.h"
#include "event/private.h"
#include "event/wire.h"

enum { HISTORY_ROW_V1_SCHEMA_ID = 7 };
enum {
    BLOCK_SIZE = 64 * 1024,
    BLOCK_MAX = 64 * 1024 * 1024, /* of other writers, packed or not */
    HEADER_MAX = 1024 * 1024,
    SYNC_SIZE = 16,
    CRC_SIZE = 4,
    READ_SIZE = 64 * 1024,
    ROW_V1_LACKS = 6 /* bytes at the end: six details that are not said, each a byte */
};

static const uint8_t NOTHING_SAID[ROW_V1_LACKS] = {1, 1, 1, 1, 1, 1};

static const char MAGIC[] = {'O', 'b', 'j', 1};

/* ---- writing ---- */

struct container_writer {
    struct container_output output;
    char *name;
    bool detailed;
    uint8_t sync[SYNC_SIZE];
    struct buffer rows, packed; /* packed: the header too, until it is written */
    int64_t count;              /* rows of this block */
};

static void header_put_text(struct buffer *header, const char *text) {
    const struct event_text value = {.data = text, .size = strlen(text)};
    uint8_t *start = buffer_reserve(header, VARINT_MAX + value.size);
    buffer_commit(header, (size_t)(wire_put_string(start, value) - start));
}

static void header_put(struct container_writer *writer, int64_t end) {
    struct buffer *header = &writer->packed;
    buffer_append(header, MAGIC, sizeof MAGIC);
    buffer_byte(header, (uint8_t)(2 * (end < 0 ? 2 : 3))); // a block of so many pairs
    header_put_text(header, "avro.codec");
    header_put_text(header, "snappy");
    header_put_text(header, "avro.schema");
    header_put_text(header,
                    event_schema_find(writer->detailed ? HISTORY_ROW_SCHEMA_ID : HISTORY_ROW_V1_SCHEMA_ID)->json);
    if (end >= 0) {
        char number[24];
        snprintf(number, sizeof number, "%" PRId64, end);
        header_put_text(header, "starling.end");
        header_put_text(header, number);
    }
    buffer_byte(header, 0);
    buffer_append(header, writer->sync, SYNC_SIZE);
}

struct container_writer *container_writer_new(const char *name, int64_t end, bool detailed,
                                              const struct container_output *output) {
    struct container_writer *writer = MEM_NEW(&(struct container_writer){
        .output = *output,
        .name = mem_string(name),
        .detailed = detailed,
        .rows = {.data = NULL},
        .packed = {.data = NULL},
    });
    if (getrandom(writer->sync, SYNC_SIZE, 0) != SYNC_SIZE) abort(); // never short for sixteen bytes
    header_put(writer, end);
    return writer;
}

static void put_long(struct buffer *buffer, int64_t value) {
    uint8_t *start = buffer_reserve(buffer, VARINT_MAX);
    buffer_commit(buffer, (size_t)(zigzag_put(start, value) - start));
}

/* Packs the rows that wait behind what is packed, and writes it all. */
static int flush(struct container_writer *writer, struct error *error) {
    struct buffer *packed = &writer->packed;
    if (writer->count) {
        size_t size = snappy_max_compressed_length(writer->rows.size);
        char *room = mem_alloc(size);
        // Fails only where the room is too small.
        if (snappy_compress((const char *)writer->rows.data, writer->rows.size, room, &size) != SNAPPY_OK) abort();
        uint8_t crc[CRC_SIZE];
        bytes_put_be32(crc, (uint32_t)crc32(0, writer->rows.data, (uInt)writer->rows.size));
        put_long(packed, writer->count);
        put_long(packed, (int64_t)size + CRC_SIZE);
        buffer_append(packed, room, size);
        buffer_append(packed, crc, CRC_SIZE);
        buffer_append(packed, writer->sync, SYNC_SIZE);
        free(room);
    }
    int code = packed->size ? writer->output.write(writer->output.context, packed->data, packed->size, error) : 0;
    buffer_clear(packed);
    buffer_clear(&writer->rows);
    writer->count = 0;
    return code ? error_prefix(error, code, "%s", writer->name) : 0;
}

int container_writer_append(struct container_writer *writer, const struct history_row *row, struct error *error) {
    uint8_t *start = buffer_reserve(&writer->rows, HISTORY_ROW_SIZE_MAX);
    size_t size = (size_t)(history_row_write(start, row) - start);
    if (!writer->detailed) {
        size -= ROW_V1_LACKS;
        if (memcmp(start + size, NOTHING_SAID, ROW_V1_LACKS) != 0)
            return error_set(error, -EINVAL, "%s: a row says more than the file can", writer->name);
    }
    buffer_commit(&writer->rows, size);
    writer->count++;
    return writer->rows.size >= BLOCK_SIZE ? flush(writer, error) : 0;
}

int container_writer_finish(struct container_writer *writer, struct error *error) { return flush(writer, error); }

void container_writer_free(struct container_writer *writer) {
    if (!writer) return;
    buffer_free(&writer->rows);
    buffer_free(&writer->packed);
    free(writer->name);
    free(writer);
}

/* ---- the codecs ---- */

/* Unpacks a block into an empty buffer. false: it is damaged, or too large. */
typedef bool container_unpack(const uint8_t *packed, size_t size, struct buffer *rows);

static bool unpack_nothing(const uint8_t *packed, size_t size, struct buffer *rows) {
    buffer_append(rows, packed, size);
    return true;
}

static bool unpack_snappy(const uint8_t *packed, size_t size, struct buffer *rows) {
    size_t unpacked;
    if (size < CRC_SIZE) return false;
    const char *text = (const char *)packed;
    size -= CRC_SIZE;
    if (snappy_uncompressed_length(text, size, &unpacked) != SNAPPY_OK || unpacked > BLOCK_MAX) return false;
    uint8_t *room = buffer_reserve(rows, unpacked + 1);
    if (snappy_uncompress(text, size, (char *)room, &unpacked) != SNAPPY_OK) return false;
    buffer_commit(rows, unpacked);
    return (uint32_t)crc32(0, room, (uInt)unpacked) == bytes_get_be32(packed + size);
}

static bool unpack_deflate(const uint8_t *packed, size_t size, struct buffer *rows) {
    z_stream stream = {.next_in = packed, .avail_in = (uInt)size};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) abort(); // fails only without memory
    int code;
    do {
        stream.next_out = buffer_reserve(rows, BLOCK_SIZE);
        stream.avail_out = BLOCK_SIZE;
        code = inflate(&stream, Z_NO_FLUSH);
        buffer_commit(rows, BLOCK_SIZE - stream.avail_out);
    } while (code == Z_OK && rows->size <= BLOCK_MAX);
    inflateEnd(&stream);
    return code == Z_STREAM_END;
}

/* Ours is snappy; other tools that write files anew take what they like. */
static const struct {
    const char *name;
    container_unpack *unpack;
} UNPACKERS[] = {{"snappy", unpack_snappy}, {"deflate", unpack_deflate}, {"null", unpack_nothing}};

/* ---- reading ---- */

struct container_reader {
    struct container_input input;
    char *name;
    history_row_reader *read; /* of the version that the file was written in */
    bool detailed;
    struct codec *codec;
    container_unpack *unpack;
    int64_t end;
    uint8_t sync[SYNC_SIZE];
    struct buffer bytes; /* read and not used up: from `at` on */
    size_t at;
    struct buffer rows; /* of this block, unpacked: from `row_at` on */
    size_t row_at;
    int64_t left; /* rows of this block */
};

static int damaged(const struct container_reader *reader, const char *what, struct error *error) {
    return error_set(error, -EBADMSG, "%s: %s", reader->name, what);
}

/* More bytes; 0: there are none, negative. */
static ssize_t fill(struct container_reader *reader, struct error *error) {
    if (reader->at == reader->bytes.size) {
        buffer_clear(&reader->bytes);
        reader->at = 0;
    } else if (reader->at >= READ_SIZE) {
        memmove(reader->bytes.data, reader->bytes.data + reader->at, reader->bytes.size - reader->at);
        reader->bytes.size -= reader->at;
        reader->at = 0;
    }
    uint8_t *room = buffer_reserve(&reader->bytes, READ_SIZE);
    ssize_t count = reader->input.read(reader->input.context, room, READ_SIZE, error);
    if (count > 0) buffer_commit(&reader->bytes, (size_t)count);
    return count < 0 ? error_prefix(error, (int)count, "%s", reader->name) : count;
}

/* At least so many bytes, at *bytes, used up by this. */
static int take(struct container_reader *reader, size_t size, const uint8_t **bytes, struct error *error) {
    while (reader->bytes.size - reader->at < size) {
        ssize_t count = fill(reader, error);
        if (count < 0) return (int)count;
        if (count == 0) return damaged(reader, "ends too early", error);
    }
    *bytes = reader->bytes.data + reader->at;
    reader->at += size;
    return 0;
}

static int take_long(struct container_reader *reader, int64_t *value, struct error *error) {
    uint8_t number[VARINT_MAX];
    for (size_t i = 0; i < VARINT_MAX; i++) {
        const uint8_t *byte;
        int code = take(reader, 1, &byte, error);
        if (code) return code;
        number[i] = *byte;
        if (*byte < 0x80) return zigzag_get(number, number + i + 1, value) ? 0 : damaged(reader, "malformed", error);
    }
    return damaged(reader, "malformed", error);
}

/* A string of the header, which the caller frees. */
static int take_text(struct container_reader *reader, char **text, struct error *error) {
    const uint8_t *bytes;
    int64_t size;
    int code = take_long(reader, &size, error);
    if (code == 0 && (size < 0 || size > HEADER_MAX)) code = damaged(reader, "malformed", error);
    if (code == 0) code = take(reader, (size_t)size, &bytes, error);
    if (code == 0) *text = mem_stringn((const char *)bytes, (size_t)size);
    return code;
}

/* Another writer's text of a schema that means one of ours. avro-c's errors are process-global, so one reader asks at a time. */
static history_row_reader *reader_for_foreign(const char *text) {
    static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
    history_row_reader *found = NULL;
    avro_schema_t schema;
    pthread_mutex_lock(&asking);
    bool parsed = avro_schema_from_json_length(text, strlen(text), &schema) == 0;
    for (size_t i = 0; parsed && i < EVENT_SCHEMAS && !found; i++) {
        history_row_reader *read = history_row_reader_of(event_schemas[i].id);
        if (!read) continue;
        avro_schema_t known = event_schema_parse(&event_schemas[i]);
        if (avro_schema_equal(known, schema)) found = read;
        avro_schema_decref(known);
    }
    if (parsed) avro_schema_decref(schema);
    pthread_mutex_unlock(&asking);
    return found;
}

/* Which version of HistoryRow a schema is; NULL when it is none. Files of ours have the text of schemas/ as it is. */
static history_row_reader *reader_for(const char *schema) {
    for (size_t i = 0; i < EVENT_SCHEMAS; i++)
        if (strcmp(event_schemas[i].json, schema) == 0) return history_row_reader_of(event_schemas[i].id);
    return reader_for_foreign(schema);
}

static int codec_use(struct container_reader *reader, const char *name, struct error *error) {
    for (size_t i = 0; i < sizeof UNPACKERS / sizeof UNPACKERS[0]; i++) {
        if (strcmp(UNPACKERS[i].name, name) != 0) continue;
        reader->unpack = UNPACKERS[i].unpack;
        return 0;
    }
    return damaged(reader, "is packed by a codec that is not known", error);
}

static int header_use(struct container_reader *reader, const char *key, const char *value, struct error *error) {
    if (strcmp(key, "avro.codec") == 0) return codec_use(reader, value, error);
    if (strcmp(key, "avro.schema") == 0) {
        reader->read = reader_for(value);
        reader->detailed = reader->read == history_row_reader_of(HISTORY_ROW_SCHEMA_ID);
        return reader->read ? 0 : damaged(reader, "not a file of HistoryRow", error);
    }
    if (strcmp(key, "starling.end") == 0) {
        char *rest;
        errno = 0;
        reader->end = strtoll(value, &rest, 10);
        if (errno || *rest || rest == value || reader->end < 0) return damaged(reader, "its end is malformed", error);
    }
    return 0;
}

static int header_pair(struct container_reader *reader, struct error *error) {
    char *key = NULL, *value = NULL;
    int code = take_text(reader, &key, error);
    if (code == 0) code = take_text(reader, &value, error);
    if (code == 0) code = header_use(reader, key, value, error);
    free(key);
    free(value);
    return code;
}

static int header_read(struct container_reader *reader, struct error *error) {
    const uint8_t *bytes;
    int64_t pairs = 0, size;
    int code = take(reader, sizeof MAGIC, &bytes, error);
    if (code == 0 && memcmp(bytes, MAGIC, sizeof MAGIC) != 0) code = damaged(reader, "not an Avro file", error);
    while (code == 0) {
        code = take_long(reader, &pairs, error);
        if (code || pairs == 0) break;
        if (pairs < 0) code = take_long(reader, &size, error); // of the block, in bytes
        if (code == 0 && (pairs > HEADER_MAX || pairs < -HEADER_MAX)) code = damaged(reader, "malformed", error);
        for (int64_t i = pairs < 0 ? -pairs : pairs; code == 0 && i > 0; i--) code = header_pair(reader, error);
    }
    if (code == 0) code = take(reader, SYNC_SIZE, &bytes, error);
    if (code) return code;
    memcpy(reader->sync, bytes, SYNC_SIZE);
    return reader->read ? 0 : damaged(reader, "not a file of HistoryRow", error);
}

int container_reader_new(const char *name, const struct container_input *input, struct container_reader **out,
                         struct error *error) {
    struct container_reader *reader = MEM_NEW(&(struct container_reader){
        .input = *input,
        .name = mem_string(name),
        .codec = codec_new(),
        .unpack = unpack_nothing,
        .end = -1,
        .bytes = {.data = NULL},
        .rows = {.data = NULL},
    });
    int code = header_read(reader, error);
    if (code)
        container_reader_free(reader);
    else
        *out = reader;
    return code;
}

bool container_reader_detailed(const struct container_reader *reader) { return reader->detailed; }

int64_t container_reader_end(const struct container_reader *reader) { return reader->end; }

/* The next block. 1; 0: there is none; negative. */
static int block_read(struct container_reader *reader, struct error *error) {
    const uint8_t *packed, *sync;
    int64_t size;
    if (reader->at == reader->bytes.size) {
        ssize_t count = fill(reader, error);
        if (count <= 0) return (int)count;
    }
    int code = take_long(reader, &reader->left, error);
    if (code == 0) code = take_long(reader, &size, error);
    if (code) return code;
    if (reader->left < 0 || size < 0 || size > BLOCK_MAX) return damaged(reader, "malformed block", error);
    code = take(reader, (size_t)size + SYNC_SIZE, &packed, error);
    if (code) return code;
    sync = packed + size;
    if (memcmp(sync, reader->sync, SYNC_SIZE) != 0) return damaged(reader, "malformed block", error);
    buffer_clear(&reader->rows);
    reader->row_at = 0;
    return reader->unpack(packed, (size_t)size, &reader->rows) ? 1 : damaged(reader, "malformed block", error);
}

int container_reader_next(struct container_reader *reader, struct history_row *row, struct error *error) {
    struct history_row decoded;
    while (reader->left == 0) {
        if (reader->row_at != reader->rows.size) return damaged(reader, "malformed block", error);
        int code = block_read(reader, error);
        if (code <= 0) return code;
    }
    codec_scratch_reset(reader->codec);
    const uint8_t *start = reader->rows.data, *end = start + reader->rows.size;
    const uint8_t *behind = reader->read(start + reader->row_at, end, &decoded, reader->codec);
    if (!behind) return damaged(reader, "malformed row", error);
    reader->row_at = (size_t)(behind - start);
    reader->left--;
    *row = decoded;
    return 1;
}

void container_reader_free(struct container_reader *reader) {
    if (!reader) return;
    buffer_free(&reader->bytes);
    buffer_free(&reader->rows);
    codec_free(reader->codec);
    free(reader->name);
    free(reader);
}
