/* A request while it comes in: what its connection does with it. Loop's thread. */
#ifndef SERVICE_HTTP_INCOMING_H
#define SERVICE_HTTP_INCOMING_H

#include "service/http_parse.h"
#include "service/http_request.h"

struct http_connection;

/* Its age counts from now. */
struct http_request *http_request_new(struct http_connection *connection);
void http_request_free(struct http_request *request); /* NULL is fine */
struct http_connection *http_request_connection(const struct http_request *request);

/* Takes the head, as http_head_parse does. */
int http_request_begin(struct http_request *request, const char *text, size_t size, struct http_fault *fault);
const struct http_head *http_request_head(const struct http_request *request); /* empty before its head was taken */

/* Takes what belongs to the body, of which `room` bytes are kept. *used: bytes taken. 1: it is complete; 0: more is wanted; negative:
 * it is malformed. */
int http_request_read(struct http_request *request, const char *data, size_t size, size_t room, size_t *used);
uint64_t http_request_excess(const struct http_request *request); /* bytes of the body that were thrown away */

#endif
