/* The connections of an HTTP server. Its files share this: http_server.c accepts them, http_places.c knows which of them may go,
 * http_reading.c reads requests, http_writing.c sends answers, http_connection.c waits for their sockets, and ends them.
 *
 *     IDLE --bytes--> HEAD --head complete--> BODY --body complete--> HANDED --http_answer--> WRITING --sent--> IDLE
 *                      |                       |                                                ^   \--sent--> LINGERING, or closed
 *                      +-----------------------+------ the server answers bad requests --------+
 *
 * One request is under way at a time: what comes behind it waits, mostly in the kernel. In HANDED nobody times out, and nobody notices
 * that the client is gone, so the request lives until it is answered. LINGERING: the answer is out, but the client may still be
 * sending, and closing now would reset the connection before it reads the answer. Loop's thread. */
#pragma once

#include <netinet/in.h>

#include "base/buffer.h"
#include "budget/held.h"
#include "service/http_body.h"
#include "service/http_gzip.h"
#include "service/http_incoming.h"
#include "service/http_places.h"
#include "service/http_server.h"

enum {
    HTTP_READ_SIZE = 16 * 1024, /* at once: then the others of the loop have their turn */
    HTTP_FULL_RETRY_S = 2       /* in Retry-After, when a budget of bytes is used up */
};

enum http_state { HTTP_IDLE, HTTP_HEAD, HTTP_BODY, HTTP_HANDED, HTTP_WRITING, HTTP_LINGERING };

struct http_connection {
    uv_poll_t poll;
    struct http_server *server;
    int fd;
    int waits_for; /* of uv_poll_event */
    enum http_state state;
    bool taking;  /* bytes are being read: what follows an answer is looked at there */
    bool closing; /* after this answer */
    bool unread;  /* something of the request may still come */
    bool closed;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
    struct http_place place;
    struct buffer in; /* the part of a head that has come, or what came behind a request; almost always empty */
    size_t known;     /* bytes of it that hold no whole head */
    size_t in_held;   /* bytes of it that are counted */
    struct http_request *request;
    struct buffer out; /* of the answer, before the body: what the kernel did not take */
    size_t out_from;
    struct http_body body;
    uint64_t reply_caller;
    int64_t reply_held;
    uint64_t since_ms; /* uv_now of the state's beginning */
    uint64_t moved;    /* bytes in this state; moved_before: before since_ms */
    uint64_t moved_before;
    struct http_connection *previous, *next, *next_resumed;
    bool resumed;
};

struct http_server {
    struct http_server_options options;
    int fd, port; /* fd -1: it does not listen */
    struct loop_watch *watch;
    struct loop_timer *pause; /* no descriptor is left */
    struct loop_timer *look;
    struct loop_idle *resume;
    struct http_connection *first, *first_resumed;
    struct http_places *places;
    struct metrics *own_metrics;
    struct held *connections, *requests, *replies;
    struct http_gzip *gzip; /* NULL: answers are not packed */
    size_t count, pending;
    uint64_t serial; /* of keys for those who have no limit of their own */
    bool quiesced, abandoned, paused;
    int64_t date_s;
    char date[32];
    struct http_incoming incoming;
    struct buffer head, fields; /* of the answer that is being made */
    char bytes[HTTP_READ_SIZE];
};

/* http_server.c */
uint64_t http_server_key(struct http_server *server); /* of a caller, or a network, that no other one has */
void http_server_has_room(struct http_server *server);

/* http_connection.c. Takes the socket, and a place that is taken, over. */
void http_connection_open(struct http_server *server, int fd, const struct sockaddr_in6 *address, uint64_t network);
/* Ends it at once. Its memory lives until the loop's next turn. Not in HANDED. */
void http_connection_close(struct http_connection *connection);
void http_connection_enter(struct http_connection *connection, enum http_state state);
void http_connection_queue(struct http_connection *connection); /* puts it where its state belongs */
struct http_connection *http_connection_at(struct http_place *place);
void http_connection_wait(struct http_connection *connection, int events);
void http_connection_resume(struct http_connection *connection); /* looks in a later turn at what has come already */
void http_connections_look(void *server);                        /* closes those that have exceeded their time */

/* http_reading.c */
void http_connection_read(struct http_connection *connection);    /* the socket is readable */
void http_connection_take_in(struct http_connection *connection); /* looks at what waits in `in` */
void http_connection_refuse(struct http_connection *connection, const struct http_fault *fault, int retry_after_s);
extern const struct http_fault HTTP_ENDING, HTTP_CALLER_FULL, HTTP_SERVER_FULL;

/* http_writing.c */
void http_connection_write(struct http_connection *connection); /* the socket takes more */

const char *http_reason(unsigned status);

/* The parts of the server that answers need; NULL: answers are not packed, or no page of another origin may use it. */
struct http_gzip *http_connection_gzip(const struct http_connection *connection);
const struct http_cors *http_connection_cors(const struct http_connection *connection);
/* For the fields of the next answer; empty. */
struct buffer *http_connection_fields(struct http_connection *connection);

/* The one way in which a request is answered: its fields are those of http_connection_fields. The body becomes the connection's. */
void http_answer(struct http_request *request, unsigned status, struct http_body body);
