/* Keeps rows that pages have read lately, as bytes, in a limited part of memory: the next page of the same reader needs no look-up in
 * RocksDB. Code that writes a row into the store drops it here. Pure; one thread.
 *
 *     ring   | row | row | row (asked for since) | ... free ... | row |      what is longest there is overwritten; a row that was
 *              ^ head                                            ^ tail     asked for in the meantime goes to the head once more
 *     map    hash of (reader, kind) -> place in the ring
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct recent;

struct recent *recent_new(size_t bytes, int32_t partitions); /* bytes: of the ring; next to none: nothing is kept */
void recent_free(struct recent *rows);                       /* NULL is fine */

struct recent_key {
    int64_t reader;
    int32_t partition; /* of the reader */
    uint8_t kind;
};

/* The bytes are valid until the next recent_put. NULL: not there. */
const uint8_t *recent_find(struct recent *rows, struct recent_key key, size_t *size);

/* Replaces the row. One that is larger than recent_largest is not kept. */
void recent_put(struct recent *rows, struct recent_key key, const uint8_t *bytes, size_t size);

size_t recent_largest(const struct recent *rows); /* 0: nothing is kept */

void recent_drop(struct recent *rows, struct recent_key key); /* one that is not there is fine */
void recent_drop_all(struct recent *rows, int32_t partition); /* at once, however many there are */

struct recent_usage {
    size_t rows, bytes; /* rows: dropped ones count until they are overwritten, if recent_drop_all dropped them */
    uint64_t hits, misses;
};
struct recent_usage recent_used(const struct recent *rows);
