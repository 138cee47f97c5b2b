/* An HTTP/1.1 server on the event loop, which answers now or later.
 *
 * A request is handed over complete, body included; it stays valid until http_reply, which must be called exactly once, at
 * once or any time later, whether or not the client is still there. The server itself answers requests that it cannot take, as
 * http_problem does: 400 bad_request (also for what two servers could read differently, as two Content-Length do), 413 body_too_large,
 * 414 uri_too_long, 417 bad_expectation, 431 head_too_large, 501 bad_coding. libmicrohttpd itself refuses what it cannot parse,
 * with a page of HTML or by closing the connection. HEAD is handed over as such, and its answer loses its body on the way. Loop's
 * thread.
 */
#ifndef SERVICE_HTTP_SERVER_H
#define SERVICE_HTTP_SERVER_H

#include <stdbool.h>

#include "base/error.h"
#include "base/loop.h"
#include "service/http_cors.h"
#include "service/http_request.h"

struct http_server;

struct http_server_options {
    uv_loop_t *loop;
    const char *listen;       /* host:port, [v6]:port; port 0: any free one */
    size_t max_body;          /* bytes; beyond: 413 by itself. 0: 64 KiB */
    unsigned max_connections; /* 0: 1,000 */
    unsigned timeout_s;       /* how long a client may take for a request's head, or be silent; 0: 60 */
    bool reuse_port;          /* share the port between processes */
    size_t gzip_least;        /* answers in text of so many bytes are packed for clients that accept it; 0: none are */
    const struct http_cors
        *cors; /* of which origins pages may use the server; the caller's, outlives it. NULL: of none */
    void *context;
    void (*handle)(void *context, struct http_request *request);
    /* Each request that is answered, by the handler or by the server itself; the last that is heard of it. NULL: not wanted. */
    void (*answered)(void *context, const struct http_request *request, unsigned status);
};

int http_server_new(const struct http_server_options *options, struct http_server **server, struct error *error);
void http_server_quiesce(struct http_server *server);             /* no new connections; those under way are answered */
size_t http_server_pending(const struct http_server *server);     /* requests handed over and not yet answered */
size_t http_server_connections(const struct http_server *server); /* that are open */
/* NULL is fine; pending requests get 503 and become invalid. Not from within handle. */
void http_server_free(struct http_server *server);
int http_server_port(const struct http_server *server);

#endif
