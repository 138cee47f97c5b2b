#include "service/peer_answer.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

enum { HEAD_MAX = 16 * 1024, BODY_MAX = 16 * 1024 * 1024, STATUS_LINE = 12 /* HTTP/1.1 200 */ };

/* A header field's value if the line has that name; NULL: it has another one. */
static const char *value_of(const char *line, const char *end, const char *name) {
    size_t size = strlen(name);
    if ((size_t)(end - line) <= size || line[size] != ':' || strncasecmp(line, name, size) != 0) return NULL;
    for (line += size + 1; line < end && (*line == ' ' || *line == '\t'); line++)
        ;
    return line;
}

static int read_field(struct peer_answer *answer, const char *line, const char *end, bool *sized) {
    const char *value;
    int64_t size;
    if ((value = value_of(line, end, "Content-Length"))) {
        if (*sized || !text_number(value, (size_t)(end - value), BODY_MAX, &size)) return -EIO;
        answer->body = (size_t)size;
        *sized = true;
    } else if ((value = value_of(line, end, "Connection"))) {
        answer->last = end - value == 5 && strncasecmp(value, "close", 5) == 0;
    } else if (value_of(line, end, "Transfer-Encoding")) {
        return -EIO;
    }
    return 0;
}

static int read_head(struct peer_answer *answer, const char *text, const char *end) {
    int64_t status;
    bool sized = false;
    if (end - text < STATUS_LINE || memcmp(text, "HTTP/1.1 ", 9) != 0 || !text_number(text + 9, 3, 999, &status))
        return -EIO;
    const char *line = memchr(text, '\n', (size_t)(end - text));
    for (line = line ? line + 1 : end; line < end;) {
        const char *stop = memchr(line, '\r', (size_t)(end - line));
        if (!stop) return -EIO;
        int code = read_field(answer, line, stop, &sized);
        if (code) return code;
        line = stop + 2;
    }
    answer->status = (unsigned)status;
    answer->head = (size_t)(end + 2 - text);
    return sized || status == 204 ? 0 : -EIO;
}

int peer_answer_read(struct peer_answer *answer, const char *text, size_t size) {
    if (!answer->head) {
        const char *end = memmem(text, size, "\r\n\r\n", 4);
        if (!end) return size > HEAD_MAX ? -EIO : 0;
        int code = read_head(answer, text, end + 2);
        if (code) return code;
    }
    if (size > answer->head + answer->body) return -EIO;
    return size == answer->head + answer->body;
}
