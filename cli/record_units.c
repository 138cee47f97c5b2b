#include "cli/record_units.h"

#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "json/json.h"

/* Behind the string that begins at `at`. */
static const char *end_of_string(const char *at, const char *end) {
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\' && at + 1 < end) at++;
    return at < end ? at + 1 : end;
}

static bool is(const char *at, const char *end, const char *quoted) {
    size_t size = strlen(quoted);
    return (size_t)(end - at) == size && !memcmp(at, quoted, size);
}

/* Behind the whole number at `at`; NULL: no whole number is there. */
static const char *read_integer(const char *at, const char *end, int64_t *value) {
    char text[24];
    size_t size = 0;
    while (at + size < end && size < sizeof text - 1 && strchr("-0123456789.eE", at[size])) {
        text[size] = at[size];
        size++;
    }
    text[size] = '\0';
    char *behind;
    *value = strtoll(text, &behind, 10);
    return size && !*behind ? at + size : NULL;
}

/* Of -1 where nothing was said. */
static bool may_be_unknown(const char *at, const char *end) {
    static const char *const names[] = {"\"accuracy\"", "\"battery\"",           "\"charging\"", "\"speed\"",
                                        "\"course\"",   "\"vertical_accuracy\"", "\"activity\""};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (is(at, end, names[i])) return true;
    return false;
}

void record_units(struct buffer *out, const char *json, size_t size) {
    const char *at = json, *end = json + size;
    while (at < end) {
        if (*at != '"') {
            buffer_byte(out, (uint8_t)*at++);
            continue;
        }
        const char *behind = end_of_string(at, end);
        bool place = is(at, behind, "\"lat\"") || is(at, behind, "\"lng\""), unknown = may_be_unknown(at, behind);
        buffer_append(out, at, (size_t)(behind - at));
        at = behind;
        if (!place && !unknown) continue;
        if (at == end || *at != ':') continue; // it is no name but a value
        const char *number = at + 1;
        while (number < end && *number == ' ') number++;
        int64_t value;
        const char *rest = read_integer(number, end, &value);
        if (!rest || (unknown && value != -1) || (place && (value < INT32_MIN || value > INT32_MAX))) continue;
        buffer_append(out, at, (size_t)(number - at));
        if (place)
            json_put_degrees(out, (int32_t)value);
        else
            buffer_string(out, "null");
        at = rest;
    }
}
