#include "deliver/envelope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define TIME_MAX INT64_C(253402300799999) // as schemas/ranges.txt says

enum { WIRE_HEADER = 5, ENVELOPE_MIN = 3 }; /* kind, no recipients, no payload: a byte each */

struct deliver_reader {
    const uint8_t *at; /* NULL after the end */
    const uint8_t *end;
    size_t block; /* envelopes left in the current block of the Avro array */
    int64_t *users;
    size_t users_room;
};

/* ---- writing ---- */

uint8_t *deliver_envelope_write(uint8_t *at, const struct deliver_envelope *envelope) {
    at = zigzag_put(at, envelope->kind);
    if (envelope->recipient_count > 0) at = zigzag_put(at, (int64_t)envelope->recipient_count);
    for (size_t i = 0; i < envelope->recipient_count; i++) at = zigzag_put(at, envelope->recipients[i]);
    *at++ = 0;
    at = zigzag_put(at, (int64_t)envelope->payload_size);
    if (envelope->payload_size > 0) memcpy(at, envelope->payload, envelope->payload_size);
    return at + envelope->payload_size;
}

uint8_t *deliver_head_write_before(uint8_t *before, int64_t stream_time, int64_t oldest_received, uint64_t count) {
    uint8_t head[DELIVER_HEAD_MAX] = {0}, *at = head + WIRE_HEADER;
    bytes_put_be32(head + 1, DELIVER_SCHEMA_ID);
    at = zigzag_put(zigzag_put(at, stream_time), oldest_received);
    if (count > 0) at = zigzag_put(at, (int64_t)count);
    size_t size = (size_t)(at - head);
    return memcpy(before - size, head, size);
}

/* ---- reading ---- */

struct deliver_reader *deliver_reader_new(void) {
    return mem_zero(1, sizeof(struct deliver_reader));
}

void deliver_reader_free(struct deliver_reader *reader) {
    if (!reader) return;
    free(reader->users);
    free(reader);
}

static inline const uint8_t *get_recipients(struct deliver_reader *reader, const uint8_t *at, size_t *count) {
    size_t block;
    *count = 0;
    while ((at = zigzag_get_block(at, reader->end, 1, &block)) && block > 0) {
        MEM_FIT(reader->users, *count + block, reader->users_room);
        for (int64_t *user = reader->users + *count, *last = user + block; user < last; user++)
            if (!(at = zigzag_get(at, reader->end, user)) || *user < 0) return NULL;
        *count += block;
    }
    return at;
}

static const uint8_t *get_envelope(struct deliver_reader *reader, const uint8_t *at,
                                   struct deliver_envelope *envelope) {
    int64_t kind, size;
    at = zigzag_get(at, reader->end, &kind);
    if (!at || kind < INT32_MIN || kind > INT32_MAX) return NULL;
    if (!(at = get_recipients(reader, at, &envelope->recipient_count))) return NULL;
    at = zigzag_get(at, reader->end, &size);
    if (!at || size < 0 || size > reader->end - at) return NULL;
    envelope->kind = (int32_t)kind;
    envelope->recipients = reader->users;
    envelope->payload = at;
    envelope->payload_size = (size_t)size;
    return at + size;
}

uint32_t deliver_schema_id(const void *value, size_t size) {
    const uint8_t *at = value;
    return size >= WIRE_HEADER && at[0] == 0 ? bytes_get_be32(at + 1) : 0;
}

int deliver_reader_start(struct deliver_reader *reader, const void *value, size_t size, struct deliver_head *head,
                         struct error *error) {
    uint32_t id = deliver_schema_id(value, size);
    struct deliver_head read;
    if (!id) return error_set(error, -EBADMSG, "not the Confluent wire format: %zu bytes", size);
    if (id != DELIVER_SCHEMA_ID)
        return error_set(error, -ENOENT, "schema id %u is not one of a delivery-batch that can be read", id);
    const uint8_t *at = (const uint8_t *)value + WIRE_HEADER, *end = (const uint8_t *)value + size;
    if (!(at = zigzag_get(at, end, &read.stream_time)) || !(at = zigzag_get(at, end, &read.oldest_received)) ||
        read.stream_time < 0 || read.stream_time > TIME_MAX || read.oldest_received < 0 ||
        read.oldest_received > TIME_MAX)
        return error_set(error, -EBADMSG, "malformed delivery-batch of %zu bytes", size);
    reader->at = at;
    reader->end = end;
    reader->block = 0;
    *head = read;
    return 0;
}

int deliver_reader_next(struct deliver_reader *reader, struct deliver_envelope *envelope) {
    const uint8_t *at = reader->at;
    size_t block = reader->block;
    if (!at) return 0;
    if (block == 0) {
        at = zigzag_get_block(at, reader->end, ENVELOPE_MIN, &block);
        if (!at) return -EBADMSG;
        if (block == 0) {
            if (at != reader->end) return -EBADMSG;
            reader->at = NULL;
            return 0;
        }
    }
    at = get_envelope(reader, at, envelope);
    if (!at) return -EBADMSG;
    reader->at = at;
    reader->block = block - 1;
    return 1;
}
