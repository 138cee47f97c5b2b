/* Integers as bytes: big-endian for keys, little-endian for reading eight bytes at once, zigzag varints (Avro's long) for values.
 * Pure; any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void bytes_put_be64(uint8_t *at, uint64_t value) {
    for (int i = 7; i >= 0; i--, value >>= 8) at[i] = (uint8_t)value;
}

static inline uint64_t bytes_get_be64(const uint8_t *at) {
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) value = value << 8 | at[i];
    return value;
}

static inline void bytes_put_be32(uint8_t *at, uint32_t value) {
    for (int i = 3; i >= 0; i--, value >>= 8) at[i] = (uint8_t)value;
}

static inline uint32_t bytes_get_be32(const uint8_t *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline uint64_t bytes_get_le64(const uint8_t *at) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

static inline void bytes_put_le32(uint8_t *at, uint32_t value) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap32(value);
#endif
    memcpy(at, &value, sizeof value);
}

enum { VARINT_MAX = 10 }; /* the longest varint of 64 bits, in bytes */

/* LEB128, least significant group first. Writes at most VARINT_MAX bytes; returns the end. */
static inline uint8_t *varint_put(uint8_t *at, uint64_t value) {
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* Reads one; returns where it ends, or NULL when it is cut short or longer than 64 bits. */
static inline const uint8_t *varint_get(const uint8_t *at, const uint8_t *end, uint64_t *value) {
    uint64_t result = 0;
    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
        uint8_t byte = *at++;
        if (shift == 63 && byte > 1) return NULL;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = result;
            return at;
        }
    }
    return NULL;
}

static inline uint64_t zigzag(int64_t value) { return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63); }
static inline int64_t unzigzag(uint64_t value) { return (int64_t)(value >> 1) ^ -(int64_t)(value & 1); }

/* A signed number as a varint of its zigzag: Avro's long. As varint_put and varint_get; most are one byte. */
static inline uint8_t *zigzag_put(uint8_t *at, int64_t value) { return varint_put(at, zigzag(value)); }

static inline const uint8_t *zigzag_get(const uint8_t *at, const uint8_t *end, int64_t *value) {
    uint64_t raw;
    if (at < end && *at < 0x80) {
        *value = unzigzag(*at);
        return at + 1;
    }
    at = varint_get(at, end, &raw);
    if (at) *value = unzigzag(raw);
    return at;
}

/* The head of the next block of one of Avro's arrays: how many items follow, 0 at the array's end. A negative count is followed by
 * the block's size in bytes. More than the bytes left can hold, at item_min bytes an item, is malformed (NULL): callers may allocate
 * by it. */
static inline const uint8_t *zigzag_get_block(const uint8_t *at, const uint8_t *end, size_t item_min, size_t *items) {
    int64_t count, size = 0;
    at = zigzag_get(at, end, &count);
    if (at && count < 0) at = zigzag_get(at, end, &size);
    if (!at || count == INT64_MIN || size < 0 || size > end - at) return NULL;
    if (count < 0) count = -count;
    if ((uint64_t)count > (size_t)(end - at) / item_min) return NULL;
    *items = (size_t)count;
    return at;
}
