/* The server of lib/ws against bare sockets: what no well-behaved client sends, and exactly what goes over the wire. */
#include "ws_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define SUBPROTOCOL "Sec-WebSocket-Protocol: " WS_TEST_SUBPROTOCOL "\r\n"

static void expect_text(struct ws_world *world, int fd, const char *text) {
    struct buffer payload = {0};
    assert_int_equal(wire_next(world, fd, &payload), TEXT);
    assert_string_equal(buffer_cstring(&payload), text);
    buffer_free(&payload);
}

static void refuses_what_is_not_a_handshake(void **state) {
    static const struct {
        const char *request, *answer;
    } cases[] = {
        {"GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 426 "},
        {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi", "HTTP/1.1 426 "},
        {"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
         "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
         "HTTP/1.1 426 "},
        {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello in TLS\r\n\r\n", ""},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ""},
    };
    struct ws_world *world = ws_world_new(NULL, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int fd = wire_connect(world, 0);
        wire_write(world, fd, cases[i].request, strlen(cases[i].request));
        const char *response = wire_response(world, fd);
        if (strncmp(response, cases[i].answer, strlen(cases[i].answer)) ||
            (!*cases[i].answer && strstr(response, " 101 ")))
            fail_msg("case %zu: \"%s\"", i, response);
        char rest[64];
        while (wire_read(world, fd, rest, 1)) {} /* closed: else this would be the test's time-out */
        close(fd);
    }
    assert_int_equal(world->at_server.opened, 0);
    ws_world_free(world);
}

static void refuses_other_subprotocols_and_versions(void **state) {
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
    ws_world_free(world);
}

static void puts_fragments_together(void **state) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    struct buffer payload = {0};
    int fd = wire_open(world, 0);
    wire_frame(world, fd, TEXT_FIRST, "one, ", 5);
    wire_frame(world, fd, PING, "are you there", 13);
    assert_int_equal(wire_next(world, fd, &payload), PONG);
    assert_string_equal(buffer_cstring(&payload), "are you there");
    wire_frame(world, fd, MORE, "", 0);
    wire_frame(world, fd, MORE, "two, ", 5);
    wire_frame(world, fd, LAST, "three", 5);
    expect_text(world, fd, "one, two, three");
    wire_frame(world, fd, TEXT_FIRST, "", 0);
    wire_frame(world, fd, LAST, "", 0);
    expect_text(world, fd, "");
    /* Many messages in one segment, and one message in many. */
    struct buffer many = {0};
    for (int i = 0; i < 200; i++) buffer_format(&many, "%c%c%c%c%c%c%c", TEXT, 0x81, 1, 1, 1, 1, ('a' + i % 26) ^ 1);
    wire_write(world, fd, many.data, many.size);
    for (int i = 0; i < 200; i++) expect_text(world, fd, (char[]){(char)('a' + i % 26), 0});
    for (size_t i = 0; i < 7 * 3; i++) {
        wire_write(world, fd, many.data + i, 1);
        ws_world_run(world, 2);
    }
    for (int i = 0; i < 3; i++) expect_text(world, fd, (char[]){(char)('a' + i), 0});
    buffer_free(&many);
    buffer_free(&payload);
    close(fd);
    ws_world_free(world);
}

static void closes_with_1009_beyond_max_message(void **state) {
    struct ws_server_options options = ws_world_server_options(NULL);
    options.max_message = 1000;
    struct ws_world *world = ws_world_new(&options, NULL);
    char *text = mem_zero(1, 5000);
    memset(text, 'x', 4999);
    int fd = wire_open(world, 0);
    wire_frame(world, fd, TEXT, text, 1000);
    expect_text(world, fd, text + 3999);
    wire_frame(world, fd, TEXT, text, 1001);
    wire_expect_close(world, fd, WS_TOO_BIG, "message too big");
    fd = wire_open(world, 0);
    for (int i = 0; i < 4; i++) wire_frame(world, fd, i ? MORE : TEXT_FIRST, text, 300);
    wire_expect_close(world, fd, WS_TOO_BIG, "message too big");
    fd = wire_open(world, 0); /* the head of a frame of 2^62 bytes is enough; and then it may flood as it likes */
    wire_write(world, fd, "\x81\xff\x40\0\0\0\0\0\0\0\1\2\3\4 and the first bytes", 34);
    struct buffer payload = {0};
    assert_int_equal(wire_next(world, fd, &payload), CLOSE);
    assert_memory_equal(payload.data, "\x03\xf1", 2);
    for (int i = 0; i < 200; i++) wire_write(world, fd, text, 5000);
    assert_int_equal(wire_next(world, fd, &payload), -1);
    close(fd);
    ws_world_until(world, &world->at_server.closed, 3);
    assert_int_equal(world->at_server.messages, 1);
    buffer_free(&payload);
    free(text);
    ws_world_free(world);
}

static void closes_on_frames_that_are_not_text(void **state) {
    static const struct {
        int first_byte;
        const char *payload;
        int code;
        const char *reason;
    } cases[] = {
        {BINARY, "bytes", 1003, "text frames only"},  {TEXT, "bad \xc3\x28 text", 1007, "bad utf8"},
        {TEXT, "cut \xe2\x82", 1007, "partial utf8"}, {0x83, "reserved", 1002, "bad opc"},
        {0xC1, "compressed?", 1002, "rsv bits"},      {LAST, "of nothing", 1002, "bad cont"},
        {0x09, "half a ping", 1002, "frag ctl"},
    };
    struct ws_world *world = ws_world_new(NULL, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int fd = wire_open(world, 0);
        wire_frame(world, fd, cases[i].first_byte, cases[i].payload, strlen(cases[i].payload));
        wire_expect_close(world, fd, cases[i].code, cases[i].reason);
        ws_world_until(world, &world->at_server.closed, (int)i + 1);
    }
    assert_int_equal(world->at_server.messages, 0);
    ws_world_free(world);
}

static void answers_a_close_and_passes_its_code_on(void **state) {
    static const struct {
        const char *payload;
        size_t size;
        int code;
    } cases[] = {{"\x03\xe8", 2, 1000}, {"\x0f\xa0 bye", 6, 4000}, {"", 0, 1005}, {"\x03\xe9 going away", 13, 1001}};
    struct ws_world *world = ws_world_new(NULL, NULL);
    struct buffer payload = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int fd = wire_open(world, 0);
        wire_frame(world, fd, CLOSE, cases[i].payload, cases[i].size);
        assert_int_equal(wire_next(world, fd, &payload), CLOSE);
        assert_int_equal(payload.size, cases[i].size);
        if (payload.size) assert_memory_equal(payload.data, cases[i].payload, payload.size);
        assert_int_equal(wire_next(world, fd, &payload), -1); /* one close frame, not two */
        close(fd);
        ws_world_until(world, &world->at_server.closed, (int)i + 1);
        assert_int_equal(world->at_server.code, cases[i].code);
    }
    buffer_free(&payload);
    ws_world_free(world);
}

static void close_with_long_reason(struct ws_world *world, struct ws_connection *connection, const char *text,
                                   size_t size) {
    char reason[201] = {0};
    memset(reason, 'r', 200);
    ws_close(connection, WS_RESTART, reason);
}

static void cuts_a_reason_that_is_too_long(void **state) {
    char reason[124] = {0};
    memset(reason, 'r', 123);
    struct ws_world *world = ws_world_new(NULL, NULL);
    world->when_message = close_with_long_reason;
    int fd = wire_open(world, 0);
    wire_frame(world, fd, TEXT, "x", 1);
    wire_expect_close(world, fd, WS_RESTART, reason);
    ws_world_free(world);
}

/* ---- slow readers ---- */

enum { BIG = 60000 };

static struct buffer big_frame(int number) {
    struct buffer frame = {0};
    ws_frame_start(&frame);
    buffer_format(&frame, "%08d", number);
    while (frame.size < WS_HEADROOM + BIG) buffer_byte(&frame, (uint8_t)('a' + (frame.size * 7 + (size_t)number) % 26));
    return frame;
}

static int big_send(struct ws_connection *connection, int number) {
    struct buffer frame = big_frame(number);
    int result = ws_send(connection, &frame);
    buffer_free(&frame);
    return result;
}

static void big_expect(struct ws_world *world, int fd, int number) {
    struct buffer payload = {0}, expected = big_frame(number);
    assert_int_equal(wire_next(world, fd, &payload), TEXT);
    assert_int_equal(payload.size, BIG);
    assert_memory_equal(payload.data, expected.data + WS_HEADROOM, BIG);
    buffer_free(&expected);
    buffer_free(&payload);
}

static void a_slow_reader_gets_EAGAIN_and_then_an_intact_stream(void **state) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    int fd = wire_open(world, 4096), sent = 0, read = 0, writable;
    struct ws_connection *connection = world->at_server.connection;
    for (int round = 1; round <= 4; round++) {
        do { /* the kernel makes its buffers bigger, for a while */
            writable = world->at_server.writable;
            int result;
            while (!(result = big_send(connection, sent))) assert_true(++sent < 2000);
            assert_int_equal(result, -EAGAIN);
            ws_world_run(world, 50);
        } while (world->at_server.writable > writable);
        for (int i = 0; i < 20; i++) { /* and so it stays, for small frames too */
            assert_int_equal(ws_world_say(connection, "small"), -EAGAIN);
            ws_world_run(world, 2);
        }
        assert_int_equal(world->at_server.writable, writable);
        for (; read < sent; read++) big_expect(world, fd, read);
        ws_world_until(world, &world->at_server.writable, writable + 1);
    }
    assert_int_equal(ws_world_say(connection, "the newest truth"), 0);
    expect_text(world, fd, "the newest truth");
    assert_int_equal(world->at_server.writable, writable + 1); /* once for each time of -EAGAIN, not for every frame */
    close(fd);
    ws_world_free(world);
}

static void a_slow_reader_is_closed_behind_what_it_was_sent(void **state) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    int fd = wire_open(world, 4096), sent = 0;
    while (!big_send(world->at_server.connection, sent)) sent++;
    ws_close(world->at_server.connection, WS_TOO_SLOW, "too slow");
    ws_world_run(world, 100);
    for (int i = 0; i < sent; i++) big_expect(world, fd, i);
    wire_expect_close(world, fd, WS_TOO_SLOW, "too slow");
    ws_world_until(world, &world->at_server.closed, 1);
    assert_int_equal(world->at_server.code, WS_TOO_SLOW); /* its answer came */
    ws_world_free(world);
}

static void a_peer_that_does_not_answer_a_close_is_dropped(void **state) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    int fd = wire_open(world, 4096), deaf = wire_open(world, 0);
    ws_close(world->at_server.connection, WS_SUPERSEDED, NULL);
    ws_world_run(world, 2500);
    assert_int_equal(world->at_server.closed, 0);
    ws_world_until(world, &world->at_server.closed, 1);
    assert_int_equal(world->at_server.code, 1006);
    close(deaf);
    close(fd);
    ws_world_free(world);
}

static void nobody_holds_up_the_shutdown(void **state) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    struct buffer payload = {0};
    int deaf = wire_open(world, 0), slow = wire_open(world, 4096), half = wire_connect(world, 0);
    while (!big_send(world->at_server.connection, 1)) {}
    wire_write(world, half, "GET / HTTP/1.1\r\n", 16);
    ws_world_run(world, 50);
    int64_t start = clock_monotonic_us();
    ws_world_shutdown_server(world, WS_RESTART);
    assert_true(clock_monotonic_us() - start < 7000000);
    assert_int_equal(world->at_server.closed, 2); /* half was never open */
    assert_int_equal(wire_next(world, deaf, &payload), CLOSE);
    assert_memory_equal(payload.data, "\x03\xf4", 2); /* 1012 */
    assert_int_equal(wire_next(world, deaf, &payload), -1);
    buffer_free(&payload);
    close(deaf);
    close(slow);
    close(half);
    ws_world_free(world);
}

static void stop_reading(struct ws_world *world, struct ws_connection *connection, const char *text, size_t size) {
    ws_read(connection, false);
}

static void who_shakes_hands_during_the_shutdown_does_not_hold_it_up(void **state) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    int fd = wire_connect(world, 0);
    ws_world_run(world, 100); /* accepted */
    wire_request(world, fd, VERSION SUBPROTOCOL);
    ws_world_shutdown_server(world, WS_RESTART);
    assert_int_equal(world->at_server.opened, 0);
    close(fd);
    ws_world_free(world);
}

static void reading_stops_and_goes_on(void **state) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    struct buffer many = {0};
    int fd = wire_open(world, 0);
    world->when_message = stop_reading;
    /* Together, so that some of them are with libwebsockets already when reading stops. */
    for (int i = 0; i < 100; i++) buffer_format(&many, "%c%c%c%c%c%c%c", TEXT, 0x81, 1, 1, 1, 1, ('a' + i % 26) ^ 1);
    wire_write(world, fd, many.data, many.size);
    ws_world_until(world, &world->at_server.messages, 1);
    int pauses = 0;
    while (world->at_server.messages < 100) {
        int now = world->at_server.messages;
        ws_world_run(world, 5);
        assert_int_equal(world->at_server.messages, now);
        ws_read(world->at_server.connection, true);
        ws_world_until(world, &world->at_server.messages, now + 1);
        pauses++;
    }
    assert_true(pauses >= 4);
    world->when_message = NULL;
    ws_read(world->at_server.connection, true);
    wire_frame(world, fd, TEXT, "the end", 7);
    expect_text(world, fd, "the end");
    ws_read(world->at_server.connection, false);
    ws_close(world->at_server.connection, WS_NORMAL, NULL); /* reads again, or the answer would not be seen */
    wire_expect_close(world, fd, WS_NORMAL, "");
    ws_world_until(world, &world->at_server.closed, 1);
    assert_int_equal(world->at_server.code, WS_NORMAL);
    buffer_free(&many);
    ws_world_free(world);
}

/* ---- time-outs ---- */

static void a_handshake_has_its_time(void **state) {
    struct ws_server_options options = ws_world_server_options(NULL);
    options.handshake_s = 1;
    struct ws_world *world = ws_world_new(&options, NULL);
    int64_t start = clock_monotonic_us();
    int silent = wire_connect(world, 0), slow = wire_connect(world, 0);
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
    close(silent);
    close(slow);
    ws_world_free(world);
}

static void a_dead_peer_is_pinged_and_dropped(void **state) {
    struct ws_server_options options = ws_world_server_options(NULL);
    options.ping_s = 1;
    struct ws_world *world = ws_world_new(&options, NULL);
    struct buffer payload = {0};
    int fd = wire_open(world, 0);
    for (int i = 0; i < 2; i++) { /* as long as it answers, it stays */
        assert_int_equal(wire_next(world, fd, &payload), PING);
        wire_frame(world, fd, PONG, payload.data, payload.size);
    }
    assert_int_equal(wire_next(world, fd, &payload), PING);
    wire_frame(world, fd, TEXT, "any message is an answer", 24);
    expect_text(world, fd, "any message is an answer");
    int64_t heard = clock_monotonic_us();
    assert_int_equal(wire_next(world, fd, &payload), PING);
    ws_world_until(world, &world->at_server.closed, 1);
    assert_true(clock_monotonic_us() - heard > 1900000);
    assert_true(clock_monotonic_us() - heard < 4000000);
    assert_int_equal(world->at_server.code, 1006);
    buffer_free(&payload);
    close(fd);
    ws_world_free(world);
}

/* ---- descriptors ---- */

static void a_flood_of_pings_is_closed(void **state) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    struct buffer payload = {0};
    int fd = wire_open(world, 0), pongs = 0, first = 0;
    ws_world_until(world, &world->at_server.opened, 1);
    for (int sent = 0; sent < 2000 && first != CLOSE; sent++) {
        wire_frame(world, fd, PING, "ping", 4);
        first = wire_next(world, fd, &payload);
        pongs += first == PONG;
    }
    assert_int_equal(first, CLOSE);
    assert_int_equal(payload.data[0] << 8 | payload.data[1], WS_POLICY);
    assert_true(pongs >= 100 && pongs <= 300);
    assert_int_equal(ws_server_counts(world->server)->floods, 1);
    close(fd);
    ws_world_until(world, &world->at_server.closed, 1);
    ws_world_free(world);
    buffer_free(&payload);
}

/* One read, one pong a turn, and another ping is always there: libwebsockets never comes to say that it is writable. */
static void a_flood_without_a_pause_is_closed(void **state) {
    static const int kinds[] = {PING, PONG};
    for (size_t i = 0; i < 2; i++) {
        struct ws_world *world = ws_world_new(NULL, NULL);
        struct buffer many = {0};
        int fd = wire_open(world, 0);
        ws_world_until(world, &world->at_server.opened, 1);
        for (int n = 0; n < 10000; n++) buffer_format(&many, "%c%c%c%c%c%c", kinds[i], 0x80, 1, 1, 1, 1);
        int64_t end = clock_monotonic_us() + 10000000;
        while (!ws_server_counts(world->server)->floods && clock_monotonic_us() < end) {
            char pongs[4096];
            while (recv(fd, pongs, sizeof(pongs), 0) > 0) {}
            wire_write(world, fd, many.data, many.size);
        }
        assert_int_equal(ws_server_counts(world->server)->floods, 1);
        struct buffer payload = {0};
        int first;
        do first = wire_next(world, fd, &payload);
        while (first == PONG);
        assert_int_equal(first, CLOSE);
        assert_int_equal(payload.data[0] << 8 | payload.data[1], WS_POLICY);
        assert_string_equal(buffer_cstring(&payload) + 2, "too_many_pings");
        close(fd);
        ws_world_until(world, &world->at_server.closed, 1);
        buffer_free(&payload);
        buffer_free(&many);
        ws_world_free(world);
    }
}

static void say_nothing(struct ws_world *world, struct ws_connection *connection, const char *text, size_t size) {}

static void messages_are_no_flood(void **state) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    char text[1000];
    memset(text, 'x', sizeof(text));
    int fd = wire_open(world, 0), sent = 0;
    for (int64_t end = clock_monotonic_us() + 4000000; clock_monotonic_us() < end; sent++) {
        wire_frame(world, fd, TEXT, text, sizeof(text));
        struct buffer payload = {0};
        assert_int_equal(wire_next(world, fd, &payload), TEXT);
        buffer_free(&payload);
    }
    assert_true(sent > 100);
    assert_int_equal(ws_server_counts(world->server)->floods, 0);
    close(fd);
    ws_world_free(world);
}

/* Whoever speaks goes to the end of the queue in which connections wait to be heard of, but not of that of who is looked at. */
static void a_flood_among_messages_is_closed(void **state) {
    enum { OTHERS = 7, PONGS = 2000 };
    struct ws_server_options options = ws_world_server_options(NULL);
    struct ws_world *world = ws_world_new(&options, NULL);
    struct buffer many = {0};
    int others[OTHERS], fd;
    world->when_message = say_nothing;
    for (int i = 0; i < OTHERS; i++) others[i] = wire_open(world, 0);
    fd = wire_open(world, 0);
    for (int n = 0; n < PONGS; n++) buffer_format(&many, "%c%c%c%c%c%c", PONG, 0x80, 1, 1, 1, 1);
    int64_t end = clock_monotonic_us() + 10000000;
    while (!ws_server_counts(world->server)->floods && clock_monotonic_us() < end) {
        for (int i = 0; i < OTHERS; i++) {
            int heard = world->at_server.messages;
            wire_frame(world, others[i], TEXT, "here", 4);
            ws_world_until(world, &world->at_server.messages, heard + 1);
        }
        wire_write(world, fd, many.data, many.size);
        wire_frame(world, fd, TEXT, "here", 4);
        ws_world_run(world, 10);
    }
    assert_int_equal(ws_server_counts(world->server)->floods, 1);
    wire_expect_close(world, fd, WS_POLICY, "too_many_pings");
    for (int i = 0; i < OTHERS; i++) close(others[i]);
    ws_world_until(world, &world->at_server.closed, OTHERS + 1);
    buffer_free(&many);
    ws_world_free(world);
}

/* A loop that was held up looks first and reads then. */
static void a_message_that_nobody_has_read_is_no_flood(void **state) {
    enum { LONG = 100000, ALONE_MS = 1500 };
    struct ws_server_options options = ws_world_server_options(NULL);
    options.max_message = LONG;
    struct ws_world *world = ws_world_new(&options, NULL);
    char *text = mem_alloc(LONG);
    memset(text, 'x', LONG);
    int fd = wire_open(world, 0);
    world->when_message = say_nothing;
    ws_world_run(world, ALONE_MS); /* looked at once */
    wire_frame(world, fd, TEXT, text, LONG);
    usleep(ALONE_MS * 1000);
    ws_world_until(world, &world->at_server.messages, 1);
    assert_int_equal(ws_server_counts(world->server)->floods, 0);
    free(text);
    close(fd);
    ws_world_free(world);
}

static void a_message_in_too_many_pieces_is_closed(void **state) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    int fd = wire_open(world, 0);
    for (int i = 0; i < 2001; i++) wire_frame(world, fd, i ? MORE : TEXT_FIRST, "", 0);
    wire_expect_close(world, fd, WS_POLICY, "too_many_fragments");
    assert_int_equal(ws_server_counts(world->server)->floods, 1);
    assert_int_equal(world->at_server.messages, 0);
    ws_world_free(world);
}

static void nothing_is_sent_behind_a_close_of_the_librarys(void **state) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    struct buffer payload = {0};
    int fd = wire_open(world, 0);
    wire_frame(world, fd, 0x83, "reserved", 8);
    assert_int_equal(wire_next(world, fd, &payload), CLOSE);
    assert_int_equal(payload.data[0] << 8 | payload.data[1], 1002);
    assert_int_equal(world->at_server.closed, 0); /* it waits for the answer */
    assert_false(ws_ready(world->at_server.connection));
    assert_int_equal(ws_world_say(world->at_server.connection, "too late"), -EPIPE);
    ws_close(world->at_server.connection, WS_RESTART, "too late");
    wire_frame(world, fd, CLOSE, payload.data, payload.size);
    assert_int_equal(wire_next(world, fd, &payload), -1);
    ws_world_until(world, &world->at_server.closed, 1);
    buffer_free(&payload);
    close(fd);
    ws_world_free(world);
}

static void without_descriptors_it_waits_and_does_not_spin(void **state) {
    enum { MANY = 10 };
    struct ws_world *world = ws_world_new(NULL, NULL);
    struct rlimit limit, none;
    int fds[MANY], lowest = dup(0);
    for (int i = 0; i < MANY; i++) fds[i] = wire_connect(world, 0);
    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = (rlim_t)lowest;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    clock_t start = clock();
    ws_world_run(world, 500);
    clock_t used = clock() - start;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_true(used < CLOCKS_PER_SEC / 4);
    for (int i = 0; i < MANY; i++) wire_request(world, fds[i], VERSION SUBPROTOCOL);
    ws_world_until(world, &world->at_server.opened, MANY);
    for (int i = 0; i < MANY; i++) close(fds[i]);
    ws_world_until(world, &world->at_server.closed, MANY);
    ws_world_free(world);
}

static void without_descriptors_it_stops_listening_and_nothing_is_left(void **state) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    struct rlimit limit, none;
    int lowest = dup(0), fd = wire_connect(world, 0);
    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = (rlim_t)lowest;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    ws_world_run(world, 100); /* it pauses */
    assert_int_equal(ws_server_accept(world->server, false), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ws_world_free(world);
    close(fd);
}

static int descriptors(void) {
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void no_descriptor_is_left(void **state) {
    int before = descriptors();
    struct ws_world *world = ws_world_new(NULL, NULL);
    for (int i = 0; i < 20; i++) close(wire_open(world, 0));
    ws_world_until(world, &world->at_server.closed, 20);
    ws_world_free(world);
    assert_int_equal(descriptors(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_what_is_not_a_handshake),
        cmocka_unit_test(refuses_other_subprotocols_and_versions),
        cmocka_unit_test(puts_fragments_together),
        cmocka_unit_test(closes_with_1009_beyond_max_message),
        cmocka_unit_test(closes_on_frames_that_are_not_text),
        cmocka_unit_test(answers_a_close_and_passes_its_code_on),
        cmocka_unit_test(cuts_a_reason_that_is_too_long),
        cmocka_unit_test(a_slow_reader_gets_EAGAIN_and_then_an_intact_stream),
        cmocka_unit_test(a_slow_reader_is_closed_behind_what_it_was_sent),
        cmocka_unit_test(a_peer_that_does_not_answer_a_close_is_dropped),
        cmocka_unit_test(nobody_holds_up_the_shutdown),
        cmocka_unit_test(who_shakes_hands_during_the_shutdown_does_not_hold_it_up),
        cmocka_unit_test(reading_stops_and_goes_on),
        cmocka_unit_test(a_handshake_has_its_time),
        cmocka_unit_test(a_dead_peer_is_pinged_and_dropped),
        cmocka_unit_test(a_flood_of_pings_is_closed),
        cmocka_unit_test(a_flood_without_a_pause_is_closed),
        cmocka_unit_test(messages_are_no_flood),
        cmocka_unit_test(a_flood_among_messages_is_closed),
        cmocka_unit_test(a_message_that_nobody_has_read_is_no_flood),
        cmocka_unit_test(a_message_in_too_many_pieces_is_closed),
        cmocka_unit_test(nothing_is_sent_behind_a_close_of_the_librarys),
        cmocka_unit_test(without_descriptors_it_waits_and_does_not_spin),
        cmocka_unit_test(without_descriptors_it_stops_listening_and_nothing_is_left),
        cmocka_unit_test(no_descriptor_is_left),
    };
    return cmocka_run_group_tests_name("ws against bare sockets", tests, NULL, NULL);
}
