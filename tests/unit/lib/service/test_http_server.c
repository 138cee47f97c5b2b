/* Tests http_server.c, http_connection.c, http_reading.c, http_reply.c, http_request.c and http_writing.c. The HTTP server: answers now
 * and later, clients that go away, limits, and static files. */
#include "json/json.h"
#include "unit/kit/kit.h"
#include "unit/lib/service/world.h"

SET_UP() { return world_new((struct http_server_options){.max_body = 1000}); }

static void reply_text(struct http_request *request, const char *text) {
    http_reply(request, 200, "text/plain", text, strlen(text), NULL, 0);
}

/* Sends and reads on one socket, which is closed. */
static char *exchange(struct world *world, const char *request, const char *end) {
    int fd = raw_connect(world);
    raw_text(world, fd, request);
    char *reply = raw_read(world, fd, end);
    close(fd);
    return reply;
}

TEST(handler_sees_the_request_decoded, struct world *world) {
    FREED char *reply =
        exchange(world,
                 "PUT /a%20b/%C3%BC?b=1&a=x%26y+z HTTP/1.1\r\nHost: x\r\nX-TEST: yes\r\nContent-Length: 4\r\n"
                 "Connection: close\r\n\r\nbody",
                 NULL);
    assert_contains(reply, "HTTP/1.1 200 OK\r\n");
    assert_contains(reply, "Content-Type: text/plain\r\n");
    assert_contains(reply, "\r\n\r\nPUT|/a b/\xc3\xbc|x&y z|yes|body");
    assert_string_equal(world_fetch(world, "GET", "/", NULL).text, "GET|/|(none)|(none)|");
    assert_string_equal(world_fetch(world, "GET", "/?a", NULL).text, "GET|/||(none)|");
    assert_string_equal(world_fetch(world, "GET", "/?a=", NULL).text, "GET|/||(none)|");
    assert_string_equal(world_fetch(world, "DELETE", "/?b=1", NULL).text, "DELETE|/|(none)|(none)|");
}

TEST(head_has_no_body, struct world *world) {
    FREED char *reply = exchange(world, "HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", NULL);
    assert_contains(reply, "Content-Length: 21\r\n");
    assert_string_equal(strstr(reply, "\r\n\r\n"), "\r\n\r\n");
}

TEST(late_replies_come_in_any_order, struct world *world) {
    struct answer answers[3] = {{.count = 0}};
    static const char *const TEXTS[] = {"first", "second", "third"};
    FREED char *url = world_url(world, "/hold");
    for (size_t i = 0; i < 3; i++) {
        http_fetch(world->client, "GET", url, NULL, NULL, 5000, answer_take, &answers[i]);
        world_until(world, world->held_count == i + 1);
    }
    assert_int_equal(http_server_pending(world->server), 3);
    for (size_t i = 3; i-- > 0;) {
        assert_ptr_equal(http_context(world->held[i]), world);
        reply_text(world->held[i], TEXTS[i]);
        world_until(world, answers[i].count);
        assert_string_equal(answers[i].text, TEXTS[i]);
        assert_int_equal(http_server_pending(world->server), i);
    }
}

/* Nothing else wakes the server: without its own wake-up a late reply would wait for the next request. */
TEST(late_reply_is_sent_at_once, struct world *world) {
    FREED_BY(kit_close) int fd = raw_connect(world);
    raw_text(world, fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    world_until(world, world->held_count == 1);
    for (int i = 0; i < 50; i++) world_turn(world);
    int64_t started_us = clock_monotonic_us();
    reply_text(world->held[0], "late");
    free(raw_read(world, fd, "\r\n\r\nlate"));
    assert_true(clock_monotonic_us() - started_us < 500000);
}

TEST(client_gone_before_the_reply, struct world *world) {
    for (size_t i = 0; i < 20; i++) {
        int fd = raw_connect(world);
        raw_text(world, fd, "POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
        world_until(world, world->held_count == i + 1);
        close(fd);
    }
    for (int i = 0; i < 50; i++) world_turn(world);
    // The requests are whole, although nobody waits for them.
    for (size_t i = 0; i < 20; i++) {
        size_t size;
        assert_memory_equal(http_body(world->held[i], &size), "hello", 5);
        assert_string_equal(http_path(world->held[i]), "/hold");
        if (i % 2) reply_text(world->held[i], "to nobody");
    }
    assert_int_equal(world_fetch(world, "GET", "/", NULL).status, 200);
    for (size_t i = 0; i < 20; i += 2) reply_text(world->held[i], "to nobody");
    assert_int_equal(http_server_pending(world->server), 0);
    assert_int_equal(world_fetch(world, "GET", "/", NULL).status, 200);
}

TEST(connection_is_kept_alive, struct world *world) {
    FREED_BY(kit_close) int fd = raw_connect(world);
    for (int i = 0; i < 3; i++) {
        raw_text(world, fd, "GET /?a=1 HTTP/1.1\r\nHost: x\r\n\r\n");
        free(raw_read(world, fd, "|1|(none)|"));
    }
    // Pipelined, the first one answered late: the second is not even begun before.
    raw_text(world, fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\nGET /?a=2 HTTP/1.1\r\nHost: x\r\n\r\n");
    world_until(world, world->held_count == 1);
    for (int i = 0; i < 20; i++) world_turn(world);
    assert_int_equal(world->handled, 4);
    reply_text(world->held[0], "held");
    FREED char *reply = raw_read(world, fd, "|2|(none)|");
    assert_contains(reply, "\r\n\r\nheldHTTP/1.1 200 OK");
}

TEST(body_up_to_the_limit, struct world *world) {
    FREED_BUFFER body = {.size = 0};
    memset(buffer_reserve(&body, 1001), 'x', 1001);
    buffer_commit(&body, 1000);
    assert_int_equal(world_fetch(world, "POST", "/", &body).status, 200);
    assert_int_equal(world->handled, 1);
    buffer_commit(&body, 1);
    struct answer answer = world_fetch(world, "POST", "/", &body);
    assert_int_equal(answer.status, 413);
    assert_contains(answer.text, "\"code\":\"body_too_large\"");
    assert_int_equal(world->handled, 1);
}

TEST(announced_flood_is_refused_before_it_is_sent, struct world *world) {
    FREED char *reply = exchange(
        world, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n", NULL);
    assert_contains(reply, "HTTP/1.1 413 ");
    assert_null(strstr(reply, "100 Continue"));
    assert_int_equal(world->handled, 0);
}

/* A chunked body announces no length. */
static char *send_chunks(struct world *world, int chunks) {
    int fd = raw_connect(world);
    FREED char *chunk = mem_alloc(0x10000);
    memset(chunk, 'x', 0x10000);
    raw_text(world, fd, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
    for (int i = 0; i < chunks; i++) {
        raw_text(world, fd, "10000\r\n");
        raw_send(world, fd, chunk, 0x10000);
        raw_text(world, fd, "\r\n");
    }
    raw_text(world, fd, "0\r\n\r\n");
    char *reply = raw_read(world, fd, NULL);
    close(fd);
    return reply;
}

TEST(unannounced_flood_is_cut_off, struct world *world) {
    char *reply = send_chunks(world, 2);
    assert_contains(reply, "HTTP/1.1 413 ");
    free(reply);
    reply = send_chunks(world, 40);
    assert_null(strstr(reply, "HTTP/1.1 200"));
    free(reply);
    assert_int_equal(world->handled, 0);
    assert_int_equal(world_fetch(world, "GET", "/", NULL).status, 200);
}

TEST(two_hundred_at_once, struct world *world) {
    enum { COUNT = 200 };
    FREED struct answer *answers = mem_zero(COUNT, sizeof *answers);
    FREED char *url = world_url(world, "/hold");
    for (int i = 0; i < COUNT; i++) http_fetch(world->client, "GET", url, NULL, NULL, 9000, answer_take, &answers[i]);
    world_until(world, world->held_count == COUNT);
    assert_int_equal(http_server_pending(world->server), COUNT);
    for (int i = 0; i < COUNT; i++) reply_text(world->held[i], "ok");
    for (int i = 0; i < COUNT; i++) {
        world_until(world, answers[i].count);
        assert_int_equal(answers[i].status, 200);
    }
}

TEST(connections_beyond_the_limit_wait) {
    struct world *world = world_new((struct http_server_options){.max_connections = 2});
    int fds[3];
    for (int i = 0; i < 3; i++) {
        fds[i] = raw_connect(world);
        raw_text(world, fds[i], "GET /hold HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    }
    world_until(world, world->held_count == 2);
    for (int i = 0; i < 50; i++) world_turn(world);
    assert_int_equal(world->held_count, 2);
    reply_text(world->held[0], "one");
    world_until(world, world->held_count == 3);
    reply_text(world->held[1], "two");
    reply_text(world->held[2], "three");
    for (int i = 0; i < 3; i++) {
        free(raw_read(world, fds[i], NULL));
        close(fds[i]);
    }
}

TEST(idle_connection_is_closed) {
    struct world *world = world_new((struct http_server_options){.times = {.idle_s = 1, .body_s = 1}});
    FREED_BY(kit_close) int idle = raw_connect(world), slow = raw_connect(world), held = raw_connect(world);
    raw_text(world, slow, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    raw_text(world, held, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    FREED char *reply = raw_read(world, idle, NULL);
    assert_string_equal(reply, "");
    free(raw_read(world, slow, NULL));
    // The one that waits for us is not idle.
    assert_int_equal(world->held_count, 1);
    reply_text(world->held[0], "after all");
    free(raw_read(world, held, "after all"));
}

TEST(quiesced_server_answers_what_it_has, struct world *world) {
    FREED_BY(kit_close) int fd = raw_connect(world), kept = raw_connect(world);
    raw_text(world, kept, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    free(raw_read(world, kept, "GET|/|"));
    raw_text(world, fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    world_until(world, world->held_count == 1);
    http_server_quiesce(world->server);
    assert_int_equal(raw_connect(world), -ECONNREFUSED);
    reply_text(world->held[0], "held");
    char *reply = raw_read(world, fd, NULL);
    assert_contains(reply, "Connection: close");
    assert_contains(reply, "\r\n\r\nheld");
    free(reply);
    // A connection that was kept alive is answered once more, and told to go.
    raw_text(world, kept, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    reply = raw_read(world, kept, NULL);
    assert_contains(reply, "HTTP/1.1 200 OK");
    free(reply);
    http_server_quiesce(world->server);
}

TEST(freed_server_answers_503) {
    struct world *world = world_new((struct http_server_options){.max_body = 0});
    int fd = raw_connect(world), gone = raw_connect(world), late = raw_connect(world);
    raw_text(world, fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    raw_text(world, gone, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    world_until(world, world->held_count == 2);
    close(gone);
    static const char LATE[] =
        "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"; // read when the server ends, and not handed over any more
    assert_int_equal(send(late, LATE, sizeof LATE - 1, 0), sizeof LATE - 1);
    http_server_free(world->server);
    world->server = NULL;
    assert_int_equal(world->held_count, 2);
    FREED char *other = raw_read(world, late, NULL);
    assert_contains(other, "\"code\":\"shutting_down\"");
    close(late);
    FREED char *reply = raw_read(world, fd, NULL);
    assert_contains(reply, "HTTP/1.1 503 ");
    assert_contains(reply, "\"code\":\"shutting_down\"");
    close(fd);
}

TEST(problems_are_rfc_9457, struct world *world) {
    char *reply = exchange(world, "GET /busy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", NULL);
    assert_contains(reply, "HTTP/1.1 503 Service Unavailable\r\n");
    assert_contains(reply, "Content-Type: application/problem+json\r\n");
    assert_contains(reply, "Retry-After: 7\r\n");
    assert_contains(reply, "{\"type\":\"urn:starling:queue-full\",\"title\":\"Service Unavailable\",\"status\":503,"
                           "\"detail\":\"the queue is full\",\"code\":\"queue-full\"}");
    free(reply);
    reply = exchange(world, "GET /bearer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", NULL);
    assert_contains(reply, "HTTP/1.1 401 Unauthorized\r\n");
    assert_contains(reply, "WWW-Authenticate: Bearer\r\n");
    assert_null(strstr(reply, "Retry-After"));
    FREED_JSON *json = json_parse(strchr(reply, '{'), strlen(strchr(reply, '{')), NULL);
    assert_string_equal(json_string_value(json_object_get(json, "detail")), "say \"who\" you are");
    free(reply);
}

TEST(bearer_tokens_are_found, struct world *world) {
    static const struct {
        const char *line, *wanted;
    } CASES[] = {
        {"Authorization: Bearer abc.def", "\r\n\r\nabc.def"},
        {"authorization: bearer   abc", "\r\n\r\nabc"},
        {"Authorization: Bearer ", "200 OK"},
        {"Authorization: Basic abc", "401 Unauthorized"},
        {"Authorization: Bearerabc", "401 Unauthorized"},
        {"X-Other: Bearer abc", "401 Unauthorized"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        FREED char *request =
            mem_format("GET /bearer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n\r\n", CASES[i].line);
        FREED char *reply = exchange(world, request, NULL);
        assert_contains(reply, CASES[i].wanted);
    }
}

/* The request is refused with that status, by the server itself, as a problem; nothing behind it is read as a second request. */
static void assert_refused(struct world *world, const char *status, const char *request) {
    FREED char *both = mem_format("%sGET /second HTTP/1.1\r\nHost: x\r\n\r\n", request),
               *reply = exchange(world, both, NULL);
    assert_contains(reply, status);
    assert_contains(reply, "Content-Type: application/problem+json\r\n");
    assert_contains(reply, "Connection: close\r\n");
    assert_contains(reply, "{\"type\":\"urn:starling:");
    if (strstr(reply + 1, "HTTP/1.1 ")) fail_msg("more than one answer: %s", reply);
    assert_int_equal(world->handled, 0);
}

/* A head that servers read differently can hide a second request in the first one's body. */
TEST(smuggled_requests_are_refused, struct world *world) {
    static const struct {
        const char *status, *fields;
    } CASES[] = {
        {"400 Bad Request", "Content-Length: 5\r\nContent-Length: 40\r\n"},
        {"400 Bad Request", "Content-Length: 40\r\nContent-Length: 5\r\n"},
        {"400 Bad Request", "Content-Length: 5\r\ncontent-length: 5\r\n"},
        {"400 Bad Request", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"},
        {"400 Bad Request", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"},
        {"400 Bad Request", "Content-Length : 5\r\n"},
        {"400 Bad Request", "X: a\rContent-Length: 5\r\n"},
        {"400 Bad Request", "Host: x\r\n"},
        {"501 Not Implemented", "Transfer-Encoding: gzip, chunked\r\n"},
        {"501 Not Implemented", "Transfer-Encoding: xchunked\r\n"},
        {"501 Not Implemented", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        FREED char *request = mem_format("POST /first HTTP/1.1\r\nHost: x\r\n%s\r\n0\r\n\r\n", CASES[i].fields);
        assert_refused(world, CASES[i].status, request);
    }
    assert_refused(world, "400 Bad Request", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    assert_refused(world, "400 Bad Request", "POST / HTTP/1.1\r\n Content-Length: 5\r\nHost: x\r\n\r\n");
}

/* Not only the handler's: an app reads one kind of error. */
TEST(the_servers_own_errors_are_problems, struct world *world) {
    static const struct {
        const char *status, *request;
    } CASES[] = {
        {"400 Bad Request", "GET / HTTP/1.1\r\n\r\n"},
        {"400 Bad Request", "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"},
        {"400 Bad Request", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n"},
        {"400 Bad Request", "GET /a%00b HTTP/1.1\r\nHost: x\r\n\r\n"},
        {"400 Bad Request", "GET /?a=%00 HTTP/1.1\r\nHost: x\r\n\r\n"},
        {"413 Content Too Large", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n"},
        {"417 Expectation Failed", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: tea\r\n\r\n"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) assert_refused(world, CASES[i].status, CASES[i].request);
    FREED char *address = mem_format("GET /%09000d HTTP/1.1\r\nHost: x\r\n\r\n", 0);
    assert_refused(world, "414 URI Too Long", address);
    FREED char *field = mem_format("GET / HTTP/1.1\r\nHost: x\r\nX: %040000d\r\n\r\n", 0);
    assert_refused(world, "431 Request Header Fields Too Large", field);
}

/* Here our text ends, and others' goes on. */
TEST(a_raw_nul_in_the_request_line_is_refused, struct world *world) {
    static const char TEXTS[][48] = {"GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n", "GET /?a\0 HTTP/1.1\r\nHost: x\r\n\r\n",
                                     "G\0T / HTTP/1.1\r\nHost: x\r\n\r\n"};
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        size_t size = sizeof TEXTS[i];
        while (!TEXTS[i][size - 1]) size--;
        int fd = raw_connect(world);
        raw_send(world, fd, TEXTS[i], size);
        FREED char *reply = raw_read(world, fd, NULL);
        assert_contains(reply, "HTTP/1.1 400 Bad Request\r\n");
        assert_contains(reply, "application/problem+json");
        close(fd);
    }
    assert_int_equal(world->handled, 0);
}

TEST(bodies_are_invited_when_the_client_asks, struct world *world) {
    FREED_BY(kit_close) int fd = raw_connect(world);
    raw_text(world, fd, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    free(raw_read(world, fd, "HTTP/1.1 100 Continue\r\n\r\n"));
    raw_text(world, fd, "ok");
    free(raw_read(world, fd, "POST|/|(none)|(none)|ok"));
}

/* Byte by byte, as a slow network brings them. */
TEST(requests_may_come_in_pieces, struct world *world) {
    static const char TEXT[] =
        "POST /?a=1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
        "\r\nGET /?a=2 HTTP/1.1\r\nHost: x\r\n\r\n";
    FREED_BY(kit_close) int fd = raw_connect(world);
    for (size_t i = 0; i < sizeof TEXT - 1; i++) raw_send(world, fd, TEXT + i, 1);
    FREED char *reply = raw_read(world, fd, "|2|(none)|");
    assert_contains(reply, "\r\n\r\nPOST|/|1|(none)|abc");
}

/* Bytes now and then do not keep a place that others wait for. */
TEST(a_slow_head_is_cut_off) {
    struct world *world = world_new((struct http_server_options){.times = {.head_s = 1}});
    FREED_BY(kit_close) int fd = raw_connect(world);
    raw_text(world, fd, "GET / HTTP/1.1\r\nHost: ");
    int64_t next_us = 0;
    world_until(world, http_server_connections(world->server) == 1);
    while (http_server_connections(world->server)) {
        int64_t now_us = clock_monotonic_us();
        if (now_us > next_us) raw_text(world, fd, "x");
        if (now_us > next_us) next_us = now_us + 100000;
        world_turn(world);
    }
}

static void ended(void *context, const struct http_request *request, unsigned status) {
    struct buffer *seen = ((struct world *)context)->answered;
    buffer_format(seen, "%s %s %u,", http_method(request), http_path(request), status);
    assert_true(http_age_us(request) >= 0);
}

TEST(every_answer_is_told) {
    FREED_BUFFER seen = {.size = 0};
    struct world *world = world_new((struct http_server_options){.answered = ended, .max_body = 10});
    world->answered = &seen;
    assert_int_equal(world_fetch(world, "GET", "/busy", NULL).status, 503);
    FREED_BUFFER body = {.size = 0};
    buffer_string(&body, "more than ten bytes");
    assert_int_equal(world_fetch(world, "PUT", "/a", &body).status, 413);
    free(exchange(world, "GET /b HTTP/1.1\r\n\r\n", NULL));
    assert_string_equal(buffer_cstring(&seen), "GET /busy 503,PUT /a 413,GET /b 400,");
}

/* The connection is closed, and nothing behind the garbage is read as a second request. */
TEST(garbage_does_not_reach_the_handler, struct world *world) {
    FREED char *line = mem_format("%070000d", 0);
    char *inputs[] = {
        mem_string("\x16\x03\x01\x02garbage\r\n\r\n"),
        mem_string("nonsense\r\n\r\n"),
        mem_string("GET\r\n\r\n"),
        mem_string("GET / HTTP/1.1x\r\nHost: x\r\n\r\n"),
        mem_string("GET / HTTP/3.0\r\nHost: x\r\n\r\n"),
        mem_string("GET / HTTP/1.1\r\nHost: x\r\nno field\r\n\r\n"),
        mem_string("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"),
        mem_string("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 5\r\n\r\nhello"),
        mem_string("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\nhello"),
        mem_string("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"),
        mem_string("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhellox\r\n"),
        mem_format("GET /%s HTTP/1.1\r\nHost: x\r\n\r\n", line),
        mem_format("GET / HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n", line),
    };
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        FREED char *both = mem_format("%sGET /second HTTP/1.1\r\nHost: x\r\n\r\n", inputs[i]);
        FREED char *reply = exchange(world, both, NULL);
        assert_contains(reply, "HTTP/1.1 4");
        assert_contains(reply, "application/problem+json");
        if (strstr(reply + 1, "HTTP/1.1 ")) fail_msg("more than one answer: %s", reply);
        free(inputs[i]);
    }
    assert_int_equal(world->handled, 0);
    assert_int_equal(world_fetch(world, "GET", "/", NULL).status, 200);
}

TEST(ports_are_shared_only_when_asked) {
    struct world *world = world_new((struct http_server_options){.reuse_port = true});
    char *listen = mem_format("127.0.0.1:%d", http_server_port(world->server));
    struct world *twin = world_new((struct http_server_options){.reuse_port = true, .listen = listen});
    assert_int_equal(http_server_port(twin->server), http_server_port(world->server));
    world_free(twin);

    struct http_server *server = NULL;
    struct error error = {.text = ""};
    struct http_server_options options = {.loop = &world->loop, .listen = listen};
    assert_int_equal(http_server_new(&options, &server, &error), -EADDRINUSE);
    assert_contains(error.text, listen);
    free(listen);
    static const char *const WRONG[] = {
        "", "8080", "host", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:80x", "::1:80", "[::1]80", "127.0.0.1:-1"};
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        options.listen = WRONG[i];
        assert_int_equal(http_server_new(&options, &server, &error), -EINVAL);
    }
    assert_null(server);
}
