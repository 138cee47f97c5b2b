#include "base/properties.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "base/text.h"

struct properties_reader {
    const char *at, *end;
    int line;             /* of the natural line that `at` is in */
    struct buffer joined; /* the logical line: without continuations, escapes still in it */
    struct buffer key, value;
};

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }

static void skip_blanks(struct properties_reader *reader) {
    while (reader->at < reader->end && blank(*reader->at)) reader->at++;
}

/* The end of the natural line: LF, CR, CR LF or the end of the text. */
static const char *line_end(const struct properties_reader *reader) {
    const char *at = reader->at;
    while (at < reader->end && *at != '\n' && *at != '\r') at++;
    return at;
}

static void next_line(struct properties_reader *reader, const char *end) {
    reader->at = end;
    if (end < reader->end) reader->at += *end == '\r' && end + 1 < reader->end && end[1] == '\n' ? 2 : 1;
    reader->line++;
}

/* A backslash continues the line unless another one escapes it. */
static bool continues(const char *from, const char *end) {
    size_t backslashes = 0;
    while (end > from && *--end == '\\') backslashes++;
    return backslashes % 2 == 1;
}

/* Gathers the next logical line in `joined`, past blank lines and comments. False at the end of the text. */
static bool read_logical(struct properties_reader *reader, int *line) {
    buffer_clear(&reader->joined);
    for (; reader->at < reader->end; next_line(reader, line_end(reader))) {
        skip_blanks(reader);
        if (reader->at < line_end(reader) && *reader->at != '#' && *reader->at != '!') break;
    }
    *line = reader->line;
    bool more = reader->at < reader->end;
    bool any = more;
    while (more) {
        skip_blanks(reader);
        const char *end = line_end(reader);
        more = continues(reader->at, end);
        buffer_append(&reader->joined, reader->at, (size_t)(end - reader->at) - more);
        next_line(reader, end);
    }
    return any;
}

static void append_utf8(struct buffer *out, unsigned code) {
    if (code < 0x80) {
        buffer_byte(out, (uint8_t)code);
    } else if (code < 0x800) {
        buffer_byte(out, (uint8_t)(0xc0 | code >> 6));
        buffer_byte(out, (uint8_t)(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        buffer_byte(out, (uint8_t)(0xe0 | code >> 12));
        buffer_byte(out, (uint8_t)(0x80 | (code >> 6 & 0x3f)));
        buffer_byte(out, (uint8_t)(0x80 | (code & 0x3f)));
    } else {
        buffer_byte(out, (uint8_t)(0xf0 | code >> 18));
        buffer_byte(out, (uint8_t)(0x80 | (code >> 12 & 0x3f)));
        buffer_byte(out, (uint8_t)(0x80 | (code >> 6 & 0x3f)));
        buffer_byte(out, (uint8_t)(0x80 | (code & 0x3f)));
    }
}

/* The four hexadecimal digits after \u, or -1. */
static int hex4(const char *at, const char *end) {
    if (end - at < 4) return -1;
    int code = 0;
    for (int i = 0; i < 4; i++) {
        if (!isxdigit((unsigned char)at[i])) return -1;
        int digit = isdigit((unsigned char)at[i]) ? at[i] - '0' : tolower((unsigned char)at[i]) - 'a' + 10;
        code = code << 4 | digit;
    }
    return code;
}

/* Reads what follows \u; a character beyond U+FFFF is a pair of them. Returns where it ends, NULL when it means no character. */
static const char *read_unicode(const char *at, const char *end, struct buffer *out) {
    int code = hex4(at, end);
    at += 4;
    if (code <= 0 || (code >= 0xdc00 && code <= 0xdfff)) return NULL;
    if (code >= 0xd800 && code <= 0xdbff) {
        int low = end - at >= 6 && at[0] == '\\' && at[1] == 'u' ? hex4(at + 2, end) : -1;
        if (low < 0xdc00 || low > 0xdfff) return NULL;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        at += 6;
    }
    append_utf8(out, (unsigned)code);
    return at;
}

/* Reads what the backslash before `at` escapes. */
static const char *read_escape(const char *at, const char *end, struct buffer *out) {
    if (at == end) return at; // a backslash as the text's last byte
    switch (*at) {
    case 'u': return read_unicode(at + 1, end, out);
    case 't': buffer_byte(out, '\t'); break;
    case 'n': buffer_byte(out, '\n'); break;
    case 'r': buffer_byte(out, '\r'); break;
    case 'f': buffer_byte(out, '\f'); break;
    default: buffer_byte(out, (uint8_t)*at); break;
    }
    return at + 1;
}

/* Reads up to the first separator that is not escaped (key), or to the end (value). NULL: a broken escape. */
static const char *read_word(const char *at, const char *end, bool key, struct buffer *out) {
    buffer_clear(out);
    while (at && at < end) {
        if (*at == '\\')
            at = read_escape(at + 1, end, out);
        else if (key && (*at == '=' || *at == ':' || blank(*at)))
            break;
        else
            buffer_byte(out, (uint8_t)*at++);
    }
    return at;
}

/* Splits the logical line into key and value. */
static bool split(struct properties_reader *reader) {
    const char *at = buffer_cstring(&reader->joined), *end = at + reader->joined.size;
    at = read_word(at, end, true, &reader->key);
    if (!at) return false;
    while (at < end && blank(*at)) at++;
    if (at < end && (*at == '=' || *at == ':')) at++;
    while (at < end && blank(*at)) at++;
    return read_word(at, end, false, &reader->value);
}

static bool is_text(const struct buffer *line) {
    for (size_t i = 0; i < line->size;) {
        size_t length = line->data[i] ? text_utf8_length((const char *)line->data + i, line->size - i) : 0;
        if (!length) return false;
        i += length;
    }
    return true;
}

int properties_read(const char *name, const char *text, size_t size, properties_fn *fn, void *context,
                    struct error *error) {
    struct properties_reader reader = {.at = text, .end = text + size, .line = 1};
    int code = 0, line;
    while (code == 0 && read_logical(&reader, &line)) {
        if (!is_text(&reader.joined))
            code = error_set(error, -EINVAL, "%s:%d: not UTF-8 text", name, line);
        else if (!split(&reader))
            code = error_set(error, -EINVAL, "%s:%d: malformed \\uXXXX escape", name, line);
        else
            code = fn(context, line, buffer_cstring(&reader.key), buffer_cstring(&reader.value), error);
    }
    buffer_free(&reader.joined);
    buffer_free(&reader.key);
    buffer_free(&reader.value);
    return code;
}
