/* What the tests of lib/ws share: a loop with a server and clients that write down what happens, and a client of bare
 * sockets, which can misbehave. The loop runs only inside the functions that wait.
 */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "base/loop.h"
#include "ws/ws.h"

#define WS_TEST_SUBPROTOCOL "starling.v1"

/* The first byte of a frame. */
enum {
    TEXT = 0x81,
    TEXT_FIRST = 0x01,
    MORE = 0x00,
    LAST = 0x80,
    BINARY = 0x82,
    CLOSE = 0x88,
    PING = 0x89,
    PONG = 0x8A
};

struct side { /* what the server or the clients were told */
    int opened, closed, messages, writable;
    int code;                         /* of the last on_close */
    struct ws_connection *connection; /* the last that opened; NULL after its on_close */
    struct buffer message;            /* the last */
};

struct ws_world {
    uv_loop_t loop;
    struct loop_timer *wake;
    struct ws_server *server;
    struct ws_clients *clients;
    int port;
    struct side at_server, at_client;
    /* Tests may replace what the server does when a connection opens (nothing) and with a message (echo it). */
    void (*when_opened)(struct ws_world *world, struct ws_connection *connection);
    void (*when_message)(struct ws_world *world, struct ws_connection *connection, const char *text, size_t size);
    void (*when_writable)(struct ws_world *world, struct ws_connection *connection);
    void (*when_closed)(struct ws_world *world, struct ws_connection *connection);
    int shut; /* of the server and of the clients, how many have ended */
};

struct ws_callbacks ws_world_server_callbacks(void);
struct ws_server_options ws_world_server_options(struct ws_world *world);
/* options: NULL for the ones above; tls_ca: of the clients, may be NULL. */
struct ws_world *ws_world_new(const struct ws_server_options *options, const char *tls_ca);
/* Another server, after the first was shut down. */
void ws_world_listen(struct ws_world *world, const struct ws_server_options *options);
void ws_world_free(void *world); /* the end of a test does; shuts both down if the test has not */
void ws_world_shutdown_server(struct ws_world *world, int code);

/* Turns the loop until *value is at least `least`; the test fails when that takes too long. */
void ws_world_until(struct ws_world *world, const int *value, int least);
void ws_world_run(struct ws_world *world, int ms);
void ws_world_connect(struct ws_world *world, void *context);
int ws_world_say(struct ws_connection *connection, const char *text);

/* A connected socket of no library. receive_buffer: 0 for the kernel's choice. */
int wire_connect(struct ws_world *world, int receive_buffer);
int wire_open(struct ws_world *world, int receive_buffer); /* and the handshake is done */
void wire_write(struct ws_world *world, int fd, const void *bytes, size_t size);
void wire_request(struct ws_world *world, int fd, const char *header_lines); /* an upgrade with these lines more */
/* Reads exactly so much, turning the loop; false: the peer closed before. */
bool wire_read(struct ws_world *world, int fd, void *bytes, size_t size);
/* Reads to the end of the headers, or until closed; the text is valid until the next call. */
const char *wire_response(struct ws_world *world, int fd);
void wire_frame(struct ws_world *world, int fd, int first_byte, const void *payload, size_t size); /* masked */
/* The next frame of the server: its first byte, -1 when it closed instead. payload: is replaced. */
int wire_next(struct ws_world *world, int fd, struct buffer *payload);
void wire_expect_text(struct ws_world *world, int fd, const char *text);
/* Expects a close frame with that code and reason, and then the end of the connection when it is answered. */
void wire_expect_close(struct ws_world *world, int fd, int code, const char *reason);
