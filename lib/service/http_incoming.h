/* A request while it comes in: what its connection does with it. Loop's thread. */
#ifndef SERVICE_HTTP_INCOMING_H
#define SERVICE_HTTP_INCOMING_H

#include <microhttpd.h>

#include "base/buffer.h"
#include "service/http_request.h"

struct http_connection;

/* method and path live as long as the request. Its age counts from now. handle: where its fields and its query are looked up. */
struct http_request *http_request_new(struct http_connection *connection, struct MHD_Connection *handle,
                                      const char *method, const char *path);
void http_request_free(struct http_request *request); /* NULL is fine */
struct http_connection *http_request_connection(const struct http_request *request);

void http_request_answers(struct http_request *request, size_t size); /* http_answer_size */
const char *http_request_varies(
    const struct http_request *request); /* http_set_varies; NULL: no more than every answer */

/* Where its connection comes from. */
const struct sockaddr *http_request_peer(const struct http_request *request);
/* Appends the values of all header fields of that name, in their order, with commas between them. */
void http_request_fields(const struct http_request *request, const char *name, struct buffer *values);

/* Takes a part of the body, of which `room` bytes are kept. */
void http_request_read(struct http_request *request, const char *data, size_t size, size_t room);
uint64_t http_request_excess(const struct http_request *request); /* bytes of the body that were thrown away */

#endif
