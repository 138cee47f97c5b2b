/* Tests inbound.c. The server of lib/ws against bare sockets: what no well-behaved client sends, and exactly what goes over the wire. */
#include "unit/kit/kit.h"
#include "unit/lib/ws/world.h"

#include <sys/socket.h>

#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define SUBPROTOCOL "Sec-WebSocket-Protocol: " WS_TEST_SUBPROTOCOL "\r\n"

TEST(puts_fragments_together) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    FREED_BUFFER payload = {.size = 0};
    FREED_BY(kit_close) int fd = wire_open(world, 0);
    wire_frame(world, fd, TEXT_FIRST, "one, ", 5);
    wire_frame(world, fd, PING, "are you there", 13);
    assert_int_equal(wire_next(world, fd, &payload), PONG);
    assert_string_equal(buffer_cstring(&payload), "are you there");
    wire_frame(world, fd, MORE, "", 0);
    wire_frame(world, fd, MORE, "two, ", 5);
    wire_frame(world, fd, LAST, "three", 5);
    wire_expect_text(world, fd, "one, two, three");
    wire_frame(world, fd, TEXT_FIRST, "", 0);
    wire_frame(world, fd, LAST, "", 0);
    wire_expect_text(world, fd, "");
    /* Many messages in one segment, and one message in many. */
    FREED_BUFFER many = {.size = 0};
    for (int i = 0; i < 200; i++) buffer_format(&many, "%c%c%c%c%c%c%c", TEXT, 0x81, 1, 1, 1, 1, ('a' + i % 26) ^ 1);
    wire_write(world, fd, many.data, many.size);
    for (int i = 0; i < 200; i++) wire_expect_text(world, fd, (char[]){(char)('a' + i % 26), 0});
    for (size_t i = 0; i < 7 * 3; i++) {
        wire_write(world, fd, many.data + i, 1);
        ws_world_run(world, 2);
    }
    for (int i = 0; i < 3; i++) wire_expect_text(world, fd, (char[]){(char)('a' + i), 0});
}

TEST(closes_with_1009_beyond_max_message) {
    struct ws_server_options options = ws_world_server_options(NULL);
    options.max_message = 1000;
    struct ws_world *world = ws_world_new(&options, NULL);
    FREED char *text = mem_zero(1, 5000);
    memset(text, 'x', 4999);
    int fd = wire_open(world, 0);
    wire_frame(world, fd, TEXT, text, 1000);
    wire_expect_text(world, fd, text + 3999);
    wire_frame(world, fd, TEXT, text, 1001);
    wire_expect_close(world, fd, WS_TOO_BIG, "message too big");
    fd = wire_open(world, 0);
    for (int i = 0; i < 4; i++) wire_frame(world, fd, i ? MORE : TEXT_FIRST, text, 300);
    wire_expect_close(world, fd, WS_TOO_BIG, "message too big");
    fd = wire_open(world, 0); /* the head of a frame of 2^62 bytes is enough; and then it may flood as it likes */
    wire_write(world, fd, "\x81\xff\x40\0\0\0\0\0\0\0\1\2\3\4 and the first bytes", 34);
    FREED_BUFFER payload = {.size = 0};
    assert_int_equal(wire_next(world, fd, &payload), CLOSE);
    assert_memory_equal(payload.data, "\x03\xf1", 2);
    for (int i = 0; i < 200; i++) wire_write(world, fd, text, 5000);
    assert_int_equal(wire_next(world, fd, &payload), -1);
    close(fd);
    ws_world_until(world, &world->at_server.closed, 3);
    assert_int_equal(world->at_server.messages, 1);
}

/* Many clients read nothing while they send a message. If a write fails, they drop the connection and never see the close frame. */
TEST(a_client_that_sends_all_first_reads_the_close_frame) {
    enum { MEGABYTE = 1 << 20 };
    struct ws_world *world = ws_world_new(NULL, NULL);
    FREED char *text = mem_zero(1, MEGABYTE);
    int fd = wire_open(world, 0);
    wire_write(world, fd, "\x81\xff\0\0\0\0\0\x20\0\0\1\2\3\4", 14); /* two megabytes follow */
    for (int i = 0; i < 2; i++) wire_write(world, fd, text, MEGABYTE);
    ws_world_run(world, 100); /* the server reads what is left in the kernel */
    assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), 1);
    wire_expect_close(world, fd, WS_TOO_BIG, "message too big");
    ws_world_until(world, &world->at_server.closed, 1);
}

TEST(closes_on_frames_that_are_not_text) {
    static const struct {
        int first_byte;
        const char *payload;
        int code;
        const char *reason;
    } cases[] = {
        {BINARY, "bytes", 1003, "text frames only"}, {TEXT, "bad \xc3\x28 text", 1007, "bad utf8"},
        {TEXT, "cut \xe2\x82", 1007, "bad utf8"},    {0x83, "reserved", 1002, "bad opc"},
        {0xC1, "compressed?", 1002, "rsv bits"},     {LAST, "of nothing", 1002, "bad cont"},
        {0x09, "half a ping", 1002, "frag ctl"},     {0x99, "reserved bit", 1002, "rsv bits"},
        {0xC9, "packed?", 1002, "rsv bits"},         {0x8B, "reserved", 1002, "bad opc"},
    };
    struct ws_world *world = ws_world_new(NULL, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int fd = wire_open(world, 0);
        wire_frame(world, fd, cases[i].first_byte, cases[i].payload, strlen(cases[i].payload));
        wire_expect_close(world, fd, cases[i].code, cases[i].reason);
        ws_world_until(world, &world->at_server.closed, (int)i + 1);
    }
    assert_int_equal(world->at_server.messages, 0);
}

/* RFC 6455, 5.1. A mask of zeros is one. */
TEST(closes_on_frames_that_are_not_masked) {
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {{"\x81\x05hello", 7},
                 {"\x81\x00", 2},
                 {"\x89\x00", 2},
                 {"\x8a\x04pong", 6},
                 {"\x88\x02\x03\xe8", 4},
                 {"\x01\x7e\x01\x00", 4},
                 {"\x81\x7f\0\0\0\0\0\1\0\0", 10}};
    struct ws_world *world = ws_world_new(NULL, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int fd = wire_open(world, 0);
        wire_write(world, fd, "\x81\x82\0\0\0\0ok", 8);
        wire_expect_text(world, fd, "ok");
        wire_write(world, fd, cases[i].bytes, cases[i].size);
        wire_expect_close(world, fd, 1002, "not masked");
        ws_world_until(world, &world->at_server.closed, (int)i + 1);
        assert_int_equal(world->at_server.code, 1006);
    }
    assert_int_equal(world->at_server.messages, sizeof(cases) / sizeof(*cases));
}

TEST(answers_a_close_and_passes_its_code_on) {
    static const struct {
        const char *payload;
        size_t size;
        int code;
    } cases[] = {{"\x03\xe8", 2, 1000}, {"\x0f\xa0 bye", 6, 4000},
                 {"", 0, 1005},         {"\x03\xe9 going away", 13, 1001},
                 {"\x03\xf3", 2, 1011}, {"\x03\xf4", 2, 1012},
                 {"\x03\xf5", 2, 1013}, {"\x03\xf6 gate", 7, 1014},
                 {"\x0b\xb8", 2, 3000}, {"\x13\x87 \xe2\x82\xac", 6, 4999}};
    struct ws_world *world = ws_world_new(NULL, NULL);
    FREED_BUFFER payload = {.size = 0};
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
}

TEST(refuses_a_close_that_says_what_none_may) {
    static const struct {
        const char *payload;
        size_t size;
        int code;
        const char *reason;
    } cases[] = {
        {"\x03", 1, 1002, "bad close code"},           {"\x00\x00", 2, 1002, "bad close code"},
        {"\x03\xe7", 2, 1002, "bad close code"},       {"\x03\xec", 2, 1002, "bad close code"},
        {"\x03\xed", 2, 1002, "bad close code"},       {"\x03\xee", 2, 1002, "bad close code"},
        {"\x03\xf7", 2, 1002, "bad close code"},       {"\x03\xf8", 2, 1002, "bad close code"},
        {"\x0b\xb7", 2, 1002, "bad close code"},       {"\x13\x88", 2, 1002, "bad close code"},
        {"\x03\xe8 caf\xe9", 7, 1007, "bad utf8"},     {"\x03\xe8\xe2\x82", 4, 1007, "bad utf8"},
        {"\x03\xe8\xed\xa0\x80", 5, 1007, "bad utf8"},
    };
    struct ws_world *world = ws_world_new(NULL, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int fd = wire_open(world, 0);
        wire_frame(world, fd, CLOSE, cases[i].payload, cases[i].size);
        wire_expect_close(world, fd, cases[i].code, cases[i].reason);
        ws_world_until(world, &world->at_server.closed, (int)i + 1);
        assert_int_equal(world->at_server.code, 1006);
    }
}

TEST(answers_every_ping) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    FREED_BUFFER payload = {0}, pings = {0};
    FREED_BY(kit_close) int fd = wire_open(world, 0);
    for (int i = 0; i < 20; i++) buffer_format(&pings, "%c%c%c%c%c%c%c", PING, 0x81, 1, 1, 1, 1, ('a' + i) ^ 1);
    wire_write(world, fd, pings.data, pings.size);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(wire_next(world, fd, &payload), PONG);
        assert_string_equal(buffer_cstring(&payload), ((char[]){(char)('a' + i), 0}));
    }
    wire_frame(world, fd, TEXT_FIRST, "h", 1);
    for (size_t i = 0; i < 7; i++) { /* in the middle of a message, and cut anywhere */
        wire_write(world, fd, pings.data + i, 1);
        ws_world_run(world, 2);
    }
    assert_int_equal(wire_next(world, fd, &payload), PONG);
    wire_frame(world, fd, LAST, "", 0);
    wire_expect_text(world, fd, "h");
}

static void close_with_long_reason(struct ws_world *world, struct ws_connection *connection, const char *text,
                                   size_t size) {
    char reason[201] = {0};
    memset(reason, 'r', 200);
    ws_close(connection, WS_RESTART, reason);
}

TEST(cuts_a_reason_that_is_too_long) {
    char reason[124] = {0};
    memset(reason, 'r', 123);
    struct ws_world *world = ws_world_new(NULL, NULL);
    world->when_message = close_with_long_reason;
    int fd = wire_open(world, 0);
    wire_frame(world, fd, TEXT, "x", 1);
    wire_expect_close(world, fd, WS_RESTART, reason);
}

TEST(a_peer_that_does_not_answer_a_close_is_dropped) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    FREED_BY(kit_close) int fd = wire_open(world, 4096), deaf = wire_open(world, 0);
    ws_close(world->at_server.connection, WS_ENDED, NULL);
    ws_world_run(world, 2500);
    assert_int_equal(world->at_server.closed, 0);
    ws_world_until(world, &world->at_server.closed, 1);
    assert_int_equal(world->at_server.code, 1006);
}

/* ---- time-outs ---- */

TEST(a_dead_peer_is_pinged_and_dropped) {
    struct ws_server_options options = ws_world_server_options(NULL);
    options.ping_s = 1;
    struct ws_world *world = ws_world_new(&options, NULL);
    FREED_BUFFER payload = {.size = 0};
    FREED_BY(kit_close) int fd = wire_open(world, 0);
    for (int i = 0; i < 2; i++) { /* as long as it answers, it stays */
        assert_int_equal(wire_next(world, fd, &payload), PING);
        wire_frame(world, fd, PONG, payload.data, payload.size);
    }
    assert_int_equal(wire_next(world, fd, &payload), PING);
    wire_frame(world, fd, TEXT, "any message is an answer", 24);
    wire_expect_text(world, fd, "any message is an answer");
    int64_t heard = clock_monotonic_us();
    assert_int_equal(wire_next(world, fd, &payload), PING);
    ws_world_until(world, &world->at_server.closed, 1);
    assert_true(clock_monotonic_us() - heard > 1900000);
    assert_true(clock_monotonic_us() - heard < 4000000);
    assert_int_equal(world->at_server.code, 1006);
}

/* Nobody waits for the peer's answer: who breaks the protocol may not know how to give one. */
TEST(who_breaks_the_protocol_is_closed_at_once) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    FREED_BUFFER payload = {.size = 0};
    FREED_BY(kit_close) int fd = wire_open(world, 0);
    struct ws_connection *connection = world->at_server.connection;
    int64_t start = clock_monotonic_us();
    wire_frame(world, fd, 0xF1, "reserved", 8);
    wire_frame(world, fd, TEXT, "does not count", 14);
    assert_int_equal(wire_next(world, fd, &payload), CLOSE);
    assert_int_equal(payload.data[0] << 8 | payload.data[1], 1002);
    assert_int_equal(world->at_server.closed, 1);
    assert_int_equal(world->at_server.code, 1006);
    assert_false(ws_ready(connection)); /* it is there until the peer has seen the end */
    assert_int_equal(ws_world_say(connection, "too late"), -EPIPE);
    ws_close(connection, WS_RESTART, "too late");
    assert_int_equal(wire_next(world, fd, &payload), -1);
    assert_true(clock_monotonic_us() - start < 1000000);
    assert_int_equal(world->at_server.messages, 0);
    ws_world_shutdown_server(world, WS_NORMAL); /* and not longer than 2 s, though the peer does nothing */
    assert_true(clock_monotonic_us() - start < 4000000);
}
