#include "unit/lib/ws/world.h"

#include "unit/kit/kit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>

enum { PATIENCE_MS = 20000 };

static void side_opened(struct side *side, struct ws_connection *connection) {
    side->opened++;
    side->connection = connection;
}

static void side_message(struct side *side, const char *text, size_t size) {
    side->messages++;
    buffer_clear(&side->message);
    buffer_append(&side->message, text, size);
}

static void side_closed(struct side *side, struct ws_connection *connection, int code) {
    side->closed++;
    side->code = code;
    if (side->connection == connection) side->connection = NULL;
}

static void server_opened(void *context, struct ws_connection *connection) {
    struct ws_world *world = context;
    assert_null(ws_context(connection));
    side_opened(&world->at_server, connection);
    if (world->when_opened) world->when_opened(world, connection);
}

static void server_message(void *context, struct ws_connection *connection, const char *text, size_t size) {
    struct ws_world *world = context;
    FREED_BUFFER frame = {.size = 0};
    side_message(&world->at_server, text, size);
    if (world->when_message) {
        world->when_message(world, connection, text, size);
    } else {
        ws_frame_start(&frame);
        buffer_append(&frame, text, size);
        assert_int_equal(ws_send(connection, &frame), 0);
    }
}

static void server_writable(void *context, struct ws_connection *connection) {
    struct ws_world *world = context;
    world->at_server.writable++;
    if (world->when_writable) world->when_writable(world, connection);
}

static void server_closed(void *context, struct ws_connection *connection, int code) {
    struct ws_world *world = context;
    if (world->when_closed) world->when_closed(world, connection);
    side_closed(&world->at_server, connection, code);
}

static void client_opened(void *context, struct ws_connection *connection) {
    side_opened(&((struct ws_world *)context)->at_client, connection);
}

static void client_message(void *context, struct ws_connection *connection, const char *text, size_t size) {
    side_message(&((struct ws_world *)context)->at_client, text, size);
}

static void client_writable(void *context, struct ws_connection *connection) {
    ((struct ws_world *)context)->at_client.writable++;
}

static void client_closed(void *context, struct ws_connection *connection, int code) {
    side_closed(&((struct ws_world *)context)->at_client, connection, code);
}

static void nothing(void *context) {}

struct ws_callbacks ws_world_server_callbacks(void) {
    return (struct ws_callbacks){.on_open = server_opened,
                                 .on_message = server_message,
                                 .on_writable = server_writable,
                                 .on_close = server_closed};
}

struct ws_server_options ws_world_server_options(struct ws_world *world) {
    return (struct ws_server_options){
        .listen = "127.0.0.1:0",
        .subprotocol = WS_TEST_SUBPROTOCOL,
        .max_message = 65536,
        .max_connections = 5000,
        .handshake_s = 5,
        .context = world,
        .callbacks = ws_world_server_callbacks(),
    };
}

void ws_world_listen(struct ws_world *world, const struct ws_server_options *options) {
    struct ws_server_options actual = options ? *options : ws_world_server_options(world);
    actual.loop = &world->loop;
    actual.context = world;
    if (ws_server_new(&actual, &world->server, &failure)) fail_msg("%s", failure.text);
    world->port = ws_server_port(world->server);
}

struct ws_world *ws_world_new(const struct ws_server_options *options, const char *tls_ca) {
    struct ws_world *world = mem_zero(1, sizeof(*world));
    uv_loop_init(&world->loop);
    world->wake = loop_timer_new(&world->loop, 5, 5, nothing, NULL);
    ws_world_listen(world, options);
    struct ws_clients_options clients = {.loop = &world->loop,
                                         .subprotocol = WS_TEST_SUBPROTOCOL,
                                         .max_message = 1 << 20,
                                         .tls_ca = tls_ca,
                                         .context = world,
                                         .callbacks = {.on_open = client_opened,
                                                       .on_message = client_message,
                                                       .on_writable = client_writable,
                                                       .on_close = client_closed}};
    if (ws_clients_new(&clients, &world->clients, &failure)) fail_msg("%s", failure.text);
    kit_after(ws_world_free, world);
    return world;
}

static void has_shut(void *context) { ((struct ws_world *)context)->shut++; }

void ws_world_shutdown_server(struct ws_world *world, int code) {
    int shut = world->shut;
    ws_server_shutdown(world->server, code, has_shut, world);
    ws_world_until(world, &world->shut, shut + 1);
    ws_server_free(world->server);
    world->server = NULL;
}

void ws_world_free(void *it) {
    FREED struct ws_world *world = it;
    kit_forget(world);
    if (world->server) ws_world_shutdown_server(world, WS_NORMAL);
    int shut = world->shut;
    ws_clients_shutdown(world->clients, has_shut, world);
    ws_world_until(world, &world->shut, shut + 1);
    ws_clients_free(world->clients);
    loop_timer_free(world->wake);
    kit_loop_end(&world->loop); /* no handle is left */
    buffer_free(&world->at_server.message);
    buffer_free(&world->at_client.message);
}

void ws_world_until(struct ws_world *world, const int *value, int least) {
    int64_t end = clock_monotonic_us() + PATIENCE_MS * 1000ll;
    while (*value < least) {
        uv_run(&world->loop, UV_RUN_ONCE);
        if (clock_monotonic_us() > end) fail_msg("%d instead of %d", *value, least);
    }
}

void ws_world_run(struct ws_world *world, int ms) {
    int64_t end = clock_monotonic_us() + ms * 1000ll;
    while (clock_monotonic_us() < end) uv_run(&world->loop, UV_RUN_ONCE);
}

void ws_world_connect(struct ws_world *world, void *context) {
    FREED char *url = mem_format("ws://127.0.0.1:%d/", world->port);
    if (ws_connect(world->clients, url, context, &failure)) fail_msg("%s", failure.text);
}

int ws_world_say(struct ws_connection *connection, const char *text) {
    FREED_BUFFER frame = {.size = 0};
    ws_frame_start(&frame);
    buffer_string(&frame, text);
    return ws_send(connection, &frame);
}

int wire_connect(struct ws_world *world, int receive_buffer) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)world->port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (receive_buffer) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

void wire_write(struct ws_world *world, int fd, const void *bytes, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t n = send(fd, (const char *)bytes + done, size - done, MSG_NOSIGNAL);
        if (n > 0) {
            done += (size_t)n;
        } else {
            if (errno != EAGAIN) return; /* the server has had enough: what it says is the test's business */
            uv_run(&world->loop, UV_RUN_ONCE);
        }
    }
}

bool wire_read(struct ws_world *world, int fd, void *bytes, size_t size) {
    int64_t end = clock_monotonic_us() + PATIENCE_MS * 1000ll;
    for (size_t done = 0; done < size;) {
        ssize_t n = recv(fd, (char *)bytes + done, size - done, 0);
        if (n > 0) {
            done += (size_t)n;
        } else {
            if (n == 0 || errno != EAGAIN) return false;
            if (clock_monotonic_us() > end) fail_msg("%zu of %zu bytes came", done, size);
            uv_run(&world->loop, UV_RUN_ONCE);
        }
    }
    return true;
}

const char *wire_response(struct ws_world *world, int fd) {
    static char text[2048];
    size_t size = 0;
    text[0] = 0;
    while (size + 1 < sizeof(text) && !strstr(text, "\r\n\r\n") && wire_read(world, fd, text + size, 1))
        text[++size] = 0;
    return text;
}

void wire_request(struct ws_world *world, int fd, const char *header_lines) {
    FREED char *request =
        mem_format("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                   "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n",
                   header_lines);
    wire_write(world, fd, request, strlen(request));
}

int wire_open(struct ws_world *world, int receive_buffer) {
    int fd = wire_connect(world, receive_buffer);
    wire_request(world, fd, "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: " WS_TEST_SUBPROTOCOL "\r\n");
    const char *response = wire_response(world, fd);
    assert_non_null(strstr(response, " 101 "));
    assert_non_null(strstr(response, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")); /* RFC 6455's example */
    assert_non_null(strstr(response, "\r\nSec-WebSocket-Protocol: " WS_TEST_SUBPROTOCOL "\r\n"));
    return fd;
}

void wire_frame(struct ws_world *world, int fd, int first_byte, const void *payload, size_t size) {
    static const uint8_t mask[4] = {0x12, 0x34, 0x56, 0x78};
    FREED_BUFFER frame = {.size = 0};
    buffer_byte(&frame, (uint8_t)first_byte);
    if (size < 126) {
        buffer_byte(&frame, (uint8_t)(0x80 | size));
    } else {
        buffer_byte(&frame, 0x80 | (size < 65536 ? 126 : 127));
        for (int shift = size < 65536 ? 8 : 56; shift >= 0; shift -= 8) buffer_byte(&frame, (uint8_t)(size >> shift));
    }
    buffer_append(&frame, mask, sizeof(mask));
    for (size_t i = 0; i < size; i++) buffer_byte(&frame, ((const uint8_t *)payload)[i] ^ mask[i % 4]);
    wire_write(world, fd, frame.data, frame.size);
}

int wire_next(struct ws_world *world, int fd, struct buffer *payload) {
    uint8_t head[2], more[8];
    size_t length;
    buffer_clear(payload);
    if (!wire_read(world, fd, head, 2)) return -1;
    length = head[1]; /* a server's frames are not masked */
    if (length >= 126) {
        size_t bytes = length == 126 ? 2 : 8;
        assert_true(length < 128);
        if (!wire_read(world, fd, more, bytes)) return -1;
        length = 0;
        for (size_t i = 0; i < bytes; i++) length = length << 8 | more[i];
    }
    assert_true(length < 1 << 24);
    uint8_t *to = buffer_reserve(payload, length + 1);
    if (!wire_read(world, fd, to, length)) return -1;
    buffer_commit(payload, length);
    return head[0];
}

void wire_expect_text(struct ws_world *world, int fd, const char *text) {
    FREED_BUFFER payload = {.size = 0};
    assert_int_equal(wire_next(world, fd, &payload), TEXT);
    assert_string_equal(buffer_cstring(&payload), text);
}

void wire_expect_close(struct ws_world *world, int fd, int code, const char *reason) {
    FREED_BUFFER payload = {.size = 0};
    assert_int_equal(wire_next(world, fd, &payload), 0x88);
    assert_true(payload.size >= 2);
    assert_int_equal(payload.data[0] << 8 | payload.data[1], code);
    wire_frame(world, fd, 0x88, payload.data, payload.size);
    assert_string_equal(buffer_cstring(&payload) + 2, reason);
    assert_int_equal(wire_next(world, fd, &payload), -1);
    close(fd);
}
