/* Reads HTTP/1.1 requests (RFC 9112), strictly: a request that another server on the way could read differently is refused, so that
 * no client can hide a second request in the first one's body. Pure; any thread.
 *
 *     GET /v1/friends?limit=5 HTTP/1.1\r\n     request line --+
 *     Host: example.org\r\n                    fields       --+-- head: http_head_end, http_head_parse
 *     Transfer-Encoding: chunked\r\n                          |
 *     \r\n                                     empty line   --+
 *     5\r\nhello\r\n0\r\n\r\n                  body: plain by its length, or chunks: http_chunks_read
 */
#ifndef SERVICE_HTTP_PARSE_H
#define SERVICE_HTTP_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "service/http_reply.h"

enum {
    HTTP_LINE_MAX = 8 * 1024,  /* bytes of a request line; beyond: 414 */
    HTTP_HEAD_MAX = 32 * 1024, /* bytes of a head; beyond: 431 */
    HTTP_FIELDS_MAX = 100      /* fields of a head, and parameters of a query; beyond: 431 and 414 */
};

/* Why a request is refused; the texts are constants. After any of these nothing more of the connection can be read. */
struct http_fault {
    unsigned status;
    const char *code, *detail;
};

/* Where in `text` the head ends (behind the empty line): > 0; 0: not here yet; negative: refused, with the fault. *seen says how far
 * earlier calls have looked, 0 at first. */
int http_head_end(const char *text, size_t size, size_t *seen, struct http_fault *fault);

struct http_head {
    char *text;                             /* what the strings below point into, decoded in place */
    const char *method;                     /* "GET" */
    const char *path;                       /* decoded, without query; "*" for OPTIONS * */
    struct http_field *fields, *parameters; /* of the head, of the query (decoded) */
    size_t field_count, parameter_count;
    uint64_t length; /* Content-Length; 0: none */
    bool chunked, expects_continue, keep_alive, http_1_0;
};

/* size: what http_head_end said. 0, or -EINVAL with the fault. head is made in both cases: give it back. */
int http_head_parse(const char *text, size_t size, struct http_head *head, struct http_fault *fault);
void http_head_free(struct http_head *head);
const char *http_head_field(const struct http_head *head, const char *name); /* case-insensitive; NULL: absent */

/* A chunked body, as it comes; zero-initialised is its beginning. */
struct http_chunks {
    int state;
    uint64_t left;   /* bytes of this chunk, or the size read so far */
    size_t overhead; /* bytes of extensions and trailers, which are thrown away */
    unsigned digits;
};

/* Takes from `data` what belongs to the body and appends the content to `body`, up to `room` bytes in it; the rest of the content is
 * counted in *excess only. *used: bytes taken. 1: the body is complete; 0: more is wanted; -EINVAL: it is malformed. */
int http_chunks_read(struct http_chunks *chunks, const char *data, size_t size, size_t *used, struct buffer *body,
                     size_t room, uint64_t *excess);

#endif
