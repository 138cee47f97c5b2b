#include "cli/metrics_text.h"

#include <stdlib.h>
#include <string.h>

/* The closing quote of a text that begins behind `at`; NULL: the line ends before. */
static const char *end_of_text(const char *at, const char *end) {
    for (; at < end && *at != '"'; at++)
        if (*at == '\\' && at + 1 < end) at++;
    return at < end ? at : NULL;
}

/* The closing brace of labels, which may themselves hold braces. */
static const char *end_of_labels(const char *at, const char *end) {
    for (; at && at < end && *at != '}'; at++) {
        if (*at != '"') continue;
        at = end_of_text(at + 1, end);
        if (!at) return NULL;
    }
    return at < end ? at : NULL;
}

/* One line, without its end. */
static bool read_line(const char *line, const char *end, struct metrics_sample *sample) {
    const char *at = line;
    while (at < end && *at != '{' && *at != ' ') at++;
    *sample = (struct metrics_sample){.name = line, .name_size = (size_t)(at - line), .labels = at};
    if (at == line || *line == '#') return false;
    if (at < end && *at == '{') {
        const char *close = end_of_labels(at + 1, end);
        if (!close) return false;
        sample->labels = at + 1;
        sample->labels_size = (size_t)(close - sample->labels);
        at = close + 1;
    }
    while (at < end && *at == ' ') at++;
    if (at == end) return false;
    char *behind;
    sample->value = strtod(at, &behind);
    return behind > at && behind <= end; // a time may follow
}

bool metrics_text_next(const char **at, struct metrics_sample *sample) {
    while (**at) {
        const char *line = *at, *end = line + strcspn(line, "\n");
        *at = *end ? end + 1 : end;
        if (read_line(line, end, sample)) return true;
    }
    return false;
}

bool metrics_text_named(const struct metrics_sample *sample, const char *name) {
    return strlen(name) == sample->name_size && !memcmp(name, sample->name, sample->name_size);
}

static void put_text(struct buffer *out, const char *at, const char *end) {
    for (; at < end; at++) {
        bool escaped = *at == '\\' && at + 1 < end;
        if (escaped) at++;
        buffer_byte(out, escaped && *at == 'n' ? '\n' : (uint8_t)*at);
    }
}

bool metrics_text_label(const struct metrics_sample *sample, const char *key, struct buffer *out) {
    const char *at = sample->labels, *end = at + sample->labels_size;
    size_t length = strlen(key);
    while (at < end) {
        const char *name = at, *equals = memchr(at, '=', (size_t)(end - at));
        if (!equals || equals + 1 >= end || equals[1] != '"') return false;
        const char *text = equals + 2, *close = end_of_text(text, end);
        if (!close) return false;
        if ((size_t)(equals - name) == length && !memcmp(name, key, length)) {
            put_text(out, text, close);
            return true;
        }
        at = close + 1;
        while (at < end && (*at == ',' || *at == ' ')) at++;
    }
    return false;
}
