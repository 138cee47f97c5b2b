#include "json/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

json_t *json_parse(const void *text, size_t size, struct error *error) {
    json_error_t reason;
    json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &reason);
    if (json) return json;
    // jansson ends its reasons by quoting the input, which may hold a position and does not belong into logs.
    char *near = strstr(reason.text, " near '");
    if (near) *near = '\0';
    if (reason.line > 0)
        error_set(error, -EINVAL, "malformed JSON in line %d, column %d: %s", reason.line, reason.column, reason.text);
    else
        error_set(error, -EINVAL, "malformed JSON: %s", reason.text);
    return NULL;
}

size_t json_values(const void *text, size_t size) {
    const char *at = text, *end = size ? at + size : at;
    size_t values = 1;
    for (bool quoted = false; at < end; at++) {
        if (*at == '"')
            quoted = !quoted;
        else if (quoted)
            at += *at == '\\';
        else
            values += *at == ',' || *at == ':' || *at == '{' || *at == '[';
    }
    return values;
}

/* The same with those in strings: as many or more, in a fiftieth of the time, as the compiler takes a block's bytes together. */
static size_t values_or_more(const uint8_t *text, size_t size) {
    enum { BLOCK = 64 };
    size_t values = 1;
    uint8_t last[BLOCK] = {0};
    for (size_t at = 0; at < size; at += BLOCK) {
        const uint8_t *block = text + at;
        uint8_t found = 0;
        if (size - at < BLOCK) block = memcpy(last, block, size - at);
        for (size_t i = 0; i < BLOCK; i++)
            found = (uint8_t)(found + (block[i] == ',') + (block[i] == ':') + ((block[i] | 0x20) == '{'));
        values += found;
    }
    return values;
}

json_t *json_parse_within(const void *text, size_t size, size_t most, struct error *error) {
    if (values_or_more(text, size) <= most || json_values(text, size) <= most) return json_parse(text, size, error);
    error_set(error, -E2BIG, "the JSON has more than %zu values", most);
    return NULL;
}

bool json_given(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return value && !json_is_null(value);
}

/* The member, or NULL with the reason set when it is absent. */
static const json_t *member(const json_t *object, const char *key, struct error *error) {
    const json_t *value = json_object_get(object, key);
    if (value) return value;
    error_set(error, -ENOENT, "\"%s\" is missing", key);
    return NULL;
}

int json_want_text(const json_t *object, const char *key, const char **value, struct error *error) {
    const json_t *found = member(object, key, error);
    if (!found) return -ENOENT;
    if (!json_is_string(found)) return error_set(error, -EINVAL, "\"%s\" must be a string", key);
    *value = json_string_value(found);
    return 0;
}

/* What JSON Schema calls an integer: 5, and 5.0 or 1.79e12 as far as doubles hold all integers. */
static bool is_integer(const json_t *value, int64_t *integer) {
    const double whole = 9007199254740992; // 2^53
    *integer = json_integer_value(value);
    if (!json_is_real(value)) return json_is_integer(value);
    double real = json_real_value(value);
    if (!(fabs(real) <= whole) || real != trunc(real)) return false;
    *integer = (int64_t)real;
    return true;
}

int json_want_int(const json_t *object, const char *key, int64_t min, int64_t max, int64_t *value,
                  struct error *error) {
    const json_t *found = member(object, key, error);
    if (!found) return -ENOENT;
    int64_t integer;
    if (!is_integer(found, &integer)) return error_set(error, -EINVAL, "\"%s\" must be a whole number", key);
    if (integer < min || integer > max)
        return error_set(error, -EINVAL, "\"%s\" is %lld, but must be from %lld to %lld", key, (long long)integer,
                         (long long)min, (long long)max);
    *value = integer;
    return 0;
}

int json_want_ints(const json_t *object, const char *key, int64_t min, int64_t max, int64_t *values, size_t most,
                   size_t *count, struct error *error) {
    const json_t *found = member(object, key, error);
    if (!found) return -ENOENT;
    if (!json_is_array(found) || json_array_size(found) > most)
        return error_set(error, -EINVAL, "\"%s\" must be a list of at most %zu", key, most);
    for (size_t i = 0; i < json_array_size(found); i++) {
        int64_t integer;
        if (!is_integer(json_array_get(found, i), &integer) || integer < min || integer > max)
            return error_set(error, -EINVAL, "\"%s\" must be a list of whole numbers from %lld to %lld", key,
                             (long long)min, (long long)max);
        values[i] = integer;
    }
    *count = json_array_size(found);
    return 0;
}

int json_want_real(const json_t *object, const char *key, double min, double max, double *value, struct error *error) {
    const json_t *found = member(object, key, error);
    if (!found) return -ENOENT;
    if (!json_is_number(found)) return error_set(error, -EINVAL, "\"%s\" must be a number", key);
    double real = json_number_value(found);
    if (!(real >= min && real <= max))
        return error_set(error, -EINVAL, "\"%s\" is %.15g, but must be from %.15g to %.15g", key, real, min, max);
    *value = real;
    return 0;
}

int json_want_bool(const json_t *object, const char *key, bool *value, struct error *error) {
    const json_t *found = member(object, key, error);
    if (!found) return -ENOENT;
    if (!json_is_boolean(found)) return error_set(error, -EINVAL, "\"%s\" must be true or false", key);
    *value = json_is_true(found);
    return 0;
}

int json_want_degrees(const json_t *object, const char *key, double limit, int32_t *e7, struct error *error) {
    double degrees;
    int code = json_want_real(object, key, -limit, limit, &degrees, error);
    if (code == 0) *e7 = (int32_t)lround(degrees * 1e7);
    return code;
}

int json_want_lat_lng(const json_t *object, int32_t *lat, int32_t *lng, struct error *error) {
    int code = json_want_degrees(object, "lat", 90, lat, error);
    return code ? code : json_want_degrees(object, "lng", 180, lng, error);
}

/* U+007F to U+009F are escaped too, which JSON allows: one way of quoting for logs and clients. */
void json_put_text(struct buffer *out, const char *text, size_t size) { text_quote(out, text, size); }

void json_put_int(struct buffer *out, int64_t value) { text_int(out, value); }

void json_put_ints(struct buffer *out, const int64_t *values, size_t count) {
    buffer_byte(out, '[');
    for (size_t i = 0; i < count; i++) {
        if (i) buffer_byte(out, ',');
        text_int(out, values[i]);
    }
    buffer_byte(out, ']');
}

static void put_key(struct buffer *out, const char *key) {
    buffer_string(out, ",\"");
    buffer_string(out, key);
    buffer_string(out, "\":");
}

bool json_copy_text(struct buffer *out, const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    put_key(out, key);
    if (json_is_string(value))
        json_put_text(out, json_string_value(value), json_string_length(value));
    else
        buffer_string(out, "null");
    return json_is_string(value) || json_is_null(value);
}

bool json_copy_int(struct buffer *out, const json_t *object, const char *key) {
    int64_t value;
    if (json_want_int(object, key, 0, INT64_MAX, &value, NULL)) return false;
    put_key(out, key);
    json_put_int(out, value);
    return true;
}

bool json_copy_int_or_null(struct buffer *out, const json_t *object, const char *key) {
    if (!json_is_null(json_object_get(object, key))) return json_copy_int(out, object, key);
    put_key(out, key);
    buffer_string(out, "null");
    return true;
}

void json_put_degrees(struct buffer *out, int32_t e7) {
    uint32_t size = e7 < 0 ? 0 - (uint32_t)e7 : (uint32_t)e7;
    uint32_t fraction = size % 10000000;
    if (e7 < 0) buffer_byte(out, '-');
    text_int(out, size / 10000000);
    if (fraction == 0) return;

    char digits[8] = ".";
    for (int i = 7; i >= 1; i--, fraction /= 10) digits[i] = (char)('0' + fraction % 10);
    size_t length = sizeof digits;
    while (digits[length - 1] == '0') length--;
    buffer_append(out, digits, length);
}

void json_member_place(struct buffer *out, int32_t lat, int32_t lng) {
    buffer_string(out, ",\"lat\":");
    json_put_degrees(out, lat);
    buffer_string(out, ",\"lng\":");
    json_put_degrees(out, lng);
}

void json_member_id(struct buffer *out, const char *before, int64_t id) {
    if (id)
        buffer_format(out, "%s\"%" PRId64 "\"", before, id);
    else
        buffer_format(out, "%snull", before);
}

void json_put_value(struct buffer *out, const json_t *value) {
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    buffer_string(out, text ? text : "null");
    free(text);
}

void json_put_fixed1(struct buffer *out, double value) {
    if (!isfinite(value)) {
        buffer_string(out, "null"); // JSON has no word for it
        return;
    }
    if (fabs(value) >= 1e15) { // tenths beyond the digits of a double
        buffer_format(out, "%.1f", value);
        return;
    }
    int64_t tenths = llround(value * 10);
    if (tenths < 0) buffer_byte(out, '-');
    text_int(out, llabs(tenths) / 10);
    buffer_byte(out, '.');
    buffer_byte(out, (uint8_t)('0' + llabs(tenths) % 10));
}
