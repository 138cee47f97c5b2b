/* Reads a body that comes in chunks (RFC 9112, 7.1), as strictly as heads are read: sizes are hexadecimal digits alone, lines end with CR
 * LF. Extensions and trailers are read over, and bounded. Pure; any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { HTTP_CHUNK_LINE_MAX = 256, HTTP_TRAILER_MAX = 4096 };

/* A zero-initialised one is at the beginning of a body. */
struct http_chunks {
    enum {
        CHUNK_SIZE,
        CHUNK_EXTENSION,
        CHUNK_SIZE_END,
        CHUNK_DATA,
        CHUNK_DATA_CR,
        CHUNK_DATA_END,
        CHUNK_TRAILER, /* at the beginning of a line behind the last chunk */
        CHUNK_TRAILER_NAME,
        CHUNK_TRAILER_VALUE,
        CHUNK_TRAILER_END,
        CHUNK_LAST,
        CHUNK_DONE
    } state;
    uint64_t left;          /* of the size that is read, or of the chunk */
    unsigned line, trailer; /* bytes */
};

/* Reads on, as far as the next bytes of the body: how many bytes were read over; *part_size bytes of the body, 0 or more, follow them and
 * are read, too. -EINVAL: the chunks are broken. Once the state is CHUNK_DONE, nothing is read any more. */
ssize_t http_chunks_read(struct http_chunks *chunks, const char *bytes, size_t size, size_t *part_size);
