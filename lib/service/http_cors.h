/* Which web pages of other origins may use a server from a browser (the CORS protocol of the Fetch standard). Loop's thread. */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

struct http_cors;

/* origins: as "https://app.example https://localhost:3000", separated by spaces or commas, or "*" for all; "": none, and *cors is NULL.
 * -EINVAL with the reason in error: one of them is no origin as browsers send it. */
int http_cors_new(const char *origins, struct http_cors **cors, struct error *error);
void http_cors_free(struct http_cors *cors); /* NULL is fine */

/* Adds the header fields that an answer to a request of that Origin needs (NULL: it named none). cors NULL: none. */
void http_cors_put(const struct http_cors *cors, const char *origin, struct buffer *fields);

/* Adds those of an answer to a browser that asks before it sends (a preflight: OPTIONS with Access-Control-Request-Method), on a path
 * that knows the `allowed` methods. */
void http_cors_put_preflight(const struct http_cors *cors, const char *origin, const char *allowed,
                             struct buffer *fields);
