/* The building blocks of the generated records. Pure data; event/codec.h says who owns the memory that they point to. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The greatest time (ms) and the greatest offset of sharing that starling accepts in a location: presence has 48 bits for each. */
#define EVENT_TIME_MAX ((INT64_C(1) << 47) - 1)

/* An Avro string. Avro requires UTF-8, but this one has not been checked; it is not NUL-terminated. */
struct event_text {
    const char *data;
    size_t size;
};

/* Avro bytes. */
struct event_bytes {
    const uint8_t *data;
    size_t size;
};

/* An Avro array of long. */
struct event_longs {
    const int64_t *items;
    size_t count;
};

/* An Avro array of string. */
struct event_texts {
    const struct event_text *items;
    size_t count;
};

/* The bytes that the items take at most, without the array's count and end. */
static inline size_t event_texts_size_max(const struct event_texts *texts) {
    size_t size = 0;
    for (size_t i = 0; i < texts->count; i++) size += 10 + texts->items[i].size;
    return size;
}

/* One line of schemas/ids.txt. `find_end` returns where a bare record of this schema ends, NULL when it is malformed: it
 * accepts exactly what the record's reader of the same schema accepts, and records with values that are out of range. */
struct event_schema {
    uint32_t id;
    const char *record; /* as in ids.txt, such as friend-command */
    const char *json;   /* the .avsc, without white space */
    const uint8_t *(*find_end)(const uint8_t *at, const uint8_t *end);
};
