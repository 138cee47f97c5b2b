/* The server of lib/ws with peers that read slowly, flood it, or take all its descriptors. */
#include "unit/kit/kit.h"
#include "unit/lib/ws/world.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define SUBPROTOCOL "Sec-WebSocket-Protocol: " WS_TEST_SUBPROTOCOL "\r\n"

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
    FREED_BUFFER frame = big_frame(number);
    return ws_send(connection, &frame);
}

static void big_expect(struct ws_world *world, int fd, int number) {
    FREED_BUFFER payload = {0}, expected = big_frame(number);
    assert_int_equal(wire_next(world, fd, &payload), TEXT);
    assert_int_equal(payload.size, BIG);
    assert_memory_equal(payload.data, expected.data + WS_HEADROOM, BIG);
}

TEST(a_slow_reader_gets_EAGAIN_and_then_an_intact_stream) {
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
    wire_expect_text(world, fd, "the newest truth");
    assert_int_equal(world->at_server.writable, writable + 1); /* once for each time of -EAGAIN, not for every frame */
    close(fd);
}

TEST(a_slow_reader_is_closed_behind_what_it_was_sent) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    int fd = wire_open(world, 4096), sent = 0;
    while (!big_send(world->at_server.connection, sent)) sent++;
    ws_close(world->at_server.connection, WS_TOO_SLOW, "too slow");
    ws_world_run(world, 100);
    for (int i = 0; i < sent; i++) big_expect(world, fd, i);
    wire_expect_close(world, fd, WS_TOO_SLOW, "too slow");
    ws_world_until(world, &world->at_server.closed, 1);
    assert_int_equal(world->at_server.code, WS_TOO_SLOW); /* its answer came */
}

TEST(nobody_holds_up_the_shutdown) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    FREED_BUFFER payload = {.size = 0};
    FREED_BY(kit_close) int deaf = wire_open(world, 0), slow = wire_open(world, 4096), half = wire_connect(world, 0);
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
}

/* ---- floods ---- */

TEST(a_flood_of_pings_is_closed) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    FREED_BUFFER payload = {.size = 0};
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
}

TEST(a_flood_without_a_pause_is_closed) {
    static const int kinds[] = {PING, PONG};
    for (size_t i = 0; i < 2; i++) {
        struct ws_world *world = ws_world_new(NULL, NULL);
        FREED_BUFFER many = {.size = 0};
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
        FREED_BUFFER payload = {.size = 0};
        int first;
        do first = wire_next(world, fd, &payload);
        while (first == PONG);
        assert_int_equal(first, CLOSE);
        assert_int_equal(payload.data[0] << 8 | payload.data[1], WS_POLICY);
        assert_string_equal(buffer_cstring(&payload) + 2, "too_many_pings");
        close(fd);
        ws_world_until(world, &world->at_server.closed, 1);
        ws_world_free(world);
    }
}

static void say_nothing(struct ws_world *world, struct ws_connection *connection, const char *text, size_t size) {}

TEST(messages_are_no_flood) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    char text[1000];
    memset(text, 'x', sizeof(text));
    int fd = wire_open(world, 0), sent = 0;
    for (int64_t end = clock_monotonic_us() + 4000000; clock_monotonic_us() < end; sent++) {
        wire_frame(world, fd, TEXT, text, sizeof(text));
        FREED_BUFFER payload = {.size = 0};
        assert_int_equal(wire_next(world, fd, &payload), TEXT);
    }
    assert_true(sent > 100);
    assert_int_equal(ws_server_counts(world->server)->floods, 0);
    close(fd);
}

TEST(a_flood_among_messages_is_closed) {
    enum { OTHERS = 7, PONGS = 2000 };
    struct ws_server_options options = ws_world_server_options(NULL);
    struct ws_world *world = ws_world_new(&options, NULL);
    FREED_BUFFER many = {.size = 0};
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
}

TEST(a_message_that_nobody_has_read_is_no_flood) {
    enum { LONG = 100000, ALONE_MS = 1500 };
    struct ws_server_options options = ws_world_server_options(NULL);
    options.max_message = LONG;
    struct ws_world *world = ws_world_new(&options, NULL);
    FREED char *text = mem_alloc(LONG);
    memset(text, 'x', LONG);
    FREED_BY(kit_close) int fd = wire_open(world, 0);
    world->when_message = say_nothing;
    ws_world_run(world, ALONE_MS); /* looked at once */
    wire_frame(world, fd, TEXT, text, LONG);
    usleep(ALONE_MS * 1000);
    ws_world_until(world, &world->at_server.messages, 1);
    assert_int_equal(ws_server_counts(world->server)->floods, 0);
}

TEST(a_message_in_too_many_pieces_is_closed) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    int fd = wire_open(world, 0);
    for (int i = 0; i < 2001; i++) wire_frame(world, fd, i ? MORE : TEXT_FIRST, "", 0);
    wire_expect_close(world, fd, WS_POLICY, "too_many_fragments");
    assert_int_equal(ws_server_counts(world->server)->floods, 1);
    assert_int_equal(world->at_server.messages, 0);
}

/* ---- descriptors ---- */

TEST(without_descriptors_it_waits_and_does_not_spin) {
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
}

TEST(without_descriptors_it_stops_listening_and_nothing_is_left) {
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

/* How many descriptors stay open after a world whose clients open so many connections and close them. */
static int left_after(int connections) {
    int before = descriptors();
    struct ws_world *world = ws_world_new(NULL, NULL);
    for (int i = 0; i < connections; i++) close(wire_open(world, 0));
    ws_world_until(world, &world->at_server.closed, connections);
    ws_world_free(world);
    return descriptors() - before;
}

/* libwebsockets 4.3.5 itself leaves an eventfd of each context that lives on another's loop; 4.1.6 leaves none. */
TEST(no_descriptor_is_left) {
    int of_the_library = left_after(0);
    assert_in_range(of_the_library, 0, 1);
    assert_int_equal(left_after(20), of_the_library);
}
