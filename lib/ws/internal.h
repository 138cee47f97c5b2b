/* What server.c and clients.c share: a hub is one libwebsockets context on the loop, with its connections.
 *
 * Every connection stands in exactly one queue, and each queue has one timeout, so that the oldest is always in front
 * and a timeout costs O(1). (libwebsockets' own timers are one sorted list with O(n) insertion.)
 *
 *     handshaking  since = accepted or connecting   too old: killed
 *     open         since = last heard of            too old: pinged, the second time killed
 *     closing      since = close frame sent         too old: killed
 */
#ifndef WS_INTERNAL_H
#define WS_INTERNAL_H

#include <libwebsockets.h>

#include "base/loop.h"
#include "ws/flood.h"
#include "ws/packer.h"
#include "ws/tls.h"
#include "ws/ws.h"

enum {
    HUB_TICK_MS = 250,
    HUB_CLOSE_MS = 5000,     /* for the peer to answer a close frame */
    HUB_LOOK_MS = 1000,      /* between two looks at a connection's flood, at least */
    HUB_LOOK_TICKS = 40,     /* in so many ticks each has been looked at */
    CLOSE_PAYLOAD_MAX = 125, /* of a control frame (RFC 6455, 5.5) */
    EXTENSIONS_MAX = 254,    /* bytes of that header that libwebsockets looks through */
    CLOSE_NO_CODE = 1005,    /* a close frame without one */
    CLOSE_VANISHED = 1006,   /* no close frame at all */
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

struct ws_connection {
    /* What each frame that is sent looks at. */
    int socket; /* frames may be written there directly; -1: by libwebsockets only */
    uint8_t state;
    bool client;
    bool backlog;       /* something may be left in libwebsockets' own buffer (what it writes by itself, a pong when the
                             socket is writable, always fits) */
    bool connecting;    /* inside lws_client_connect_via_info */
    bool pinged;        /* and nothing came since */
    bool want_writable; /* ws_send said -EAGAIN */
    bool packs;         /* permessage-deflate was agreed on */
    bool packed;        /* the message that is coming is */
    bool inside;        /* a frame of it, of which some has come and more will */
    uint8_t offers;     /* of permessage-deflate, that libwebsockets has not come to yet; while handshaking */
    uint16_t close_code; /* the peer's */
    struct lws *wsi;     /* NULL: it does not exist (any more) */
    struct hub *hub;
    void *context;
    struct ws_queue *queue;
    struct ws_connection *next, *previous;
    struct ws_connection *look_next, **look_link; /* hub->looks, while it is open */
    uint64_t since;                               /* uv_now */
    struct buffer message;                        /* the fragments so far; almost always empty */
    size_t ignored;                               /* bytes that came while closing */
    struct flood flood;
};

struct hub {
    uv_loop_t *loop;
    struct lws_context *lws;
    struct lws_vhost *vhost;
    struct lws_protocols protocols[2];
    lws_retry_bo_t no_timers; /* all zero: pinging is ours */
    struct tls_pair *pair;    /* a server's; NULL: plain */
    char *subprotocol;
    char *origins;         /* NULL: any */
    struct packer *packer; /* NULL: no permessage-deflate */
    struct ws_counts counts;
    size_t max_message;
    bool direct; /* nothing stands between a frame and the socket: no TLS, no masking */
    uint64_t handshake_ms, ping_ms;
    void *context;
    struct ws_callbacks callbacks;
    struct ws_queue handshaking, open, closing;
    struct ws_queue failed; /* clients that libwebsockets gave up at once: on_close waits for the next turn */
    unsigned connections;   /* in all queues */
    unsigned opened;
    struct loop_timer *tick;
    bool guards; /* against floods: a server does */
    struct ws_connection
        *looks; /* all that are open, the last that opened first: an order that nothing they send changes */
    struct ws_connection *look; /* of them, the next that its flood is looked at; NULL: after the pass */
    uint64_t look_began;        /* the pass, uv_now */
    struct loop_idle *finish;   /* only during the shutdown */
    unsigned finish_turns;
    loop_fn *released; /* a connection has gone, its descriptor too; may be NULL */
    void *owner;
    loop_fn *closed;
    void *closed_context;
};

struct hub_options {
    uv_loop_t *loop;
    const char *subprotocol;
    size_t max_message, receive_size;
    bool deflate;
    unsigned most; /* connections at once; 0: not known */
    unsigned handshake_s, ping_s;
    const char *tls_certificate, *tls_key, *tls_ca, *origins;
    bool server;
    void *context;
    struct ws_callbacks callbacks;
    loop_fn *released;
    void *owner;
};

/* Nothing to free on failure. Must not be called inside a callback of the loop (on failure it turns the loop). */
int hub_start(struct hub *hub, const struct hub_options *options, struct error *error);
/* Closes every connection with `code`, ends libwebsockets, calls closed. */
void hub_shutdown(struct hub *hub, int code, loop_fn *closed, void *context);
void hub_release(struct hub *hub); /* after closed */

/* A connection in `handshaking`. */
struct ws_connection *connection_new(struct hub *hub, struct lws *wsi, bool client);
/* Inside libwebsockets' callbacks; not 0: it shall close the connection there and then. */
int connection_opened(struct ws_connection *connection);
/* permessage-deflate: libwebsockets asks at each offer of it in the peer's handshake, whether to agree; and then what is said of
 * it behind its name. */
bool connection_packs(struct ws_connection *connection);
void connection_answer(const struct ws_connection *connection, struct lws_process_html_args *headers);
int connection_received(struct ws_connection *connection, const char *bytes, size_t size);
/* libwebsockets is going to end it, perhaps after a close frame of its own (1002, 1007): nothing may be sent any more. */
void connection_closes(struct ws_connection *connection);
int connection_peer_closes(struct ws_connection *connection, const uint8_t *payload, size_t size);
void connection_ponged(struct ws_connection *connection);
void connection_writable(struct ws_connection *connection);
void connection_look(struct ws_connection *connection); /* whether it floods */
void connection_ping(struct ws_connection *connection);
void connection_closed(struct ws_connection *connection); /* calls on_close if it is due */
void connection_free(struct ws_connection *connection);
/* Ends it without a word, soon (never inside the call). */
void connection_kill(struct ws_connection *connection);
void connection_move(struct ws_connection *connection, struct ws_queue *queue); /* to its end; NULL: to none */

#endif
