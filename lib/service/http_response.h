/* Writes the head of an HTTP/1.1 response. Any thread. */
#ifndef SERVICE_HTTP_RESPONSE_H
#define SERVICE_HTTP_RESPONSE_H

#include <stdbool.h>

#include "service/http_reply.h"

const char *http_reason(unsigned status); /* "Not Found" */

/* Status line, Date, the fields, Content-Length (where the status has a body), Connection, and the empty line. */
void http_response_put(struct buffer *out, unsigned status, const struct http_field *fields, size_t field_count,
                       uint64_t size, bool keep_alive);

#endif
