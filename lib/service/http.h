/* An HTTP/1.1 server on the event loop, which answers now or later; and a client (libcurl).
 *
 * A request is handed over complete, body included; it stays valid until http_reply, which must be called exactly once, at
 * once or any time later, whether or not the client is still there. The server itself answers requests that it cannot take:
 * 400 bad_request (also for what two servers could read differently, as two Content-Length do), 413 body_too_large, 414 uri_too_long,
 * 417 bad_expectation, 431 head_too_large, 501 bad_coding, 505 bad_version; all as http_problem does. HEAD is handed over as such,
 * and its answer loses its body on the way. Loop's thread.
 */
#ifndef SERVICE_HTTP_H
#define SERVICE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/loop.h"

struct http_server;
struct http_request;

struct http_server_options {
    uv_loop_t *loop;
    const char *listen;       /* host:port, [v6]:port; port 0: any free one */
    size_t max_body;          /* bytes; beyond: 413 by itself. 0: 64 KiB */
    unsigned max_connections; /* 0: 1,000 */
    unsigned timeout_s;       /* how long a client may take for a request's head, or be silent; 0: 60 */
    bool reuse_port;          /* share the port between processes */
    void *context;
    void (*handle)(void *context, struct http_request *request);
    /* Each request's end, whoever answered it; the last that is heard of it. NULL: not wanted. */
    void (*answered)(void *context, const struct http_request *request, unsigned status);
};

int http_server_new(const struct http_server_options *options, struct http_server **server, struct error *error);
void http_server_quiesce(struct http_server *server);             /* no new connections; those under way are answered */
size_t http_server_pending(const struct http_server *server);     /* requests handed over and not yet answered */
size_t http_server_connections(const struct http_server *server); /* that are open */
/* NULL is fine; pending requests get 503 and become invalid. Not from within handle. */
void http_server_free(struct http_server *server);
int http_server_port(const struct http_server *server);

const char *http_method(const struct http_request *request);
const char *http_path(const struct http_request *request);                     /* decoded, without query */
const char *http_query(const struct http_request *request, const char *name);  /* decoded; NULL: absent */
const char *http_header(const struct http_request *request, const char *name); /* case-insensitive; NULL: absent */
const void *http_body(const struct http_request *request, size_t *size);
int64_t http_age_us(const struct http_request *request);            /* since its head was read */
void http_set_context(struct http_request *request, void *context); /* for the handler's own use */
void *http_context(const struct http_request *request);

/* The bearer token of Authorization; NULL: none. */
const char *http_bearer(const struct http_request *request, size_t *size);

struct http_field {
    const char *name, *value;
};

/* Copies the body. fields: further response headers, may be NULL. */
void http_reply(struct http_request *request, unsigned status, const char *content_type, const void *body, size_t size,
                const struct http_field *fields, size_t field_count);
void http_reply_json(struct http_request *request, unsigned status, const struct buffer *body);
/* RFC 9457: {"type":"urn:starling:CODE","title":,"status":,"detail":,"code":CODE}. retry_after_s 0: no such header. */
void http_problem(struct http_request *request, unsigned status, const char *code, const char *detail,
                  int retry_after_s);
/* 405, with the methods that the path knows ("GET, HEAD, PUT") in Allow. */
void http_bad_method(struct http_request *request, const char *allowed);
/* A static file under root; refuses what leaves it; If-None-Match/ETag; index.html for "/"; 404 problem if absent. */
void http_reply_file(struct http_request *request, const char *root, const char *path);

struct http_client;
struct http_client *http_client_new(uv_loop_t *loop);
/* Pending fetches get code -ECANCELED. May be called from within a done. NULL is fine. */
void http_client_free(struct http_client *client);

/* One request; `done` is called once on the loop, never from within this call unless the client is being freed: code 0 with
 * status and body (valid during the call), or negative errno (-ETIMEDOUT; -ECONNREFUSED; -EIO: broken off, or more than
 * 16 MiB). method "GET"/"POST"/"PUT"/"DELETE"; token NULL: no Authorization; body NULL: none (JSON). */
void http_fetch(struct http_client *client, const char *method, const char *url, const char *token,
                const struct buffer *body, int timeout_ms,
                void (*done)(void *context, int code, unsigned status, const char *reply, size_t size), void *context);

#endif
