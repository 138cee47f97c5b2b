#include "json/scan.h"

#include <string.h>

#include "base/text.h"

static bool bad(struct json_scan *scan) {
    scan->bad = true;
    scan->at = scan->end;
    return false;
}

static void skip_space(struct json_scan *scan) {
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\r' || *scan->at == '\t'))
        scan->at++;
}

/* Takes the character if it comes next. */
static bool take(struct json_scan *scan, char wanted) {
    skip_space(scan);
    if (scan->at == scan->end || *scan->at != wanted) return false;
    scan->at++;
    return true;
}

/* Passes by a string, whose first quote is next. */
static bool skip_string(struct json_scan *scan) {
    const char *quote = scan->at;
    for (scan->at++; scan->at < scan->end; scan->at++) {
        // The quote that was found is still the next one unless it was escaped: text full of escapes is passed by once.
        if (quote < scan->at) quote = memchr(scan->at, '"', (size_t)(scan->end - scan->at));
        if (!quote) break;
        const char *escape = memchr(scan->at, '\\', (size_t)(quote - scan->at));
        if (!escape) {
            scan->at = quote + 1;
            return true;
        }
        scan->at = escape + 1; // this character is passed by, too
    }
    return bad(scan);
}

static bool is_plain(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+' ||
           c == '.';
}

/* Passes by a number, true, false or null. */
static bool skip_plain(struct json_scan *scan) {
    const char *start = scan->at;
    while (scan->at < scan->end && is_plain(*scan->at)) scan->at++;
    return scan->at > start ? true : bad(scan);
}

static bool skip_nested(struct json_scan *scan) {
    size_t depth = 0;
    while (scan->at < scan->end) {
        char c = *scan->at;
        if (c == '"') {
            if (!skip_string(scan)) return false;
            continue;
        }
        scan->at++;
        if (c == '{' || c == '[') depth++;
        if ((c == '}' || c == ']') && --depth == 0) return true;
    }
    return bad(scan);
}

bool json_scan_value(struct json_scan *scan, struct json_bytes *value) {
    skip_space(scan);
    if (scan->at == scan->end) return bad(scan);
    const char *start = scan->at;
    bool good = *start == '"'                    ? skip_string(scan)
                : *start == '{' || *start == '[' ? skip_nested(scan)
                                                 : skip_plain(scan);
    if (good && value) *value = (struct json_bytes){start, (size_t)(scan->at - start)};
    return good;
}

static bool enter(struct json_scan *scan, char opening) {
    if (!take(scan, opening)) return bad(scan);
    scan->first = true;
    return true;
}

bool json_scan_object(struct json_scan *scan) { return enter(scan, '{'); }
bool json_scan_array(struct json_scan *scan) { return enter(scan, '['); }

/* Whether one more follows, up to the closing bracket. */
static bool more(struct json_scan *scan, char closing) {
    bool first = scan->first;
    scan->first = false;
    if (take(scan, closing)) return false;
    return first || take(scan, ',') ? true : bad(scan);
}

bool json_scan_element(struct json_scan *scan) { return more(scan, ']'); }

bool json_scan_member(struct json_scan *scan, struct json_bytes *key) {
    if (!more(scan, '}')) return false;
    skip_space(scan);
    if (scan->at == scan->end || *scan->at != '"') return bad(scan);
    const char *start = scan->at + 1;
    if (!skip_string(scan)) return false;
    *key = (struct json_bytes){start, (size_t)(scan->at - 1 - start)};
    return take(scan, ':') ? true : bad(scan);
}

bool json_scan_int(struct json_scan *scan, int64_t *value) {
    struct json_bytes bytes;
    if (!json_scan_value(scan, &bytes)) return false;
    return text_number(bytes.data, bytes.size, INT64_MAX, value) ? true : bad(scan);
}

bool json_scan_bool(struct json_scan *scan, bool *value) {
    struct json_bytes bytes;
    if (!json_scan_value(scan, &bytes)) return false;
    *value = json_bytes_are(&bytes, "true");
    return *value || json_bytes_are(&bytes, "false") ? true : bad(scan);
}

bool json_scan_text(struct json_scan *scan, struct json_bytes *text) {
    struct json_bytes bytes;
    if (!json_scan_value(scan, &bytes)) return false;
    if (bytes.data[0] != '"' || memchr(bytes.data, '\\', bytes.size)) return bad(scan);
    *text = (struct json_bytes){bytes.data + 1, bytes.size - 2};
    return true;
}

bool json_bytes_are(const struct json_bytes *bytes, const char *text) {
    return bytes->size == strlen(text) && memcmp(bytes->data, text, bytes->size) == 0;
}
