/* Bytes from a socket before any of our protocol: the HTTP upgrade and WebSocket frames, through lib/ws, by a real
 * connection. The first byte of an input says whether a good upgrade is sent ahead of it, and whether the
 * rest comes in one piece or two. Messages are echoed, some are answered by a close.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "ws/ws.h"

enum { UPGRADED = 1, TWO_PIECES = 2, MAX_MESSAGE = 512, TURNS_MAX = 2000 };

static const char UPGRADE[] = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                              "Sec-WebSocket-Protocol: starling.v1\r\n\r\n";

struct world {
    uv_loop_t loop;
    struct ws_server *server;
    int opened, closed;
};

static void on_open(void *context, struct ws_connection *connection) {
    struct world *world = context;
    world->opened++;
}

static void on_message(void *context, struct ws_connection *connection, const char *text, size_t size) {
    static struct buffer frame;
    fuzz_require(size <= MAX_MESSAGE);
    ws_frame_start(&frame);
    buffer_append(&frame, text, size);
    ws_send(connection, &frame);
    if (size && text[0] == 'c') ws_close(connection, WS_POLICY, text[size - 1] == 'r' ? "reason" : NULL);
}

static void on_writable(void *context, struct ws_connection *connection) {}

static void on_close(void *context, struct ws_connection *connection, int code) {
    struct world *world = context;
    fuzz_require(code >= 0 && code <= 65535);
    world->closed++;
}

static struct world *world_new(void) {
    struct world *world = calloc(1, sizeof *world);
    struct error error;
    uv_loop_init(&world->loop);
    int failure = ws_server_new(
        &(struct ws_server_options){
            .loop = &world->loop,
            .listen = "127.0.0.1:0",
            .subprotocol = "starling.v1",
            .max_message = MAX_MESSAGE,
            .max_connections = 4,
            .handshake_s = 5,
            .context = world,
            .callbacks = {on_open, on_message, on_writable, on_close},
        },
        &world->server, &error);
    fuzz_require(failure == 0);
    return world;
}

static int dial(const struct world *world) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)ws_server_port(world->server)),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct linger reset = {.l_onoff = 1}; /* or the ports are used up */
    int fd = -1;
    for (int tries = 0; fd < 0; tries++) {
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        fuzz_require(fd >= 0);
        if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0) break;
        /* libFuzzer's timer, or others on this machine have taken all ports for the moment. */
        fuzz_require((errno == EINTR || errno == EADDRNOTAVAIL) && tries < 10000);
        close(fd);
        fd = -1;
        usleep(1000);
    }
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    return fd;
}

static void turn(struct world *world, int times) {
    while (times--) uv_run(&world->loop, UV_RUN_NOWAIT);
}

static void say(struct world *world, int fd, const void *bytes, size_t size) {
    if (size && send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        fuzz_require(errno == EPIPE || errno == ECONNRESET || errno == EAGAIN);
    turn(world, 3);
}

/* Reads what has been said until there is no more; the echoes must not stay with the server. */
static void hear(struct world *world, int fd) {
    char bytes[4096];
    while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) turn(world, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct world *world;
    if (!world) world = world_new();
    if (!size || size > 8192) return 0;
    unsigned how = data[0];
    data++;
    size--;
    int opened = world->opened, fd = dial(world);
    turn(world, 2);
    if (how & UPGRADED) {
        say(world, fd, UPGRADE, sizeof UPGRADE - 1);
        fuzz_require(world->opened == opened + 1);
    }
    size_t half = how & TWO_PIECES ? size * (how >> 2) / 64 : 0;
    say(world, fd, data, half);
    say(world, fd, data + half, size - half);
    hear(world, fd);
    close(fd);
    for (int turns = 0; world->closed < world->opened; turns++) {
        fuzz_require(turns < TURNS_MAX);
        turn(world, 1);
    }
    fuzz_require(ws_server_connections(world->server) == 0);
    turn(world, 2);
    return 0;
}
