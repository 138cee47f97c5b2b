/* Tests http_places.c. What clients of the HTTP server may take: places, time, bytes of requests and of answers. */
#include <arpa/inet.h>
#include <sys/socket.h>

#include "unit/kit/kit.h"
#include "unit/lib/service/world.h"

#define HOST "Host: x\r\n"

enum { MANY = 20, PLACES = 8 };

static const char HALF_HEAD[] = "GET / HTTP/1.1\r\nHost",
                  HALF_BODY[] = "POST / HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nx";

/* A connection from that address of this machine. */
static int connect_from(const struct world *world, const char *from) {
    struct sockaddr_in address = {.sin_family = AF_INET}, server = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(inet_pton(AF_INET, from, &address.sin_addr), 1);
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server.sin_port = htons((uint16_t)http_server_port(world->server));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&server, sizeof server), 0);
    return fd;
}

static void open_many(struct world *world, int *fds, int count, const char *from, const char *text) {
    for (int i = 0; i < count; i++) {
        fds[i] = connect_from(world, from);
        raw_text(world, fds[i], text);
        for (int turn = 0; turn < 4; turn++) world_turn(world);
    }
}

static void close_many(int *fds, int count) {
    for (int i = 0; i < count; i++) close(fds[i]);
}

/* Whether the server has closed it. */
static bool is_closed(int fd) {
    char byte;
    ssize_t got = recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return got >= 0 || errno != EAGAIN;
}

/* ---- places ---- */

TEST(who_says_nothing_keeps_nobody_out) {
    static const char *const TEXTS[] = {"", "\r\n", HALF_HEAD, HALF_BODY};
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        struct world *world = world_new((struct http_server_options){.max_connections = PLACES});
        int fds[MANY];
        open_many(world, fds, MANY, "127.0.0.1", TEXTS[i]);
        assert_int_equal(http_server_connections(world->server), PLACES);
        assert_int_equal(world_fetch(world, "GET", "/", NULL).status, 200);
        assert_true(is_closed(fds[0]) && !is_closed(fds[MANY - 1])); /* the oldest go first */
        close_many(fds, MANY);
        world_free(world);
    }
}

/* A connection that waits for an answer stays, one that has been answered goes before one that is asking. */
TEST(idle_ones_go_first) {
    struct world *world = world_new((struct http_server_options){.max_connections = 3});
    int asking = raw_connect(world), held = raw_connect(world), idle = raw_connect(world);
    raw_text(world, asking, HALF_BODY);
    raw_text(world, held, "GET /hold HTTP/1.1\r\n" HOST "\r\n");
    raw_text(world, idle, "GET / HTTP/1.1\r\n" HOST "\r\n");
    free(raw_read(world, idle, "GET|/|"));
    world_until(world, world->held_count == 1);
    int next = raw_connect(world);
    world_until(world, is_closed(idle));
    assert_false(is_closed(asking));
    raw_text(world, next, HALF_HEAD);
    int last = raw_connect(world);
    raw_text(world, last, "GET / HTTP/1.1\r\n" HOST "\r\n");
    free(raw_read(world, last, "GET|/|"));
    assert_true(is_closed(asking) && !is_closed(next) && !is_closed(held));
    http_reply(world->held[0], 200, "text/plain", "at last", 7, NULL, 0);
    free(raw_read(world, held, "at last"));
    close_many((int[]){asking, held, idle, next, last}, 5);
}

TEST(the_network_with_the_most_goes_first) {
    struct world *world = world_new((struct http_server_options){.max_connections = PLACES});
    int other = connect_from(world, "127.0.2.1"), fds[MANY];
    open_many(world, fds, MANY, "127.0.0.1", "");
    assert_int_equal(http_server_connections(world->server), PLACES);
    assert_false(is_closed(other));
    close_many(fds, MANY);
    close(other);
}

TEST(a_network_has_its_share) {
    struct world *world = world_new((struct http_server_options){.budgets = {.network_connections = PLACES}});
    int fds[MANY], others[2];
    open_many(world, others, 2, "127.0.2.1", HALF_HEAD);
    open_many(world, fds, MANY, "127.0.0.1", HALF_HEAD);
    assert_int_equal(http_server_connections(world->server), PLACES + 2);
    assert_false(is_closed(others[0]));
    assert_int_equal(world_fetch(world, "GET", "/", NULL).status, 200);
    close_many(fds, MANY);
    close_many(others, 2);
    world_free(world);
    struct http_proxies *proxies; /* of whom each brings many people */
    assert_int_equal(http_proxies_new("127.0.0.0/24", &proxies, NULL), 0);
    world = world_new((struct http_server_options){.budgets = {.network_connections = 1}, .proxies = proxies});
    open_many(world, fds, MANY, "127.0.0.1", HALF_HEAD);
    assert_int_equal(http_server_connections(world->server), MANY);
    close_many(fds, MANY);
    world_free(world);
    http_proxies_free(proxies);
}

/* ---- time ---- */

TEST(a_body_has_a_least_rate) {
    struct world *world = world_new((struct http_server_options){.times = {.body_s = 1, .least_rate = 1000}});
    int fd = raw_connect(world), fast = raw_connect(world);
    raw_text(world, fd, "POST / HTTP/1.1\r\n" HOST "Content-Length: 10000\r\n\r\n");
    raw_text(world, fast, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n");
    int64_t began_us = clock_monotonic_us(), next_us = 0;
    while (!is_closed(fd)) {
        int64_t now_us = clock_monotonic_us();
        if (now_us > next_us) raw_text(world, fd, "x");
        if (now_us > next_us)
            raw_text(world, fast,
                     "80\r\n" /* 128 bytes, ten times a second */
                     "0123456789012345678901234567890123456789012345678901234567890123"
                     "0123456789012345678901234567890123456789012345678901234567890123\r\n");
        if (now_us > next_us) next_us = now_us + 100000;
        assert_true(now_us - began_us < 5000000);
        world_turn(world);
    }
    FREED char *reply = raw_read(world, fd, NULL);
    assert_contains(reply, "HTTP/1.1 408 Request Timeout\r\n");
    assert_contains(reply, "\"code\":\"too_slow\"");
    assert_true(clock_monotonic_us() - began_us > 900000);
    raw_text(world, fast, "0\r\n\r\n");
    free(raw_read(world, fast, "HTTP/1.1 200 OK"));
    close_many((int[]){fd, fast}, 2);
}

TEST(who_does_not_read_is_left) {
    struct world *world = world_new((struct http_server_options){.times = {.reply_s = 1}});
    FREED_BY(kit_close) int fd = raw_connect(world);
    raw_text(world, fd, "GET /huge HTTP/1.1\r\n" HOST "\r\n");
    world_until(world, world->handled == 1);
    int64_t began_us = clock_monotonic_us();
    world_until(world, http_server_connections(world->server) == 0);
    assert_true(clock_monotonic_us() - began_us > 900000);
}

/* ---- bytes ---- */

static void expect_problem(struct world *world, int fd, const char *status, const char *code) {
    FREED char *reply = raw_read(world, fd, NULL);
    assert_contains(reply, status);
    assert_contains(reply, code);
    assert_contains(reply, "Retry-After: 2\r\n");
    if (strstr(reply + 1, "HTTP/1.1 ")) fail_msg("more than one answer: %s", reply);
    close(fd);
}

static void send_body(struct world *world, int fd, size_t size, bool whole) {
    FREED char *head = mem_format("POST /hold HTTP/1.1\r\n" HOST "Content-Length: %zu\r\n\r\n", size + !whole);
    FREED char *body = mem_zero(1, size);
    raw_text(world, fd, head);
    raw_send(world, fd, body, size);
}

TEST(bytes_of_requests_are_bounded) {
    enum { SIZE = 40000 };
    struct world *world =
        world_new((struct http_server_options){.budgets = {.request_bytes = 100000, .all_request_bytes = 150000}});
    int fds[2] = {raw_connect(world), raw_connect(world)}, others[2];
    send_body(world, fds[0], SIZE, true);
    send_body(world, fds[1], SIZE, false);
    world_until(world, world->held_count == 1);
    int fd = raw_connect(world);
    send_body(world, fd, SIZE, true);
    expect_problem(world, fd, "HTTP/1.1 429 Too Many Requests\r\n", "\"code\":\"too_many_bytes\"");
    others[0] = connect_from(world, "127.0.2.1"); /* another network has its own */
    send_body(world, others[0], SIZE, true);
    world_until(world, world->held_count == 2);
    others[1] = connect_from(world, "127.0.2.1");
    send_body(world, others[1], SIZE, true);
    expect_problem(world, others[1], "HTTP/1.1 503 Service Unavailable\r\n", "\"code\":\"overloaded\"");
    for (int i = 0; i < 2; i++) http_reply(world->held[i], 200, "text/plain", "ok", 2, NULL, 0);
    free(raw_read(world, fds[0], "\r\n\r\nok"));
    close(fds[1]);
    fd = raw_connect(world);
    send_body(world, fd, SIZE, true);
    world_until(world, world->held_count == 3);
    http_reply(world->held[2], 200, "text/plain", "ok", 2, NULL, 0);
    close_many((int[]){fds[0], others[0], fd}, 3);
}

/* Heads that do not end. */
TEST(bytes_of_heads_are_bounded) {
    struct world *world = world_new((struct http_server_options){.budgets = {.request_bytes = 50000}});
    FREED char *text = mem_format("GET / HTTP/1.1\r\n" HOST "X: %030000d", 0);
    FREED_BY(kit_close) int first = raw_connect(world), second = raw_connect(world);
    raw_text(world, first, text);
    raw_text(world, second, text);
    expect_problem(world, second, "HTTP/1.1 429 Too Many Requests\r\n", "\"code\":\"too_many_bytes\"");
    raw_text(world, first, "\r\n\r\n");
    free(raw_read(world, first, "GET|/|"));
}

TEST(bytes_of_answers_are_bounded) {
    enum { HUGE = 17 * 1024 * 1024 };
    struct world *world = world_new(
        (struct http_server_options){.budgets = {.reply_bytes = HUGE + 100, .all_reply_bytes = 2 * HUGE + 100}});
    int slow = raw_connect(world), second = connect_from(world, "127.0.1.1"), other = connect_from(world, "127.0.2.1");
    raw_text(world, slow, "GET /huge HTTP/1.1\r\n" HOST "\r\n");
    world_until(world, world->handled == 1);
    /* What is left is too much for another one. */
    int again = raw_connect(world);
    raw_text(world, again, "GET /huge HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
    expect_problem(world, again, "HTTP/1.1 429 Too Many Requests\r\n", "\"code\":\"too_many_bytes\"");
    raw_text(world, second, "GET /huge HTTP/1.1\r\n" HOST "\r\n");
    free(raw_read(world, second, "HTTP/1.1 200 OK\r\n"));
    raw_text(world, other, "GET /huge HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
    expect_problem(world, other, "HTTP/1.1 503 Service Unavailable\r\n", "\"code\":\"overloaded\"");
    assert_int_equal(world_fetch(world, "GET", "/", NULL).status, 200); /* a small one */
    close(slow);
    close(second);
    world_until(world, http_server_connections(world->server) <= 1);
    free(raw_say(world, "GET", "/huge", ""));
}

/* ---- admission ---- */

enum { STATE_SIZE = 4096 };

static void admit(void *context, struct http_request *request) {
    int *state = http_state(request);
    assert_int_equal(*state, 0);
    *state = 7;
    if (!http_header(request, "Authorization")) http_problem(request, 401, "no_token", "x", 0);
}

/* Before the body, which the client sends all the same; it reads the answer, and what is behind is no request. */
TEST(strangers_are_refused_before_their_body) {
    enum { SIZE = 300000 };
    struct world *world = world_new((struct http_server_options){
        .admit = admit, .state_size = sizeof(int), .max_body = SIZE, .budgets = {.request_bytes = 1}});
    FREED char *body = mem_zero(1, SIZE);
    int fd = raw_connect(world);
    raw_text(world, fd, "POST / HTTP/1.1\r\n" HOST "Content-Length: 300000\r\nExpect: 100-continue\r\n\r\n");
    free(raw_read(world, fd, "HTTP/1.1 401 Unauthorized\r\n"));
    raw_send(world, fd, body, SIZE);
    raw_text(world, fd, "GET / HTTP/1.1\r\n" HOST "Authorization: x\r\n\r\n");
    FREED char *rest = raw_read(world, fd, NULL);
    assert_null(strstr(rest, "HTTP/1.1 "));
    assert_int_equal(world->handled, 0);
    close(fd);
    /* Without a body, the connection stays. */
    fd = raw_connect(world);
    raw_text(world, fd, "GET / HTTP/1.1\r\n" HOST "\r\n");
    free(raw_read(world, fd, "\"code\":\"no_token\"}\n"));
    raw_text(world, fd, "GET / HTTP/1.1\r\n" HOST "Authorization: x\r\n\r\n");
    free(raw_read(world, fd, "GET|/|"));
    close(fd);
}

static void note_state(void *context, const struct http_request *request, unsigned status) {
    (void)context;
    assert_int_equal(status, 400);
    for (size_t i = 0; i < STATE_SIZE; i++) assert_int_equal(((const char *)http_state(request))[i], 0);
}

TEST(a_request_that_cannot_be_read_has_its_state) {
    struct world *world = world_new((struct http_server_options){.answered = note_state, .state_size = STATE_SIZE});
    FREED_BY(kit_close) int fd = raw_connect(world);
    raw_text(world, fd, "\x16\x03\x01\r\n\r\n");
    free(raw_read(world, fd, "\"code\":\"bad_request\"}\n"));
}
