/* WebSockets on the event loop: a server, which speaks the protocol by itself, and clients, which leave it to libwebsockets (this
 * is the only door to it). Text frames. Loop's thread; every function may be called inside the callbacks, and none of them calls
 * a callback before it returns.
 *
 * A frame to send is a struct buffer whose first WS_HEADROOM bytes are free for the library: start it with
 * ws_frame_start, append the text behind. A server may send the same buffer to several connections, one after the other
 * (the headroom is overwritten); a client's send spoils the text as well (RFC 6455 has clients mask it).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/loop.h"

enum { WS_HEADROOM = 16 };

enum ws_close_code {
    WS_NORMAL = 1000,
    WS_POLICY = 1008, /* bad token */
    WS_TOO_BIG = 1009,
    WS_RESTART = 1012, /* draining or restarting */
    WS_OVERLOADED = 1013,
    WS_ENDED = 4001, /* from another device of the user */
    WS_TOO_SLOW = 4002,
    WS_EXPIRED = 4003 /* token expired */
};

struct ws_server;
struct ws_counts {    /* of a server's connections, since its start */
    uint64_t refused; /* no request, no WebSocket upgrade, one that lacks something, or not our subprotocol */
    uint64_t origins; /* an upgrade of a page that is not allowed */
    uint64_t late;    /* the handshake was not complete in time */
    uint64_t evicted; /* made room for others: the one whose handshake has taken longest, or whose end has */
    uint64_t dead;    /* did not answer a ping */
    uint64_t floods;  /* closed with 1008: too many pings (20 a second), or frames that end no message (200 a second) */
};

struct ws_connection; /* of a server or of a client; freed by the library after on_close */

struct ws_callbacks {
    /* The handshake is done. The value returned by ws_context is NULL until set. */
    void (*on_open)(void *context, struct ws_connection *connection);
    /* A whole message; no NUL behind it. */
    void (*on_message)(void *context, struct ws_connection *connection, const char *text, size_t size);
    void (*on_writable)(void *context, struct ws_connection *connection); /* after a -EAGAIN of ws_send */
    /* Once for every connection that was opened, and for a client's failed attempt (1006). code: of the peer's close
     * frame, be it first or the answer to ours; 1005 if it had none, 1006 if there was no frame. A client is told 1002
     * for a server's 1012 to 1014: libwebsockets changes them before we see them. */
    void (*on_close)(void *context, struct ws_connection *connection, int code);
};

struct ws_server_options {
    uv_loop_t *loop;
    const char *listen;       /* host:port; port 0: any free one */
    const char *subprotocol;  /* "starling.v1"; a client that does not offer it is refused */
    size_t max_message;       /* bytes; beyond: closed with 1009 */
    unsigned max_connections; /* those in the handshake included; beyond: the idle are evicted, or accepting pauses */
    unsigned ping_s;          /* ping an idle peer after; closed when nothing came within ping_s more. 0: never */
    unsigned handshake_s;     /* upgrade must be complete by then. 0: 10 */
    const char *origins; /* which a browser's page may have, separated by commas; "" or NULL: any. No origin is fine */
    const char *tls_certificate, *tls_key; /* PEM files; "" or NULL: plain */
    void *context;
    struct ws_callbacks callbacks;
    /* Finds a number for where the client is, which ws_origin then gives. Called when a socket has come (also inside ws_server_accept), with
     * forwarded NULL, and again before on_open; forwarded is then what proxies say of the client (X-Forwarded-For, with commas between
     * several), "" if none does. False: the connection is closed without a word. NULL: all are taken, and the number is 0. */
    bool (*origin)(void *context, const struct sockaddr *peer, const char *forwarded, uint64_t *number);
};

/* At start-up, not inside a callback of the loop. */
int ws_server_new(const struct ws_server_options *options, struct ws_server **server, struct error *error);
int ws_server_port(const struct ws_server *server);
unsigned ws_server_connections(const struct ws_server *server); /* open ones: between on_open and on_close */
/* Off: the listening socket is closed, so its share goes to other processes; on: opened again. 0 or -errno. */
int ws_server_accept(struct ws_server *server, bool on);
/* Reads the certificate and its key again: handshakes from now on take them, connections that are there keep theirs. 0, or
 * -EINVAL with the reason, and the old ones stay. Without TLS: 0. */
int ws_server_renew(struct ws_server *server, struct error *error);
/* Checks that a server could take that certificate and its key (PEM files). 0, or -EINVAL with the reason. Any thread. */
int ws_certificate_check(const char *certificate, const char *key, struct error *error);
int64_t ws_server_expires(const struct ws_server *server); /* the certificate's end, s since the epoch; -1: no TLS */
const struct ws_counts *ws_server_counts(const struct ws_server *server);
/* Another socket listens on the server's address and port (of this machine, or this network namespace). Reads /proc. */
bool ws_server_shared(const struct ws_server *server);
/* Closes everything that is open with `code` (close frames are sent; who does not answer within 5 s is dropped) and
 * then calls closed; after that ws_server_free. */
void ws_server_shutdown(struct ws_server *server, int code, loop_fn *closed, void *context);
void ws_server_free(struct ws_server *server); /* after shutdown's closed; NULL is fine */

void ws_frame_start(struct buffer *frame); /* empties it and leaves the headroom */

/* True: ws_send would take a frame now. False: it is slow (on_writable will come) or closing. For who builds frames
 * from state and must not build one that cannot be sent. */
bool ws_ready(struct ws_connection *connection);

/* Sends the frame now. 0; -EAGAIN: the peer is slow, nothing was taken, on_writable will come; -EPIPE: closing. */
int ws_send(struct ws_connection *connection, struct buffer *frame);
/* The bytes of frames that the kernel has not taken. 0 for a client. */
size_t ws_unsent(const struct ws_connection *connection);
/* A frame will be sent there soon: has the processor fetch what that looks at. */
void ws_prefetch(const struct ws_connection *connection);
/* Sends the close frame behind the frames that are under way, and closes; on_close comes when the peer has answered, or after 5 s. (A peer
 * that breaks the protocol gets a close frame with the reason, and is closed at once.) reason: at most 123 bytes (the rest is cut
 * off), may be NULL. */
void ws_close(struct ws_connection *connection, int code, const char *reason);
void ws_set_context(struct ws_connection *connection, void *context);
void *ws_context(const struct ws_connection *connection);
uint64_t ws_origin(const struct ws_connection *connection); /* of a server */

struct ws_clients; /* many client connections on one loop */

struct ws_clients_options {
    uv_loop_t *loop;
    const char *subprotocol;
    size_t max_message;
    const char *tls_ca; /* PEM file of the authorities to trust for wss://; "" or NULL: ws:// only */
    void *context;
    struct ws_callbacks callbacks;
};

int ws_clients_new(const struct ws_clients_options *options, struct ws_clients **clients, struct error *error);
/* url: ws://host:port/path or wss://. 0: under way, on_open or on_close follows (never before the return).
 * connection_context: what ws_context gives from the start. Looks names up by waiting (getaddrinfo). */
int ws_connect(struct ws_clients *clients, const char *url, void *connection_context, struct error *error);
void ws_clients_shutdown(struct ws_clients *clients, loop_fn *closed, void *context);
void ws_clients_free(struct ws_clients *clients);
