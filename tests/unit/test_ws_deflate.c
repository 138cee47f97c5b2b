/* permessage-deflate of lib/ws against bare sockets and zlib: what is agreed on, and messages both ways. */
#include "ws_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define ZLIB_CONST
#include <zlib.h>

#include "base/config.h"
#include "base/mem.h"
#include "ws/packer.h"

enum { PACKED = 0xC1, PACKED_FIRST = 0x41 };

#define UPGRADE "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: " WS_TEST_SUBPROTOCOL "\r\n"
#define OFFER(text) UPGRADE "Sec-WebSocket-Extensions: " text "\r\n"
#define ANSWER                                                                                                         \
    "\r\nSec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n"

static struct ws_world *world_new(void) {
    struct ws_server_options options = ws_world_server_options(NULL);
    options.deflate = true;
    options.max_message = 8192;
    return ws_world_new(&options, NULL);
}

static int open_offering(struct ws_world *world, const char *lines, bool agreed) {
    int fd = wire_connect(world, 0);
    wire_request(world, fd, lines);
    const char *response = wire_response(world, fd);
    if (!strstr(response, " 101 ") || !strstr(response, ANSWER) == agreed) fail_msg("\"%s\": \"%s\"", lines, response);
    const char *extensions = strstr(response, "Extensions");
    if (!agreed) assert_null(extensions);
    if (agreed) assert_null(strstr(extensions + 1, "Extensions"));
    return fd;
}

/* A message's payload, ended as RFC 7692 wants it. */
static struct buffer pack(const void *text, size_t size, int flush) {
    z_stream stream = {.next_in = text, .avail_in = (uInt)size};
    struct buffer out = {0};
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.avail_out = (uInt)(size + 1000);
    stream.next_out = buffer_reserve(&out, size + 1000);
    deflate(&stream, flush);
    assert_int_equal(stream.avail_in, 0);
    buffer_commit(&out, stream.total_out - (flush == Z_SYNC_FLUSH ? 4 : 0));
    if (flush == Z_FINISH) buffer_byte(&out, 0);
    deflateEnd(&stream);
    return out;
}

static void expect(struct ws_world *world, int fd, int first, const char *text) {
    struct buffer payload = {0};
    assert_int_equal(wire_next(world, fd, &payload), first);
    if (first == PACKED) {
        struct packer *packer = packer_new(100000);
        const char *unpacked;
        size_t size;
        assert_true(payload.size < strlen(text));
        assert_int_equal(packer_unpack(packer, payload.data, payload.size, &unpacked, &size), 0);
        assert_int_equal(size, strlen(text));
        assert_memory_equal(unpacked, text, size);
        packer_free(packer);
    } else {
        assert_string_equal(buffer_cstring(&payload), text);
    }
    buffer_free(&payload);
}

static void offers_are_answered_when_they_can_be_kept(void **state) {
    static const struct {
        const char *lines;
        bool agreed;
    } cases[] = {
        {UPGRADE, false},
        {OFFER("permessage-deflate"), true},
        {OFFER("permessage-deflate; client_max_window_bits"), true},
        {OFFER("permessage-deflate;client_max_window_bits=10 ; server_no_context_takeover"), true},
        {OFFER("x-something; mux, permessage-deflate; client_no_context_takeover"), true},
        {OFFER("permessage-deflate; server_max_window_bits=10"), false},
        {OFFER("permessage-deflate; server_max_window_bits=10, permessage-deflate"), true},
        {OFFER("permessage-deflate; unheard_of"), false},
        {OFFER("permessage-deflated"), false},
        {OFFER("x-webkit-deflate-frame"), false},
        {OFFER("permessage-deflate, permessage-deflate"), true},
        {OFFER("permessage-deflate,permessage-deflate; client_max_window_bits , x-something, permessage-deflate"),
         true},
        {OFFER("permessage-deflate; client_max_window_bits, permessage-deflate; server_no_context_takeover"), true},
        {OFFER("permessage-deflate\r\nSec-WebSocket-Extensions: permessage-deflate"), true},
        {OFFER("permessage-deflate, permessage-deflate; server_max_window_bits=10"), true},
    };
    struct ws_world *world = world_new();
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int fd = open_offering(world, cases[i].lines, cases[i].agreed);
        wire_frame(world, fd, TEXT, "not packed", 10);
        expect(world, fd, TEXT, "not packed");
        close(fd);
        ws_world_until(world, &world->at_server.closed, (int)i + 1);
    }
    ws_world_free(world);
    world = ws_world_new(NULL, NULL); /* where it is not wanted */
    close(open_offering(world, OFFER("permessage-deflate"), false));
    ws_world_free(world);
}

static void an_offer_is_found_in_a_long_list(void **state) {
    enum { LONG = 5000 };
    struct ws_world *world = world_new();
    char *other = mem_zero(1, LONG + 1);
    memset(other, 'x', LONG);
    char *lines = mem_format(OFFER("%s, permessage-deflate"), other);
    close(open_offering(world, lines, true));
    free(lines);
    free(other);
    ws_world_free(world);
}

static void messages_go_both_ways(void **state) {
    struct ws_world *world = world_new();
    int fd = open_offering(world, OFFER("permessage-deflate"), true);
    char text[5001] = "";
    for (int i = 0; i < 5000; i++) text[i] = (char)('a' + i * i % 7);
    for (int round = 0; round < 3; round++) {
        struct buffer packed = pack(text, strlen(text), round == 2 ? Z_FINISH : Z_SYNC_FLUSH);
        wire_frame(world, fd, PACKED, packed.data, packed.size);
        expect(world, fd, PACKED, text);
        buffer_free(&packed);
    }
    struct buffer packed = pack(text, strlen(text), Z_SYNC_FLUSH);
    wire_frame(world, fd, PACKED_FIRST, packed.data, 1);
    wire_frame(world, fd, PING, "between", 7);
    expect(world, fd, PONG, "between");
    wire_frame(world, fd, MORE, "", 0);
    wire_frame(world, fd, MORE, packed.data + 1, packed.size - 2);
    wire_frame(world, fd, LAST, packed.data + packed.size - 1, 1);
    expect(world, fd, PACKED, text);
    wire_frame(world, fd, TEXT, "plain between packed", 20);
    expect(world, fd, TEXT, "plain between packed"); /* too short to pay */
    buffer_free(&packed);
    packed = pack("", 0, Z_SYNC_FLUSH);
    wire_frame(world, fd, PACKED, "\0", 1);
    expect(world, fd, TEXT, "");
    buffer_free(&packed);
    packed = pack(text, strlen(text), Z_SYNC_FLUSH); /* byte for byte */
    wire_frame(world, fd, PACKED_FIRST, "", 0);
    for (size_t i = 0; i < packed.size; i++) wire_frame(world, fd, MORE, packed.data + i, 1);
    wire_frame(world, fd, LAST, "", 0);
    expect(world, fd, PACKED, text);
    wire_frame(world, fd, CLOSE, "\x03\xe8", 2);
    struct buffer payload = {0};
    assert_int_equal(wire_next(world, fd, &payload), CLOSE);
    assert_int_equal(wire_next(world, fd, &payload), -1);
    buffer_free(&payload);
    buffer_free(&packed);
    close(fd);
    ws_world_until(world, &world->at_server.closed, 1);
    assert_int_equal(world->at_server.code, 1000);
    ws_world_free(world);
}

static void what_does_not_get_shorter_goes_as_it_is(void **state) {
    struct ws_world *world = world_new();
    int fd = open_offering(world, OFFER("permessage-deflate"), true);
    struct packer *packer = packer_new(1);
    uint8_t noise[1000];
    size_t size;
    srand(3);
    for (size_t i = 0; i < sizeof noise; i++) noise[i] = (uint8_t)rand();
    assert_null(packer_pack(packer, noise, sizeof noise, &size));
    packer_free(packer);
    wire_frame(world, fd, TEXT, "short", 5);
    expect(world, fd, TEXT, "short");
    close(fd);
    ws_world_free(world);
}

static void what_cannot_be_is_closed(void **state) {
    char *zeros = mem_zero(1, 10 << 20);
    memset(zeros, 'z', 10 << 20);
    struct buffer bomb = pack(zeros, 10 << 20, Z_SYNC_FLUSH), most = pack(zeros, 8192, Z_SYNC_FLUSH),
                  over = pack(zeros, 8193, Z_SYNC_FLUSH), latin = pack("caf\xe9, and more of it", 20, Z_SYNC_FLUSH);
    const struct {
        int first;
        const void *bytes;
        size_t size;
        int code;
        const char *reason;
    } cases[] = {
        {PACKED, bomb.data, 8000, WS_TOO_BIG, "message too big"},
        {PACKED, bomb.data, bomb.size, WS_TOO_BIG, "message too big"},
        {PACKED, over.data, over.size, WS_TOO_BIG, "message too big"},
        {PACKED, "\x07garbage", 8, 1007, "bad deflate"},
        {PACKED, latin.data, latin.size, 1007, "bad utf8"},
        {TEXT, "bad \xc3\x28 text", 11, 1007, "bad utf8"},
        {TEXT, "cut \xe2\x82", 6, 1007, "bad utf8"},
        {0xA1, "another bit", 11, 1002, "rsv bits"},
        {0xE1, most.data, most.size, 1002, "rsv bits"},
    };
    struct ws_world *world = world_new();
    assert_true(bomb.size > 8192);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int fd = open_offering(world, OFFER("permessage-deflate"), true);
        wire_frame(world, fd, cases[i].first, cases[i].bytes, cases[i].size);
        wire_expect_close(world, fd, cases[i].code, cases[i].reason);
        ws_world_until(world, &world->at_server.closed, (int)i + 1);
    }
    assert_int_equal(world->at_server.messages, 0);
    int fd = open_offering(world, OFFER("permessage-deflate"), true);
    wire_frame(world, fd, PACKED, most.data, most.size);
    ws_world_until(world, &world->at_server.messages, 1);
    assert_int_equal(world->at_server.message.size, 8192);
    close(fd);
    fd = open_offering(world, UPGRADE, false); /* who has not agreed */
    wire_frame(world, fd, PACKED, most.data, most.size);
    wire_expect_close(world, fd, 1002, "rsv bits");
    ws_world_free(world);
    buffer_free(&bomb);
    buffer_free(&most);
    buffer_free(&over);
    buffer_free(&latin);
    free(zeros);
}

/* RFC 7692, 6: on a message's first frame only. */
static void the_bit_stands_on_first_frames_only(void **state) {
    enum {
        MORE_PACKED = 0x40,
        LAST_PACKED = 0xC0,
        PING_PACKED = 0xC9,
        PONG_PACKED = 0xCA,
        CLOSE_PACKED = 0xC8,
        SIZE = 3000
    };
    struct ws_world *world = world_new();
    char text[SIZE + 1] = "";
    srand(5);
    for (int i = 0; i < SIZE; i++) text[i] = (char)('0' + rand() % 64);
    struct buffer packed = pack(text, SIZE, Z_SYNC_FLUSH);
    assert_true(packed.size > 1500); /* so that frames come in several pieces */
    static const struct {
        int first, later;
    } frames[] = {{PACKED_FIRST, MORE_PACKED}, {PACKED_FIRST, LAST_PACKED},
                  {PACKED_FIRST, PONG_PACKED}, {PACKED_FIRST & ~0x40, LAST_PACKED},
                  {PACKED, PONG_PACKED},       {PACKED, PING_PACKED},
                  {PACKED, CLOSE_PACKED}};
    for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
        int fd = open_offering(world, OFFER("permessage-deflate"), true);
        /* As it should be. */
        wire_frame(world, fd, PACKED_FIRST, packed.data, 1000);
        wire_frame(world, fd, MORE, packed.data + 1000, 0);
        wire_frame(world, fd, PONG, "between", 7);
        wire_frame(world, fd, LAST, packed.data + 1000, packed.size - 1000);
        expect(world, fd, PACKED, text);
        bool whole = frames[i].first == PACKED;
        wire_frame(world, fd, frames[i].first, frames[i].first & 0x40 ? packed.data : (uint8_t *)text,
                   whole ? packed.size : 1000);
        if (whole) expect(world, fd, PACKED, text);
        wire_frame(world, fd, frames[i].later, "\x03\xe9", 2);
        wire_expect_close(world, fd, 1002, "rsv bits");
        ws_world_until(world, &world->at_server.closed, (int)i + 1);
        assert_int_equal(world->at_server.code, 1006);
    }
    buffer_free(&packed);
    ws_world_free(world);
}

/* Whether a message is packed is said by its first frame, even if nothing else is. */
static void a_first_frame_may_be_empty(void **state) {
    struct ws_world *world = world_new();
    const char text[] = "packed, packed, packed, packed, packed, packed, packed and packed";
    struct buffer packed = pack(text, sizeof text - 1, Z_SYNC_FLUSH);
    int fd = open_offering(world, OFFER("permessage-deflate"), true);
    for (int round = 1; round <= 3; round++) {
        wire_frame(world, fd, PACKED_FIRST, "", 0);
        wire_frame(world, fd, LAST, packed.data, packed.size);
        ws_world_until(world, &world->at_server.messages, 2 * round - 1);
        assert_string_equal(buffer_cstring(&world->at_server.message), text);
        wire_frame(world, fd, PACKED_FIRST & ~0x40, "", 0);
        wire_frame(world, fd, LAST, "plain", 5);
        ws_world_until(world, &world->at_server.messages, 2 * round);
        assert_string_equal(buffer_cstring(&world->at_server.message), "plain");
    }
    close(fd);
    buffer_free(&packed);
    ws_world_free(world);
}

/* Hard to pack, so that the kernel's buffer is full at some time. */
static char *page(int number) {
    char *text = mem_zero(1, 60001);
    unsigned seed = (unsigned)number + 1;
    for (int i = 0; i < 60000; i++) text[i] = (char)('0' + (seed = seed * 1103515245 + 12345) / 65536 % 64);
    return text;
}

static int send_page(struct ws_connection *connection, int number) {
    char *text = page(number);
    int result = ws_world_say(connection, text);
    free(text);
    return result;
}

static void a_slow_reader_gets_an_intact_stream(void **state) {
    struct ws_world *world = world_new();
    int fd = wire_connect(world, 4096), sent = 0, read = 0;
    wire_request(world, fd, OFFER("permessage-deflate"));
    assert_non_null(strstr(wire_response(world, fd), ANSWER));
    for (int round = 0; round < 3; round++) {
        int writable = world->at_server.writable;
        while (!send_page(world->at_server.connection, sent)) assert_true(++sent < 2000);
        ws_world_run(world, 50);
        bool pinged = world->at_server.writable == writable;
        if (pinged) wire_frame(world, fd, PING, "in between", 10);
        for (; read < sent; read++) {
            char *text = page(read);
            expect(world, fd, PACKED, text);
            free(text);
        }
        struct buffer payload = {0};
        if (pinged) {
            assert_int_equal(wire_next(world, fd, &payload), PONG);
            ws_world_until(world, &world->at_server.writable, writable + 1);
        }
        buffer_free(&payload);
    }
    ws_close(world->at_server.connection, WS_RESTART, "bye");
    wire_expect_close(world, fd, WS_RESTART, "bye");
    ws_world_free(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offers_are_answered_when_they_can_be_kept),
        cmocka_unit_test(messages_go_both_ways),
        cmocka_unit_test(an_offer_is_found_in_a_long_list),
        cmocka_unit_test(the_bit_stands_on_first_frames_only),
        cmocka_unit_test(a_first_frame_may_be_empty),
        cmocka_unit_test(what_does_not_get_shorter_goes_as_it_is),
        cmocka_unit_test(what_cannot_be_is_closed),
        cmocka_unit_test(a_slow_reader_gets_an_intact_stream),
    };
    return cmocka_run_group_tests_name("permessage-deflate", tests, NULL, NULL);
}
