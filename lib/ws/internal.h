/* server.c and clients.c share this: a hub is connections on the loop, with what becomes of them in time.
 *
 * A server's connection speaks WebSocket by itself on a stream (inbound.c); a client's is one of libwebsockets' (clients.c).
 *
 * Every connection stands in exactly one queue, and each queue has one timeout, so that the oldest is always in front
 * and a timeout costs O(1). (libwebsockets' own timers are one sorted list with O(n) insertion.)
 *
 *     handshaking  since = accepted or connecting   too old: killed
 *     open         since = last heard of            too old: pinged, the second time killed
 *     closing      since = close frame sent         too old: killed
 *     finishing    since = last byte sent           too old: killed (the peer has to see the end and to end it too)
 *     ending       to be killed in the next turn
 */
#pragma once

#include <libwebsockets.h>

#include "base/loop.h"
#include "ws/frames.h"
#include "ws/stream.h"
#include "ws/tls.h"
#include "ws/utf8.h"
#include "ws/ws.h"

enum {
    HUB_TICK_MS = 250,
    HUB_CLOSE_MS = 5000,   /* for the peer to answer a close frame */
    HUB_FINISH_MS = 2000,  /* for the peer to end a connection that is over */
    CLOSE_NO_CODE = 1005,  /* a close frame without one */
    CLOSE_VANISHED = 1006, /* no close frame at all */
    CLOSE_PROTOCOL = 1002,
    CLOSE_NOT_TEXT = 1003,
    CLOSE_BAD_TEXT = 1007
};

struct ws_queue {
    struct ws_connection *first, *last;
};

enum ws_state {
    WS_HANDSHAKING,
    WS_OPEN,
    WS_CLOSING, /* a close frame was sent, or it has to die: what still comes is ignored */
    WS_GONE     /* on_close was called, or never will be */
};

/* Frames that a peer sends besides messages themselves: pings, pongs, and frames that only cut a message into pieces. All of them cost the
 * server turns of the loop. */
struct flood {
    uint64_t counted_ms; /* since then */
    uint16_t controls, fragments;
};

struct ws_connection {
    /* Each frame that is sent looks at these. */
    int socket; /* frames may be written there directly; -1: not */
    uint8_t state;
    bool client;
    bool backlog;       /* something is kept that the kernel did not take. A client's: it may be, libwebsockets knows */
    bool connecting;    /* inside lws_client_connect_via_info */
    bool pinged;        /* and nothing came since */
    bool want_writable; /* ws_send said -EAGAIN */
    uint16_t close_code; /* the peer's */
    struct hub *hub;
    struct stream *stream; /* a server's */
    struct lws *wsi;       /* a client's; NULL: it does not exist (any more) */
    void *context;
    uint64_t origin; /* as the callback of that name said */
    struct ws_queue *queue;
    struct ws_connection *next, *previous;
    uint64_t since; /* uv_now */
    struct buffer
        message; /* the part of a message, or of the handshake's request, that has come; almost always empty */
    struct buffer control; /* the part of a control frame that has come; almost always empty */
    size_t ignored;        /* bytes that came while closing */
    struct frame_reader reader;
    struct utf8 utf8; /* of the message */
    struct flood flood;
};

struct hub {
    uv_loop_t *loop;
    struct streams *streams; /* a server's */
    struct tls_pair *pair;   /* a server's; NULL: plain */
    char *subprotocol;
    char *origins; /* NULL: any */
    struct ws_counts counts;
    size_t max_message;
    uint64_t handshake_ms, ping_ms;
    void *context;
    struct ws_callbacks callbacks;
    bool (*origin)(void *context, const struct sockaddr *peer, const char *forwarded, uint64_t *number); /* or NULL */
    struct ws_queue handshaking, open, closing, finishing, ending;
    unsigned connections; /* in all queues */
    unsigned opened;
    struct loop_timer *tick;
    struct loop_idle *ender;  /* on while some are ending */
    struct buffer answer;     /* to a handshake */
    struct buffer forwarded;  /* of a handshake */
    struct loop_idle *finish; /* only during the shutdown */
    /* Of a client's hub only. */
    struct lws_context *lws;
    struct lws_vhost *vhost;
    struct lws_protocols protocols[2];
    lws_retry_bo_t no_timers; /* all zero: pinging is ours */
    unsigned finish_turns;
    loop_fn *released; /* a connection has gone, its descriptor too; may be NULL */
    loop_fn *aged;     /* called again and again: some may have become idle. May be NULL */
    void *owner;
    loop_fn *closed;
    void *closed_context;
};

/* hub.c. Settings are set by who makes it; hub_start sets up the rest and begins to look after its connections. */
void hub_start(struct hub *hub);
/* Closes every connection with `code`, then calls closed. */
void hub_shutdown(struct hub *hub, int code, loop_fn *closed, void *context);
void hub_release(struct hub *hub); /* after closed, or when it was never started */
/* Of the connections that are not open yet, or not any more, the one that has waited for the longest, and for a moment at least; NULL:
 * no connection has. */
struct ws_connection *hub_idlest(const struct hub *hub);

/* connection.c. A connection in `handshaking`. */
struct ws_connection *connection_new(struct hub *hub, bool client);
void connection_opened(struct ws_connection *connection);
void connection_writable(struct ws_connection *connection);
void connection_ping(struct ws_connection *connection);
void connection_heard(struct ws_connection *connection); /* it lives */
/* Of a server's. 0, or -errno: the connection is to be killed. */
int connection_write(struct ws_connection *connection, const uint8_t *bytes, size_t size);
/* Sends a close frame; 0 or -errno. Nothing else is sent behind it. */
int connection_close_frame(struct ws_connection *connection, const uint8_t *payload, size_t size);
void connection_closed(struct ws_connection *connection); /* calls on_close if it is due */
/* It is closed, and gone now. Not inside a callback of ours. */
void connection_end(struct ws_connection *connection);
/* Ends it without a word, soon (never inside the call). */
void connection_kill(struct ws_connection *connection);
void connection_move(struct ws_connection *connection, struct ws_queue *queue); /* to its end; NULL: to none */

/* inbound.c: a server's connection. */
extern const struct stream_events INBOUND_EVENTS;

/* clients.c: clients, which use libwebsockets. */
void client_kill(struct ws_connection *connection);
bool client_hub_finished(struct hub *hub); /* called in each turn until it is true */
