/* Reads JSON of our own processes where it lies, without a tree: values are copied as the bytes that they are.
 *
 *     struct json_scan scan = json_scan_of(text, size);
 *     json_scan_object(&scan);
 *     while (json_scan_member(&scan, &key))
 *         if (json_bytes_are(&key, "items")) ... else json_scan_value(&scan, NULL);
 *     if (scan.bad) ...
 *
 * The first thing that is not as expected sets `bad`; from then on every function says false. A value is skipped by its quotes and
 * brackets alone: what comes from outside is checked by json/json.h. Pure; one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_scan {
    const char *at, *end;
    bool bad;
    bool first; /* nothing was read yet of the object or array that was entered last */
};

/* Bytes of the text that is read. */
struct json_bytes {
    const char *data;
    size_t size;
};

static inline struct json_scan json_scan_of(const char *text, size_t size) {
    return (struct json_scan){.at = text, .end = size ? text + size : text};
}

/* Enters an object or an array, which must come next. */
bool json_scan_object(struct json_scan *scan);
bool json_scan_array(struct json_scan *scan);

/* Goes on to the next member or element, which the caller then reads or enters. False: the object or array has ended, or is bad. The
 * key has no quotes, and escapes are left as they are. */
bool json_scan_member(struct json_scan *scan, struct json_bytes *key);
bool json_scan_element(struct json_scan *scan);

/* Passes by any value; its bytes, if they are wanted. */
bool json_scan_value(struct json_scan *scan, struct json_bytes *value);

bool json_scan_int(struct json_scan *scan, int64_t *value); /* from 0 on */
bool json_scan_bool(struct json_scan *scan, bool *value);
bool json_scan_text(struct json_scan *scan,
                    struct json_bytes *text); /* without the quotes; one that holds escapes is bad */

bool json_bytes_are(const struct json_bytes *bytes, const char *text);
