/* An HTTP/1.1 server on the event loop, which answers now or later.
 *
 * A request is handed over complete, body included; it stays valid until http_reply, which must be called exactly once, at
 * once or any time later, whether or not the client is still there. The server itself answers requests that it cannot take, as
 * http_problem does, and closes their connections: 400 bad_request (also for what two servers could read differently, see
 * http/head.h), 408 too_slow, 413 body_too_large, 414 uri_too_long, 417 bad_expectation, 429 too_many_bytes, 431 head_too_large, 501
 * bad_coding, 503 overloaded and shutting_down. HEAD is handed over as such, and its answer loses its body on the way.
 *
 * Clients have a time for each step, and are closed when they exceed it. When all places are taken, the connection that has been idle for
 * longest makes room for a new one, else the one that has been sending its request for longest; of the networks with the most
 * connections first. Loop's thread.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "service/http_cors.h"
#include "service/http_origin.h"
#include "service/http_request.h"

struct http_server;

/* How long a client may take. All of them 0: the defaults. */
struct http_times {
    unsigned head_s;     /* from a head's first byte to its last; 10 */
    unsigned idle_s;     /* without a request; 60 */
    unsigned body_s;     /* in each so many seconds a body comes to its end, or at the least rate; 10 */
    unsigned reply_s;    /* the same of reading an answer; 20 */
    unsigned least_rate; /* bytes a second; 4,096 */
};

/* Limits of what callers hold at once, in budgets that the metrics show (budget/held.h). 0: any number. */
struct http_budgets {
    struct metrics *metrics; /* NULL: nobody sees them */
    int64_t network_connections;
    int64_t request_bytes, all_request_bytes; /* of requests that are not answered yet, by caller and together */
    int64_t reply_bytes, all_reply_bytes;     /* of answers that clients have not taken yet */
};

struct http_server_options {
    uv_loop_t *loop;
    const char *listen;       /* host:port, [v6]:port; port 0: any free one */
    size_t max_body;          /* bytes; beyond: 413 by itself. 0: 64 KiB */
    unsigned max_connections; /* 0: 1,000 */
    struct http_times times;
    struct http_budgets budgets;
    const struct http_proxies *proxies; /* whose connections count for no network; the caller's. NULL: none */
    bool reuse_port;                    /* share the port between processes */
    size_t gzip_least; /* answers in text of so many bytes are packed for clients that accept it; 0: none are */
    const struct http_cors
        *cors;         /* of which origins pages may use the server; the caller's, outlives it. NULL: of none */
    size_t state_size; /* of http_state, which each request has */
    void *context;
    /* The head of a request has come, its body has not: says whose the bytes are (http_set_caller), and may answer. NULL: all are let in. */
    void (*admit)(void *context, struct http_request *request);
    void (*handle)(void *context, struct http_request *request);
    /* Each request that is answered, by the handler or by the server itself; the last that is heard of it. NULL: not wanted. */
    void (*answered)(void *context, const struct http_request *request, unsigned status);
};

int http_server_new(const struct http_server_options *options, struct http_server **server, struct error *error);
void http_server_quiesce(struct http_server *server);             /* no new connections; those under way are answered */
size_t http_server_pending(const struct http_server *server);     /* requests handed over and not yet answered */
size_t http_server_connections(const struct http_server *server); /* that are open */
/* NULL is fine; pending requests get 503 and become invalid. Not from within handle or admit. */
void http_server_free(struct http_server *server);
int http_server_port(const struct http_server *server);
