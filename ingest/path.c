#include "ingest/path.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "ids/ids.h"
#include "service/external_id.h"

enum { WORD_MAX = 32, TEXT_MAX = 256 };

struct span {
    const char *text;
    size_t size;
};

static bool is_word(struct span span) {
    if (span.size > WORD_MAX || span.text[0] < 'a' || span.text[0] > 'z') return false;
    for (size_t i = 0; i < span.size; i++) {
        char c = span.text[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '_') return false;
    }
    return true;
}

static bool is_key(struct span span) {
    for (size_t i = 0; i < span.size; i++)
        if (!isalnum((unsigned char)span.text[i]) && span.text[i] != '-' && span.text[i] != '_') return false;
    return span.size <= WORD_MAX;
}

static bool is_text(struct span span) {
    if (span.size > TEXT_MAX) return false;
    for (size_t i = 0, length; i < span.size; i += length) {
        length = text_utf8_length(span.text + i, span.size - i);
        if (!length || (unsigned char)span.text[i] < ' ' || span.text[i] == 0x7f) return false;
    }
    return true;
}

static bool equals(struct span span, const char *word) {
    return span.size == strlen(word) && !memcmp(span.text, word, span.size);
}

/* Splits what is in the braces: "name:type", or "type", which is its own name. */
static void split(struct span inner, struct span *name, struct span *type) {
    const char *colon = memchr(inner.text, ':', inner.size);
    *name = *type = inner;
    if (!colon) return;
    name->size = (size_t)(colon - inner.text);
    *type = (struct span){colon + 1, inner.size - name->size - 1};
}

static int parse_text(struct span type, struct span name, struct span given, const char **wrong, struct error *error) {
    static const struct {
        const char *type, *must;
        bool (*is)(struct span span);
    } TYPES[] = {{"word", "a word of a-z, 0-9, - and _, at most 32", is_word},
                 {"key", "1 to 32 of A-Z, a-z, 0-9, - and _", is_key},
                 {"text", "text of at most 256 bytes", is_text}};
    size_t at = 0;
    while (!equals(type, TYPES[at].type)) at++;
    if (TYPES[at].is(given)) return 0;
    *wrong = "bad_path";
    return error_set(error, -EINVAL, "{%.*s} in the path must be %s", (int)name.size, name.text, TYPES[at].must);
}

static int parse_value(struct span inner, struct span given, struct path_value *value, const char **wrong,
                       struct error *error) {
    struct span name, type;
    split(inner, &name, &type);
    *value = (struct path_value){.user = -1, .id = -1, .text = given.text, .size = given.size};
    if (equals(type, "user")) {
        if (text_number(given.text, given.size, INT64_MAX, &value->user)) return 0;
        value->external = external_id_is(given.text, given.size);
        *wrong = "bad_user";
        return error_set(error, -EINVAL, "{%.*s} in the path must be a user id, a whole number from 0", (int)name.size,
                         name.text);
    }
    if (equals(type, "id")) {
        if (ids_parse(given.text, given.size, &value->id)) return 0;
        *wrong = "bad_path";
        return error_set(error, -EINVAL, "{%.*s} in the path must be an id, a whole number from 1", (int)name.size,
                         name.text);
    }
    return parse_text(type, name, given, wrong, error);
}

static struct span segment(const char *at) { return (struct span){at, strcspn(at, "/")}; }

int path_match(const char *pattern, const char *path, struct path_value values[PATH_VALUES_MAX], const char **wrong,
               struct error *error) {
    struct span inner[PATH_VALUES_MAX], given[PATH_VALUES_MAX];
    size_t count = 0;
    while (*pattern == '/' && *path == '/') {
        struct span wanted = segment(++pattern), here = segment(++path);
        if (*pattern == '{' && here.size && count < PATH_VALUES_MAX) {
            inner[count] = (struct span){wanted.text + 1, wanted.size - 2};
            given[count++] = here;
        } else if (wanted.size != here.size || memcmp(wanted.text, here.text, here.size) != 0)
            return 0;
        pattern += wanted.size;
        path += here.size;
    }
    if (*pattern || *path) return 0;
    /* Only now: a path that does not match has no wrong values. */
    int result = 1;
    for (size_t i = 0; i < count; i++) {
        int code = parse_value(inner[i], given[i], &values[i], wrong, error);
        if (code && !values[i].external) return code;
        if (code) result = -ENOENT;
    }
    return result;
}

void path_put(struct buffer *out, const char *pattern) {
    for (bool type = false; *pattern; pattern++) {
        if (*pattern == ':' || *pattern == '}') type = *pattern == ':';
        if (!type) buffer_byte(out, (uint8_t)*pattern);
    }
}
