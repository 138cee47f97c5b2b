/* Packs answers with gzip for clients that accept it. An answer of up to HTTP_GZIP_STEP bytes is packed at once; of a larger one,
 * that many bytes at a time as the client takes them, so that the loop is never held for longer. A client that takes its time costs the
 * body and HTTP_GZIP_STATE bytes. A body that never changes is packed once. Loop's thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "service/http_body.h"

enum { HTTP_GZIP_STEP = 64 * 1024, HTTP_GZIP_STATE = 80 * 1024 };

struct http_gzip;

/* least: answers of fewer bytes are sent as they are. */
struct http_gzip *http_gzip_new(size_t least);
void http_gzip_free(struct http_gzip *gzip); /* after the bodies that it has made; NULL is fine */

/* Such an answer depends on what the client accepts: it is text, and large enough. gzip NULL: false. */
bool http_gzip_varies(const struct http_gzip *gzip, const char *content_type, size_t size);

/* A client with that Accept-Encoding takes the coding, or gzip (RFC 9110, 12.5.3). NULL: false. Pure. */
bool http_coding_accepted(const char *accept, const char *coding);
bool http_gzip_accepted(const char *accept);

/* The body, packed. Copies the bytes. */
struct http_body http_gzip_body(struct http_gzip *gzip, const void *bytes, size_t size);
/* The same of a file of that size, a step at a time, so that none is too large. Closes it in the end. */
struct http_body http_gzip_file(int fd, size_t size);
/* The same of bytes that live as long as the process and never change. */
struct http_body http_gzip_constant(struct http_gzip *gzip, const void *bytes, size_t size);

/* Writes the next bytes of what is packed as it is sent; how many. 0: there are no more. */
size_t http_packing_next(struct http_packing *packing, char *out, size_t room);
size_t http_packing_bytes(const struct http_packing *packing); /* of memory */
void http_packing_free(struct http_packing *packing);          /* NULL is fine */
