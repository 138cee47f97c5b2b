#include "event/codec.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "event/private.h"
#include "event/wire.h"

/*  chunks -> [ newest: used bytes | free ] -> [ older, full ] -> ... -> NULL
 *
 * Arrays of one record lie in any of the chunks; a reset keeps the newest alone, so that after a few decodes one chunk is
 * large enough and nothing is allocated any more. */
struct scratch_chunk {
    struct scratch_chunk *older;
    size_t size;
    _Alignas(max_align_t) uint8_t bytes[];
};

enum { SCRATCH_FIRST = 4096 };

struct codec *codec_new(void) {
    return MEM_NEW(&(struct codec){.chunks = NULL, .used = 0, .values = NULL});
}

static void chunks_free(struct scratch_chunk *chunk) {
    while (chunk) {
        struct scratch_chunk *older = chunk->older;
        free(chunk);
        chunk = older;
    }
}

void codec_free(struct codec *codec) {
    if (!codec) return;
    chunks_free(codec->chunks);
    json_values_free(codec->values);
    free(codec);
}

void codec_scratch_reset(struct codec *codec) {
    codec->used = 0;
    if (codec->chunks && codec->chunks->older) {
        chunks_free(codec->chunks->older);
        codec->chunks->older = NULL;
    }
}

void *wire_scratch_grow(struct codec *scratch, const void *items, size_t used, size_t size) {
    size = (size + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
    if (!scratch->chunks || scratch->chunks->size - scratch->used < size) {
        size_t room = scratch->chunks ? 2 * scratch->chunks->size : SCRATCH_FIRST;
        if (room < size) room = size;
        struct scratch_chunk *chunk = mem_alloc(sizeof *chunk + room);
        chunk->older = scratch->chunks;
        chunk->size = room;
        scratch->chunks = chunk;
        scratch->used = 0;
    }
    void *place = scratch->chunks->bytes + scratch->used;
    scratch->used += size;
    if (used > 0) memcpy(place, items, used);
    return place;
}

const struct event_schema *event_schema_at(size_t index) {
    return index < EVENT_SCHEMAS ? &event_schemas[index] : NULL;
}

const struct event_schema *event_schema_find(uint32_t id) {
    for (size_t i = 0; i < EVENT_SCHEMAS; i++)
        if (event_schemas[i].id == id) return &event_schemas[i];
    return NULL;
}

uint8_t *event_header_write(uint8_t *at, enum event_record record) {
#define NEWEST(name, NAME, text) NAME##_SCHEMA_ID,
    static const uint32_t newest[EVENT_RECORDS] = {EVENT_EACH(NEWEST)};
    at[0] = 0;
    bytes_put_be32(at + 1, newest[record]);
    return at + EVENT_HEADER_SIZE;
}

void event_become_older(struct buffer *out, size_t start, uint32_t id, size_t lacks) {
    bytes_put_be32(out->data + start + 1, id);
    out->size -= lacks;
}

const uint8_t *event_header_read(const void *value, size_t size, uint32_t *id, struct error *error) {
    const uint8_t *at = value;
    if (size < EVENT_HEADER_SIZE || at[0] != 0) {
        error_set(error, -EBADMSG, "not the Confluent wire format: %zu bytes%s", size,
                  size < EVENT_HEADER_SIZE ? "" : ", and the first is not 0");
        return NULL;
    }
    *id = bytes_get_be32(at + 1);
    return at + EVENT_HEADER_SIZE;
}

static int event_wrong_id(uint32_t id, const char *record, struct error *error) {
    const struct event_schema *schema = event_schema_find(id);
    if (!schema) return error_set(error, -ENOENT, "unknown schema id %u", id);
    return error_set(error, -ENOENT, "schema id %u is a %s, not a %s", id, schema->record, record);
}

static int malformed(uint32_t id, const uint8_t *at, const uint8_t *end, struct error *error) {
    const struct event_schema *schema = event_schema_find(id);
    if (schema->find_end(at, end) == end)
        return error_set(error, -EBADMSG, "a %s with a value that is out of range", schema->record);
    return error_set(error, -EBADMSG, "malformed %s of %zu bytes", schema->record,
                     EVENT_HEADER_SIZE + (size_t)(end - at));
}

/* The same for each record, but for its type. */
#define DEFINE_RECORD(name, NAME, text)                                                                                \
    int event_decode_##name(struct codec *codec, const void *value, size_t size, struct name *record,                  \
                            struct error *error) {                                                                     \
        uint32_t id;                                                                                                   \
        struct name decoded;                                                                                           \
        const uint8_t *at = event_header_read(value, size, &id, error), *end = (const uint8_t *)value + size;          \
        if (!at) return -EBADMSG;                                                                                      \
        name##_reader *read = name##_reader_of(id);                                                                    \
        if (!read) return event_wrong_id(id, text, error);                                                             \
        codec_scratch_reset(codec);                                                                                    \
        if (read(at, end, &decoded, codec) != end) return malformed(id, at, end, error);                               \
        *record = decoded;                                                                                             \
        return 0;                                                                                                      \
    }                                                                                                                  \
                                                                                                                       \
    void event_encode_##name(struct buffer *out, const struct name *record) {                                          \
        uint8_t *start = buffer_reserve(out, EVENT_HEADER_SIZE + name##_size_max(record));                             \
        uint8_t *end = name##_write(event_header_write(start, EVENT_##NAME), record);                                  \
        buffer_commit(out, (size_t)(end - start));                                                                     \
    }

EVENT_EACH(DEFINE_RECORD)
