/* What answers of the HTTP server depend on: packing, pages of other origins, entity tags, and OPTIONS. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "service/http_gzip.h"
#include "service_world.h"

#define assert_contains(text, part)                                                                                    \
    do {                                                                                                               \
        if (!strstr(text, part)) fail_msg("no \"%s\" in: %s", part, text);                                             \
    } while (0)

/* Sends GET or OPTIONS with those fields; what comes until the server closes. */
static char *say(struct world *world, const char *method, const char *path, const char *fields) {
    char *request = mem_format("%s %s HTTP/1.1\r\nHost: x\r\n%sConnection: close\r\n\r\n", method, path, fields);
    int fd = raw_connect(world);
    raw_text(world, fd, request);
    char *reply = raw_read(world, fd, NULL);
    close(fd);
    free(request);
    return reply;
}

/* ---- packing ---- */

static void gzip_is_accepted_as_rfc_9110_says(void **state) {
    static const struct {
        const char *accept;
        bool accepted;
    } CASES[] = {
        {NULL, false},
        {"", false},
        {"gzip", true},
        {"GZip", true},
        {"x-gzip", true},
        {"deflate, gzip;q=0.5, br", true},
        {"gzip ; q=1.000", true},
        {"gzip;q=0", false},
        {"gzip; Q = 0.00", false},
        {"gzip;q=0.001", true},
        {"gzipped", false},
        {"br, deflate", false},
        {"*", true},
        {"*;q=0", false},
        {"*, gzip;q=0", false},
        {"gzip, *;q=0", true},
        {"identity", false},
        {",,gzip", true},
        {"gzip;q=", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++)
        if (http_gzip_accepted(CASES[i].accept) != CASES[i].accepted) fail_msg("%s", CASES[i].accept);
}

static void small_or_packed_things_are_not_packed(void **state) {
    struct http_gzip *gzip = http_gzip_new(100);
    (void)state;
    assert_true(http_gzip_varies(gzip, "application/json", 100));
    assert_true(http_gzip_varies(gzip, "text/plain; charset=utf-8", 100));
    assert_false(http_gzip_varies(gzip, "application/json", 99));
    assert_false(http_gzip_varies(gzip, "image/png", 1000));
    assert_false(http_gzip_varies(gzip, NULL, 1000));
    assert_false(http_gzip_varies(NULL, "application/json", 1000));
    http_gzip_free(gzip);
}

/* The body behind a head, without chunks' sizes. */
static size_t body_of(char *reply, size_t size, unsigned char *body) {
    char *head_end = memmem(reply, size, "\r\n\r\n", 4);
    assert_non_null(head_end);
    *head_end = '\0';
    char *at = head_end + 4;
    size_t count = 0;
    if (!strstr(reply, "Transfer-Encoding: chunked")) {
        memcpy(body, at, size - (size_t)(at - reply));
        return size - (size_t)(at - reply);
    }
    for (;;) {
        size_t chunk = strtoul(at, &at, 16);
        if (!chunk) return count;
        memcpy(body + count, at + 2, chunk);
        count += chunk;
        at += 2 + chunk + 2;
    }
}

static size_t unpack(const unsigned char *packed, size_t size, unsigned char *out, size_t room) {
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)packed,
                       .avail_in = (uInt)size,
                       .next_out = out,
                       .avail_out = (uInt)room};
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    inflateEnd(&stream);
    return room - stream.avail_out;
}

/* All that comes until the server closes, which may hold NULs. */
static size_t read_all(struct world *world, int fd, char *out, size_t room) {
    size_t count = 0;
    int64_t started_us = clock_monotonic_us();
    for (;;) {
        ssize_t got = recv(fd, out + count, room - count, MSG_DONTWAIT);
        if (got == 0) return count;
        if (got > 0) count += (size_t)got;
        if (clock_monotonic_us() - started_us > 10000000) fail_msg("the answer does not end");
        world_turn(world);
    }
}

/* Sizes around the step at which an answer is packed as it is sent, and bodies that pack well or not at all. */
static void packed_answers_hold_the_body(void **state) {
    enum { MOST = 1024 * 1024, ROOM = 2 * MOST };
    static const size_t SIZES[] = {100, 5000, HTTP_GZIP_STEP, HTTP_GZIP_STEP + 1, 3 * HTTP_GZIP_STEP, MOST};
    struct world *world = world_new((struct http_server_options){.gzip_least = 100});
    char *reply = mem_alloc(ROOM);
    unsigned char *packed = mem_alloc(ROOM), *unpacked = mem_alloc(ROOM);
    unsigned char *body = mem_alloc(MOST);
    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_SIZE(SIZES); i++) {
        size_t size = SIZES[i / 2];
        for (size_t at = 0; at < size; at++) body[at] = (unsigned char)(i % 2 ? (uint64_t)rand() : at % 64 + ' ');
        int fd = raw_connect(world);
        raw_text(world, fd, "GET /hold HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n");
        world_until(world, world->held_count == i + 1);
        http_reply(world->held[i], 200, "application/json", body, size, NULL, 0);
        size_t count = body_of(reply, read_all(world, fd, reply, ROOM), packed);
        close(fd);
        assert_contains(reply, "\r\nContent-Encoding: gzip");
        assert_contains(reply, "\r\nVary: Accept-Encoding");
        if (i % 2 == 0 && size >= 5000) assert_true(count < size / 2);
        assert_int_equal(unpack(packed, count, unpacked, ROOM), size);
        assert_memory_equal(unpacked, body, size);
    }
    free(body);
    free(unpacked);
    free(packed);
    free(reply);
    world_free(world);
}

static void clients_may_go_while_an_answer_is_packed(void **state) {
    struct world *world = world_new((struct http_server_options){.gzip_least = 100});
    size_t size = 8 * 1024 * 1024;
    char *body = mem_alloc(size);
    (void)state;
    for (size_t at = 0; at < size; at++) body[at] = (char)rand();
    int fd = raw_connect(world);
    raw_text(world, fd, "GET /hold HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n");
    world_until(world, world->held_count == 1);
    http_reply(world->held[0], 200, "text/plain", body, size, NULL, 0);
    for (int i = 0; i < 20; i++) world_turn(world);
    close(fd);
    assert_int_equal(world_fetch(world, "GET", "/", NULL).status, 200);
    free(body);
    world_free(world);
}

static void other_clients_get_it_as_it_is(void **state) {
    struct world *world = world_new((struct http_server_options){.gzip_least = 10});
    (void)state;
    char *reply = say(world, "GET", "/", "");
    assert_contains(reply, "\r\nVary: Accept-Encoding\r\n");
    assert_null(strstr(reply, "Content-Encoding"));
    assert_contains(reply, "\r\n\r\nGET|/|");
    free(reply);
    world_free(world);
}

/* ---- pages of other origins ---- */

static struct http_cors *cors_of(const char *origins) {
    struct http_cors *cors;
    struct error error;
    if (http_cors_new(origins, &cors, &error)) fail_msg("%s", error.text);
    return cors;
}

static void origins_are_read(void **state) {
    static const char *const BAD[] = {
        "app.example", "https://",    "https://app.example/", "https://App.example", "https://a?b", "://a",
        "https://:80", "https://u@a", "https://*.example",    "https://a https:/",   "null"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++) {
        struct http_cors *cors;
        struct error error;
        if (http_cors_new(BAD[i], &cors, &error) != -EINVAL) fail_msg("%s", BAD[i]);
    }
    assert_null(cors_of(""));
    assert_null(cors_of(" , "));
    http_cors_free(cors_of("https://app.example,http://[::1]:3000 *"));
}

static void known_origins_may_read_answers(void **state) {
    struct http_cors *cors = cors_of("https://app.example, http://localhost:3000");
    struct world *world = world_new((struct http_server_options){.cors = cors});
    (void)state;
    char *reply = say(world, "GET", "/", "Origin: http://localhost:3000\r\n");
    assert_contains(reply, "\r\nAccess-Control-Allow-Origin: http://localhost:3000\r\n");
    assert_contains(reply, "\r\nAccess-Control-Expose-Headers: ETag, Retry-After, Location, Allow, Link\r\n");
    assert_contains(reply, "\r\nVary: Origin\r\n");
    free(reply);
    reply = say(world, "GET", "/bearer", "Origin: https://app.example\r\n"); /* problems, too */
    assert_contains(reply, "HTTP/1.1 401 ");
    assert_contains(reply, "\r\nAccess-Control-Allow-Origin: https://app.example\r\n");
    free(reply);
    static const char *const OTHERS[] = {"",
                                         "Origin: https://app.example.evil\r\n",
                                         "Origin: https://app.exampl\r\n",
                                         "Origin: http://app.example\r\n",
                                         "Origin: null\r\n",
                                         "Origin: \r\n"};
    for (size_t i = 0; i < ARRAY_SIZE(OTHERS); i++) {
        reply = say(world, "GET", "/", OTHERS[i]);
        if (strstr(reply, "Access-Control")) fail_msg("%s", OTHERS[i]);
        assert_contains(reply, "\r\nVary: Origin\r\n");
        free(reply);
    }
    world_free(world);
    http_cors_free(cors);
}

static void browsers_may_ask_before_they_send(void **state) {
    struct http_cors *cors = cors_of("*");
    struct world *world = world_new((struct http_server_options){.cors = cors});
    (void)state;
    char *reply = say(world, "OPTIONS", "/", "Origin: https://any.example\r\nAccess-Control-Request-Method: PUT\r\n");
    assert_contains(reply, "HTTP/1.1 204 ");
    assert_contains(reply, "\r\nAllow: GET, PUT, OPTIONS\r\n");
    assert_contains(reply, "\r\nAccess-Control-Allow-Methods: GET, PUT, OPTIONS\r\n");
    assert_contains(reply,
                    "\r\nAccess-Control-Allow-Headers: Authorization, Content-Type, If-None-Match, traceparent\r\n");
    assert_contains(reply, "\r\nAccess-Control-Allow-Origin: *\r\n");
    free(reply);
    reply = say(world, "OPTIONS", "/", ""); /* no browser */
    assert_contains(reply, "\r\nAllow: GET, PUT, OPTIONS\r\n");
    assert_null(strstr(reply, "Access-Control"));
    free(reply);
    world_free(world);
    http_cors_free(cors);
}

/* ---- entity tags ---- */

static void tags_match_weakly(void **state) {
    (void)state;
    static const struct {
        const char *list;
        bool matches;
    } CASES[] = {
        {NULL, false},
        {"", false},
        {"*", true},
        {"W/\"12.345\"", true},
        {"\"12.345\"", true},
        {"\"a\", W/\"12.345\" ,\"b\"", true},
        {"W/\"12.34\"", false},
        {"12.345", false},
        {"W/\"12.345", false},
        {"\"a,b\",\"c\"", false},
        {"\"a", false},
        {"\"12.345\"x", false},
        {",,\"12.345\"", true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++)
        if (http_tag_matches(CASES[i].list, "W/\"12.345\"") != CASES[i].matches) fail_msg("%s", CASES[i].list);
}

static void same_body_is_not_sent_again(void **state) {
    struct world *world = world_new((struct http_server_options){.max_body = 0});
    (void)state;
    char *reply = say(world, "GET", "/tagged?a=1", "");
    assert_contains(reply, "HTTP/1.1 200 ");
    assert_contains(reply, "\r\nCache-Control: private, no-cache\r\n");
    char tag[32], fields[64];
    snprintf(tag, sizeof tag, "%.*s", 20, strstr(reply, "ETag: ") + 6);
    free(reply);
    snprintf(fields, sizeof fields, "If-None-Match: %s\r\n", tag);
    reply = say(world, "GET", "/tagged?a=1", fields);
    assert_contains(reply, "HTTP/1.1 304 ");
    assert_contains(reply, tag);
    assert_string_equal(strstr(reply, "\r\n\r\n"), "\r\n\r\n");
    free(reply);
    reply = say(world, "GET", "/tagged?a=2", fields);
    assert_contains(reply, "HTTP/1.1 200 ");
    free(reply);
    world_free(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gzip_is_accepted_as_rfc_9110_says),
        cmocka_unit_test(small_or_packed_things_are_not_packed),
        cmocka_unit_test(packed_answers_hold_the_body),
        cmocka_unit_test(clients_may_go_while_an_answer_is_packed),
        cmocka_unit_test(other_clients_get_it_as_it_is),
        cmocka_unit_test(origins_are_read),
        cmocka_unit_test(known_origins_may_read_answers),
        cmocka_unit_test(browsers_may_ask_before_they_send),
        cmocka_unit_test(tags_match_weakly),
        cmocka_unit_test(same_body_is_not_sent_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
