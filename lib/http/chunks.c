#include "http/chunks.h"

#include <errno.h>

#include "http/field.h"

enum { SIZE_DIGITS = 15 };

/* The digit's value; -1: it is no digit. */
static int digit_of(char byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

static bool take_size(struct http_chunks *chunks, char byte) {
    int digit = digit_of(byte);
    if (digit >= 0) {
        chunks->left = chunks->left << 4 | (unsigned)digit;
        return ++chunks->line <= SIZE_DIGITS;
    }
    chunks->state = byte == ';' ? CHUNK_EXTENSION : CHUNK_SIZE_END;
    return chunks->line && (byte == '\r' || byte == ';');
}

/* The next byte; false: it must not stand there. */
static bool take(struct http_chunks *chunks, char byte) {
    switch (chunks->state) {
    case CHUNK_SIZE: return take_size(chunks, byte);
    case CHUNK_EXTENSION:
        if (byte == '\r') chunks->state = CHUNK_SIZE_END;
        return (byte == '\r' || http_is_value(&byte, 1)) && ++chunks->line <= HTTP_CHUNK_LINE_MAX;
    case CHUNK_SIZE_END:
        chunks->state = chunks->left ? CHUNK_DATA : CHUNK_TRAILER;
        chunks->line = 0;
        return byte == '\n';
    case CHUNK_DATA_CR: chunks->state = CHUNK_DATA_END; return byte == '\r';
    case CHUNK_DATA_END: chunks->state = CHUNK_SIZE; return byte == '\n';
    case CHUNK_TRAILER:
        chunks->state = byte == '\r' ? CHUNK_LAST : CHUNK_TRAILER_NAME;
        return byte == '\r' || http_is_token(&byte, 1);
    case CHUNK_TRAILER_NAME:
        if (byte == ':') chunks->state = CHUNK_TRAILER_VALUE;
        return byte == ':' || http_is_token(&byte, 1);
    case CHUNK_TRAILER_VALUE:
        if (byte == '\r') chunks->state = CHUNK_TRAILER_END;
        return byte == '\r' || http_is_value(&byte, 1);
    case CHUNK_TRAILER_END: chunks->state = CHUNK_TRAILER; return byte == '\n';
    case CHUNK_LAST: chunks->state = CHUNK_DONE; return byte == '\n';
    case CHUNK_DATA:
    case CHUNK_DONE: break;
    }
    return false;
}

ssize_t http_chunks_read(struct http_chunks *chunks, const char *bytes, size_t size, size_t *part_size) {
    size_t at = 0;
    *part_size = 0;
    while (at < size && chunks->state != CHUNK_DATA && chunks->state != CHUNK_DONE) {
        if (chunks->state >= CHUNK_TRAILER && ++chunks->trailer > HTTP_TRAILER_MAX) return -EINVAL;
        if (!take(chunks, bytes[at++])) return -EINVAL;
    }
    if (chunks->state != CHUNK_DATA) return (ssize_t)at;
    *part_size = chunks->left < size - at ? (size_t)chunks->left : size - at;
    chunks->left -= *part_size;
    if (!chunks->left) chunks->state = CHUNK_DATA_CR;
    return (ssize_t)at;
}
