/* A request while it comes in: what its connection does with it. Loop's thread. */
#pragma once

#include "base/buffer.h"
#include "http/chunks.h"
#include "http/head.h"
#include "http/target.h"
#include "service/http_request.h"

struct http_connection;

/* A head with its address taken apart. */
struct http_incoming {
    struct http_head head;
    struct http_field parameters[HTTP_PARAMETERS_MAX];
    size_t parameter_count;
};

/* As http_head_read. */
int http_incoming_read(char *text, size_t size, struct http_incoming *incoming, struct http_fault *fault);

struct http_request {
    struct http_connection *connection;
    const char *method, *path;
    const struct http_field *fields, *parameters;
    size_t field_count, parameter_count;
    bool is_head, closes, old; /* closes: it is the connection's last; old: of HTTP/1.0 */
    bool chunked;
    struct http_chunks chunks;
    uint64_t left; /* of a body that is not chunked */
    struct buffer body;
    size_t max_body;
    uint64_t caller;
    int64_t held; /* bytes that are counted for the caller */
    int64_t began_us;
    void *context;
    const char *varies; /* http_set_varies; NULL: no more than every answer */
    void *state;
    int64_t payer, paid, work;
    size_t answer;
};

/* Takes copies of what was read of that text, which all of its pointers lead to, and the bytes of http_state. Its age counts from now.
 * incoming NULL: of a request nothing could be read. */
struct http_request *http_request_new(struct http_connection *connection, const struct http_incoming *incoming,
                                      const char *text, size_t size);
void http_request_free(struct http_request *request); /* NULL is fine */

void http_request_answers(struct http_request *request, size_t size); /* http_answer_size */
