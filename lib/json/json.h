/* JSON: reading by jansson (this header is its door), writing straight into a buffer.
 *
 * Reading: json_parse gives a jansson object that the caller frees with json_decref. The json_want_* functions fetch one
 * member with its type checked: 0, -ENOENT (absent) or -EINVAL (there, but of another type, null or out of range, with
 * the reason in error: of what it found it quotes only numbers that are out of range). One thread at a time per object.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"

/* NULL on malformed input (reason in error, which quotes none of it). Rejects duplicates, trailing bytes and invalid UTF-8. */
json_t *json_parse(const void *text, size_t size, struct error *error);
/* The same for what strangers send: a tree takes a hundred times the memory of the text "{},{},...", so one of more than `most` values and
 * members is refused before it is built. */
json_t *json_parse_within(const void *text, size_t size, size_t most, struct error *error);
/* How many values and members a text has at most, counted by its commas, colons and brackets. */
size_t json_values(const void *text, size_t size);

bool json_given(const json_t *object, const char *key); /* there, and not null: for members that may be null */
int json_want_text(const json_t *object, const char *key, const char **value, struct error *error); /* borrowed */
/* A whole number, written in any way that JSON Schema calls an integer: 5.0 and 1.79e12 too, up to 2^53. */
int json_want_int(const json_t *object, const char *key, int64_t min, int64_t max, int64_t *value, struct error *error);
/* A list of at most so many. */
int json_want_ints(const json_t *object, const char *key, int64_t min, int64_t max, int64_t *values, size_t most,
                   size_t *count, struct error *error);
int json_want_real(const json_t *object, const char *key, double min, double max, double *value, struct error *error);
int json_want_bool(const json_t *object, const char *key, bool *value, struct error *error);

/* Degrees as a JSON number into 1e-7 degree integers, rounded to nearest; out of range is -EINVAL. */
int json_want_degrees(const json_t *object, const char *key, double limit, int32_t *e7, struct error *error);
/* Members "lat" and "lng". */
int json_want_lat_lng(const json_t *object, int32_t *lat, int32_t *lng, struct error *error);

/* Writing: values appended to a buffer; the caller writes braces, commas and keys. */
void json_put_text(struct buffer *out, const char *text, size_t size); /* quoted, escaped, as text_quote does */
void json_put_int(struct buffer *out, int64_t value);
void json_put_ints(struct buffer *out, const int64_t *values, size_t count); /* an array */
/* Append a member, as {"user":7. before: all that stands before its value. An id is a text, or null if it is 0. */
static inline void json_member_int(struct buffer *out, const char *before, int64_t value) {
    buffer_string(out, before);
    json_put_int(out, value);
}
static inline void json_member_text(struct buffer *out, const char *before, const char *text) {
    buffer_string(out, before);
    json_put_text(out, text, strlen(text));
}
void json_member_id(struct buffer *out, const char *before, int64_t id);
void json_member_place(struct buffer *out, int32_t lat, int32_t lng); /* ,"lat":52.52,"lng":13.405 */
/* Append ,"key":VALUE with the member's value. False: it is no text and no null, no number of at least 0, or neither such a number nor
 * null. */
bool json_copy_text(struct buffer *out, const json_t *object, const char *key);
bool json_copy_int(struct buffer *out, const json_t *object, const char *key);
bool json_copy_int_or_null(struct buffer *out, const json_t *object, const char *key);
void json_put_value(struct buffer *out, const json_t *value); /* any; NULL: null */
void json_put_degrees(struct buffer *out, int32_t e7);        /* 39.9847021, exact, shortest */
void json_put_fixed1(struct buffer *out, double value);       /* one decimal; null if the value is not finite */
