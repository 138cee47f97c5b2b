/* The opening handshake of lib/ws, against bare sockets: who is let in, who is told what, and how long it may take. */
#include "unit/kit/kit.h"
#include "unit/lib/ws/world.h"

#include <sys/socket.h>

#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define SUBPROTOCOL "Sec-WebSocket-Protocol: " WS_TEST_SUBPROTOCOL "\r\n"
#define LINES "Connection: Upgrade\r\nUpgrade: websocket\r\n" VERSION SUBPROTOCOL
#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define HOST "Host: localhost\r\n"
#define GET "GET / HTTP/1.1\r\n"

struct request {
    const char *text, *answer;
};

static void expect_answers(const struct request *cases, size_t count) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        int fd = wire_connect(world, 0);
        wire_write(world, fd, cases[i].text, strlen(cases[i].text));
        const char *response = wire_response(world, fd);
        if (strncmp(response, cases[i].answer, strlen(cases[i].answer)))
            fail_msg("case %zu: \"%s\" to \"%s\"", i, response, cases[i].text);
        char rest;
        while (wire_read(world, fd, &rest, 1)) {} /* closed: else this would be the test's time-out */
        close(fd);
    }
    assert_int_equal(world->at_server.opened, 0);
    assert_int_equal(ws_server_counts(world->server)->refused, count);
}

TEST(refuses_what_is_not_a_handshake) {
    static const struct request cases[] = {
        {"GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 426 "},
        {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi", "HTTP/1.1 426 "},
        {"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
         "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
         "HTTP/1.1 426 "},
        {GET HOST KEY "Upgrade: websocket\r\n" VERSION SUBPROTOCOL "\r\n", "HTTP/1.1 426 "},
        {GET HOST KEY "Connection: keep-alive\r\nUpgrade: websocket\r\n" VERSION SUBPROTOCOL "\r\n", "HTTP/1.1 426 "},
        {"\x16\x03\x01 hello in TLS", "HTTP/1.1 400 "},
        {"\r\n\r\n", "HTTP/1.1 400 "},
        {"GET /\r\n\r\n", "HTTP/1.1 400 "},
        {"GET / HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n", "HTTP/1.1 400 "},
    };
    expect_answers(cases, sizeof cases / sizeof *cases);
}

/* RFC 6455, 4.2.1. */
TEST(refuses_a_handshake_that_lacks_something) {
    static const struct request cases[] = {
        {"POST / HTTP/1.1\r\n" HOST KEY LINES "\r\n", "HTTP/1.1 405 Method Not Allowed\r\nAllow: GET\r\n"},
        {"get / HTTP/1.1\r\n" HOST KEY LINES "\r\n", "HTTP/1.1 405 "},
        {"GET / HTTP/1.0\r\n" HOST KEY LINES "\r\n", "HTTP/1.1 400 "},
        {"GET / HTTP/2.0\r\n" HOST KEY LINES "\r\n", "HTTP/1.1 400 "},
        {"GET / HTTP/1.1 \r\n" HOST KEY LINES "\r\n", "HTTP/1.1 400 "},
        {"GET  HTTP/1.1\r\n" HOST KEY LINES "\r\n", "HTTP/1.1 400 "},
        {"GET / HTTP/1.1\n" HOST KEY LINES "\r\n", "HTTP/1.1 400 "},
        {GET KEY LINES "\r\n", "HTTP/1.1 400 "},
        {GET "Host: \r\n" KEY LINES "\r\n", "HTTP/1.1 400 "},
        {GET HOST HOST KEY LINES "\r\n", "HTTP/1.1 400 "},
        {GET HOST LINES "\r\n", "HTTP/1.1 400 "},
        {GET HOST KEY KEY LINES "\r\n", "HTTP/1.1 400 "},
        {GET HOST "Sec-WebSocket-Key:\r\n" LINES "\r\n", "HTTP/1.1 400 "},
        {GET HOST "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j\r\n" LINES "\r\n", "HTTP/1.1 400 "},
        {GET HOST "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZSEh\r\n" LINES "\r\n", "HTTP/1.1 400 "},
        {GET HOST "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZTEyMw==\r\n" LINES "\r\n", "HTTP/1.1 400 "},
        {GET HOST "Sec-WebSocket-Key: dGhlIHNhb-BsZSBub25jZQ==\r\n" LINES "\r\n", "HTTP/1.1 400 "},
        {GET HOST KEY LINES VERSION "\r\n", "HTTP/1.1 400 "},
        {GET HOST KEY LINES "X-Smuggled: a\rb\r\n\r\n", "HTTP/1.1 400 "},
        {GET HOST KEY LINES " folded\r\n\r\n", "HTTP/1.1 400 "},
        {GET "Host : localhost\r\n" HOST KEY LINES "\r\n", "HTTP/1.1 400 "},
    };
    expect_answers(cases, sizeof cases / sizeof *cases);
}

/* The names may be in any case, the handshake cut anywhere, and the first frame right behind it. */
TEST(takes_a_handshake_however_it_comes) {
    static const char request[] =
        "GET /any?page HTTP/1.1\r\nhOsT:localhost\r\nupgrade: h2c, WebSocket\r\nCONNECTION: keep-alive\r\n"
        "Connection: upgrade\r\n" KEY "Cookie: caf\xc3\xa9\r\n"
        "Sec-WebSocket-Protocol: chat\r\n" SUBPROTOCOL VERSION "\r\n";
    static const char hello[] = "\x81\x82\x01\x01\x01\x01ih";
    struct ws_world *world = ws_world_new(NULL, NULL);
    size_t head = sizeof request - 1, size = head + sizeof hello - 1;
    FREED char *bytes = mem_format("%s%s", request, hello);
    for (size_t cut = 0; cut <= size; cut += cut < head - 6 ? 17 : 1) {
        int fd = wire_connect(world, 0), opened = world->at_server.opened;
        wire_write(world, fd, bytes, cut);
        if (cut) ws_world_run(world, 6);
        wire_write(world, fd, bytes + cut, size - cut);
        assert_non_null(strstr(wire_response(world, fd), " 101 "));
        wire_expect_text(world, fd, "hi");
        assert_int_equal(world->at_server.opened, opened + 1);
        close(fd);
    }
    int fd = wire_connect(world, 0);
    for (size_t i = 0; i < size; i++) {
        wire_write(world, fd, bytes + i, 1);
        uv_run(&world->loop, UV_RUN_NOWAIT);
    }
    assert_non_null(strstr(wire_response(world, fd), " 101 "));
    wire_expect_text(world, fd, "hi");
    close(fd);
}

TEST(a_request_has_its_limit) {
    enum { MOST = 8192 };
    struct ws_world *world = ws_world_new(NULL, NULL);
    for (int beyond = 0; beyond < 2; beyond++) {
        char *padding = mem_zero(1, MOST), *request;
        memset(padding, 'x', MOST - 1);
        int rest = MOST + beyond - (int)strlen(GET HOST KEY LINES "X-Long: \r\n\r\n");
        request = mem_format(GET HOST KEY LINES "X-Long: %.*s\r\n\r\n", rest, padding);
        FREED_BY(kit_close) int fd = wire_connect(world, 0);
        wire_write(world, fd, request, strlen(request));
        const char *response = wire_response(world, fd);
        if (!strstr(response, beyond ? " 431 " : " 101 ")) fail_msg("%s", response);
        free(request);
        free(padding);
    }
}

TEST(refuses_other_subprotocols_and_versions) {
    static const struct {
        const char *lines, *answer;
    } cases[] = {
        {VERSION, "HTTP/1.1 400 "},
        {VERSION "Sec-WebSocket-Protocol: chat\r\n", "HTTP/1.1 400 "},
        {VERSION "Sec-WebSocket-Protocol: starling.v10, starling\r\n", "HTTP/1.1 400 "},
        {"Sec-WebSocket-Version: 8\r\n" SUBPROTOCOL, "HTTP/1.1 426 "},
        {SUBPROTOCOL, "HTTP/1.1 426 "},
        {VERSION "Sec-WebSocket-Protocol: chat, " WS_TEST_SUBPROTOCOL "\r\n", "HTTP/1.1 101 "},
    };
    struct ws_world *world = ws_world_new(NULL, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int fd = wire_connect(world, 0);
        wire_request(world, fd, cases[i].lines);
        const char *response = wire_response(world, fd);
        if (strncmp(response, cases[i].answer, strlen(cases[i].answer))) fail_msg("case %zu: \"%s\"", i, response);
        close(fd);
    }
    ws_world_until(world, &world->at_server.closed, 1); /* of the one that was let in */
    assert_int_equal(world->at_server.opened, 1);
    assert_int_equal(world->at_server.code, 1006);
}

TEST(a_handshake_has_its_time) {
    struct ws_server_options options = ws_world_server_options(NULL);
    options.handshake_s = 1;
    struct ws_world *world = ws_world_new(&options, NULL);
    int64_t start = clock_monotonic_us();
    FREED_BY(kit_close) int silent = wire_connect(world, 0), slow = wire_connect(world, 0);
    const char *drip = "GET / HTTP/1.1\r\nHost: localhost\r\nX-Padding: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    char byte;
    for (; *drip && clock_monotonic_us() - start < 800000; drip++) {
        wire_write(world, slow, drip, 1);
        ws_world_run(world, 10);
    }
    assert_int_equal(recv(silent, &byte, 1, 0), -1); /* not yet */
    assert_false(wire_read(world, silent, &byte, 1));
    assert_false(wire_read(world, slow, &byte, 1));
    assert_true(clock_monotonic_us() - start < 2500000);
}

TEST(who_shakes_hands_during_the_shutdown_does_not_hold_it_up) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    FREED_BY(kit_close) int fd = wire_connect(world, 0);
    ws_world_run(world, 100); /* accepted */
    wire_request(world, fd, VERSION SUBPROTOCOL);
    ws_world_shutdown_server(world, WS_RESTART);
    assert_int_equal(world->at_server.opened, 0);
}
