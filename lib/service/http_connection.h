/* The connections of an HTTP server: what libmicrohttpd's callbacks tell of them, and how their requests are answered.
 *
 *     WAITING --head--> READING --body complete--> HANDED --http_answer--> ANSWERED --sent--> WAITING, or closed
 *                          |                                               ^
 *                          +--- the connection answers bad requests -------+
 *
 * A connection is suspended in HANDED, unless handle answers at once. libmicrohttpd then neither times out nor notices that the client
 * is gone, so the request lives until it is answered. Loop's thread. */
#ifndef SERVICE_HTTP_CONNECTION_H
#define SERVICE_HTTP_CONNECTION_H

#include <microhttpd.h>

#include "service/http_gzip.h"
#include "service/http_request.h"
#include "service/http_server.h"

struct http_connection;
struct http_connections;

/* options are copied. on_work(work_context): libmicrohttpd has something to do that no descriptor announces. */
struct http_connections *http_connections_new(const struct http_server_options *options, void (*on_work)(void *context),
                                              void *work_context);
/* All must be closed. NULL is fine. */
void http_connections_free(struct http_connections *all);
struct MHD_Daemon *http_connections_serve(struct http_connections *all, int listener); /* NULL: it did not start */
void http_connections_quiesce(struct http_connections *all); /* each is closed after its next answer */
void http_connections_abandon(
    struct http_connections *all); /* pending requests get 503, and so do those that still come */
size_t http_connections_count(const struct http_connections *all);
size_t http_connections_pending(const struct http_connections *all);

/* The parts of the server that answers need; NULL: answers are not packed, or no page of another origin may use it. */
struct http_gzip *http_connection_gzip(const struct http_connection *connection);
const struct http_cors *http_connection_cors(const struct http_connection *connection);

/* The one way in which a request is answered. The response becomes the connection's. */
void http_answer(struct http_request *request, unsigned status, struct MHD_Response *response);

#endif
