/* Avro's binary encoding, value by value: the generated readers and writers consist of these. Private to lib/event.
 *
 * wire_get_X reads one X and wire_skip_X passes over one; both return where it ends, or NULL when it is malformed or cut
 * short at `end`, and never read beyond. Values that the type does not allow (an int of more than 32 bits, a boolean that
 * is neither 0 nor 1) are malformed. wire_put_X writes one X where the caller made room, and returns the end. Pure; any
 * thread, but wire_scratch_grow, which is the codec's.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "event/types.h"

struct codec;

/* Moves an array that is being read to a larger place in the codec's scratch memory: `used` bytes are copied. */
void *wire_scratch_grow(struct codec *scratch, const void *items, size_t used, size_t size);

static inline const uint8_t *wire_get_long(const uint8_t *at, const uint8_t *end, int64_t *value) {
    return zigzag_get(at, end, value);
}

static inline const uint8_t *wire_get_int(const uint8_t *at, const uint8_t *end, int32_t *value) {
    int64_t wide;
    at = wire_get_long(at, end, &wide);
    if (!at || wide < INT32_MIN || wide > INT32_MAX) return NULL;
    *value = (int32_t)wide;
    return at;
}

/* An int into a field that has become a long since. */
static inline const uint8_t *wire_get_int_as_long(const uint8_t *at, const uint8_t *end, int64_t *value) {
    int32_t narrow;
    at = wire_get_int(at, end, &narrow);
    if (at) *value = narrow;
    return at;
}

/* The same for a value that must lie within least and greatest. */
#define WIRE_WITHIN(GET, TYPE)                                                                                         \
    static inline const uint8_t *GET##_within(const uint8_t *at, const uint8_t *end, TYPE *value, int64_t least,       \
                                              int64_t greatest) {                                                      \
        at = GET(at, end, value);                                                                                      \
        return at && *value >= least && *value <= greatest ? at : NULL;                                                \
    }
WIRE_WITHIN(wire_get_long, int64_t)
WIRE_WITHIN(wire_get_int, int32_t)
WIRE_WITHIN(wire_get_int_as_long, int64_t)

static inline const uint8_t *wire_get_boolean(const uint8_t *at, const uint8_t *end, bool *value) {
    if (at >= end || *at > 1) return NULL;
    *value = *at;
    return at + 1;
}

/* The common form of a string and a bytes value: a length, and that many bytes, at *data. */
static inline const uint8_t *wire_get_sized(const uint8_t *at, const uint8_t *end, const uint8_t **data, size_t *size) {
    int64_t length;
    at = wire_get_long(at, end, &length);
    if (!at || length < 0 || length > end - at) return NULL;
    *data = at;
    *size = (size_t)length;
    return at + length;
}

static inline const uint8_t *wire_get_string(const uint8_t *at, const uint8_t *end, struct event_text *value) {
    const uint8_t *data;
    at = wire_get_sized(at, end, &data, &value->size);
    if (at) value->data = (const char *)data;
    return at;
}

static inline const uint8_t *wire_get_bytes(const uint8_t *at, const uint8_t *end, struct event_bytes *value) {
    return wire_get_sized(at, end, &value->data, &value->size);
}

/* The index of an enum's symbol or a union's branch, of which there are `count`. */
static inline const uint8_t *wire_get_index(const uint8_t *at, const uint8_t *end, unsigned count, unsigned *index) {
    int64_t value;
    at = wire_get_long(at, end, &value);
    if (!at || value < 0 || value >= count) return NULL;
    *index = (unsigned)value;
    return at;
}

static inline const uint8_t *wire_get_block(const uint8_t *at, const uint8_t *end, size_t item_min, size_t *items) {
    return zigzag_get_block(at, end, item_min, items);
}

static inline const uint8_t *wire_skip_long(const uint8_t *at, const uint8_t *end) {
    int64_t value;
    return wire_get_long(at, end, &value);
}

static inline const uint8_t *wire_skip_int(const uint8_t *at, const uint8_t *end) {
    int32_t value;
    return wire_get_int(at, end, &value);
}

static inline const uint8_t *wire_skip_boolean(const uint8_t *at, const uint8_t *end) {
    bool value;
    return wire_get_boolean(at, end, &value);
}

static inline const uint8_t *wire_skip_bytes(const uint8_t *at, const uint8_t *end) {
    struct event_bytes value;
    return wire_get_bytes(at, end, &value);
}

static inline const uint8_t *wire_skip_string(const uint8_t *at, const uint8_t *end) {
    return wire_skip_bytes(at, end);
}

static inline const uint8_t *wire_skip_index(const uint8_t *at, const uint8_t *end, unsigned count) {
    unsigned index;
    return wire_get_index(at, end, count, &index);
}

static inline uint8_t *wire_put_long(uint8_t *at, int64_t value) { return zigzag_put(at, value); }

static inline uint8_t *wire_put_int(uint8_t *at, int32_t value) { return zigzag_put(at, value); }

static inline uint8_t *wire_put_boolean(uint8_t *at, bool value) {
    *at = value;
    return at + 1;
}

static inline uint8_t *wire_put_bytes(uint8_t *at, struct event_bytes value) {
    at = wire_put_long(at, (int64_t)value.size);
    if (value.size > 0) /* memcpy from NULL is undefined even for nothing */
        memcpy(at, value.data, value.size);
    return at + value.size;
}

static inline uint8_t *wire_put_string(uint8_t *at, struct event_text value) {
    return wire_put_bytes(at, (struct event_bytes){.data = (const uint8_t *)value.data, .size = value.size});
}
