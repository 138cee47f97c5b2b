/* The connections of an HTTP server: each reads requests, has them handled one after the other, and writes the answers.
 *
 *     HEAD --complete--> BODY --complete--> HANDED --http_reply--> WRITE --all sent--> HEAD (keep-alive), or closed
 *       |                  |                                        ^        |
 *       +--- the connection itself answers bad requests ------------+        +--> LINGER --> closed
 *
 * An answer from within handle is sent at once; one that comes later is sent in the next turn of the loop. LINGER is for answers to
 * requests that were not read to their end: closing at once would reset the connection, and the client would never read them.
 * Loop's thread. */
#ifndef SERVICE_HTTP_CONNECTION_H
#define SERVICE_HTTP_CONNECTION_H

#include "service/http_reply.h"
#include "service/http_server.h"

struct http_connections;

/* options are copied. on_room(room_context): a connection has closed. */
struct http_connections *http_connections_new(const struct http_server_options *options, void (*on_room)(void *context),
                                              void *room_context);
/* Pending requests get 503; what can be sent at once is; then all are closed. NULL is fine. */
void http_connections_free(struct http_connections *all);
void http_connections_add(struct http_connections *all, int fd); /* non-blocking; becomes theirs */
void http_connections_quiesce(struct http_connections *all);     /* each is closed after its next answer */
size_t http_connections_count(const struct http_connections *all);
size_t http_connections_pending(const struct http_connections *all);

/* The one way in which a request is answered: by `size` bytes of body, or (fd >= 0, which becomes theirs) of a file. The request is
 * gone afterwards. */
void http_answer(struct http_request *request, unsigned status, const struct http_field *fields, size_t field_count,
                 const void *body, uint64_t size, int fd);

#endif
