/* Tests http_gzip.c and http_body.c. Answers that are packed with gzip: for whom, that they hold the body, and what they cost while a
 * client takes its time. */
#include <fcntl.h>
#include <malloc.h>
#include <sys/socket.h>
#include <zlib.h>

#include "service/http_gzip.h"
#include "unit/kit/kit.h"
#include "unit/lib/service/world.h"

#if defined(__SANITIZE_ADDRESS__)
size_t __sanitizer_get_current_allocated_bytes(void); // gcc comes without its header
#endif

/* ---- packing ---- */

TEST(gzip_is_accepted_as_rfc_9110_says) {
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
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++)
        if (http_gzip_accepted(CASES[i].accept) != CASES[i].accepted) fail_msg("%s", CASES[i].accept);
}

TEST(small_or_packed_things_are_not_packed) {
    struct http_gzip *gzip = http_gzip_new(100);
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
TEST(packed_answers_hold_the_body) {
    enum { MOST = 1024 * 1024, ROOM = 2 * MOST };
    static const size_t SIZES[] = {100, 5000, HTTP_GZIP_STEP, HTTP_GZIP_STEP + 1, 3 * HTTP_GZIP_STEP, MOST};
    struct world *world = world_new((struct http_server_options){.gzip_least = 100});
    FREED char *reply = mem_alloc(ROOM);
    FREED unsigned char *packed = mem_alloc(ROOM), *unpacked = mem_alloc(ROOM);
    FREED unsigned char *body = mem_alloc(MOST);
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
}

TEST(clients_may_go_while_an_answer_is_packed) {
    struct world *world = world_new((struct http_server_options){.gzip_least = 100});
    size_t size = 8 * 1024 * 1024;
    FREED char *body = mem_alloc(size);
    for (size_t at = 0; at < size; at++) body[at] = (char)rand();
    int fd = raw_connect(world);
    raw_text(world, fd, "GET /hold HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n");
    world_until(world, world->held_count == 1);
    http_reply(world->held[0], 200, "text/plain", body, size, NULL, 0);
    for (int i = 0; i < 20; i++) world_turn(world);
    close(fd);
    assert_int_equal(world_fetch(world, "GET", "/", NULL).status, 200);
}

static size_t allocated(void) {
#if defined(__SANITIZE_ADDRESS__)
    return __sanitizer_get_current_allocated_bytes();
#else
    return mallinfo2().uordblks + mallinfo2().hblkhd;
#endif
}

/* Memory that is kept while slow readers take their time. */
TEST(packing_takes_little_memory) {
    enum { READERS = 32, SIZE = 2 * HTTP_GZIP_STEP };
    struct http_gzip *gzip = http_gzip_new(100);
    struct http_body bodies[READERS];
    FREED char *body = mem_zero(1, SIZE);
    size_t before = allocated();
    for (int i = 0; i < READERS; i++) bodies[i] = http_gzip_body(gzip, body, SIZE);
    assert_true(allocated() - before < (size_t)READERS * (SIZE + HTTP_GZIP_STATE));
    for (int i = 0; i < READERS; i++) http_body_free(&bodies[i]);
    // A body that never changes is packed once.
    before = allocated();
    for (int i = 0; i < READERS; i++) bodies[i] = http_gzip_constant(gzip, body, SIZE);
    assert_true(allocated() - before < (size_t)READERS * 4096);
    for (int i = 0; i < READERS; i++) http_body_free(&bodies[i]);
    http_gzip_free(gzip);
}

TEST(constant_answers_are_packed_too) {
    enum { SIZE = 3 * HTTP_GZIP_STEP, ROOM = 2 * SIZE };
    static char constant[6][SIZE]; // more than are kept
    struct world *world = world_new((struct http_server_options){.gzip_least = 100});
    FREED char *reply = mem_alloc(ROOM);
    FREED unsigned char *packed = mem_alloc(ROOM), *unpacked = mem_alloc(ROOM);
    for (size_t i = 0; i < 3 * ARRAY_SIZE(constant); i++) {
        char *body = constant[i % ARRAY_SIZE(constant)];
        memset(body, 'a' + (int)(i % ARRAY_SIZE(constant)), SIZE);
        int fd = raw_connect(world);
        raw_text(world, fd,
                 i % 3 ? "GET /hold HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n"
                       : "GET /hold HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        world_until(world, world->held_count == i + 1);
        http_reply_constant(world->held[i], "text/plain", body, SIZE, NULL, 0);
        size_t count = body_of(reply, read_all(world, fd, reply, ROOM), packed);
        close(fd);
        assert_contains(reply, "\r\nVary: Accept-Encoding");
        if (i % 3) count = unpack(packed, count, unpacked, ROOM);
        assert_int_equal(count, SIZE);
        assert_memory_equal(i % 3 ? unpacked : packed, body, SIZE);
    }
}

TEST(other_clients_get_it_as_it_is) {
    struct world *world = world_new((struct http_server_options){.gzip_least = 10});
    FREED char *reply = raw_say(world, "GET", "/", "");
    assert_contains(reply, "\r\nVary: Accept-Encoding\r\n");
    assert_null(strstr(reply, "Content-Encoding"));
    assert_contains(reply, "\r\n\r\nGET|/|");
}

static void write_file(const char *folder, const char *name, size_t size) {
    FREED char *path = mem_format("%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    for (size_t at = 0; at < size; at++) fputc((int)(at % 64 + ' '), file);
    assert_int_equal(fclose(file), 0);
}

static void check_packed_file(struct world *world, const char *path, size_t size) {
    enum { ROOM = 128 * 1024 };
    FREED char *reply = mem_alloc(ROOM);
    FREED unsigned char *packed = mem_alloc(ROOM), *unpacked = mem_alloc(ROOM);
    int fd = raw_connect(world);
    char *request =
        mem_format("GET %s HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n", path);
    raw_text(world, fd, request);
    free(request);
    size_t count = body_of(reply, read_all(world, fd, reply, ROOM), packed);
    close(fd);
    assert_contains(reply, "\r\nContent-Encoding: gzip");
    assert_contains(reply, "\r\nVary: Accept-Encoding");
    assert_contains(reply, "\r\nETag: W/\"");
    assert_contains(reply, "\r\nContent-Type: text/javascript");
    assert_true(count < size / 4);
    assert_int_equal(unpack(packed, count, unpacked, ROOM), size);
    for (size_t at = 0; at < size; at++) assert_int_equal(unpacked[at], at % 64 + ' ');
}

TEST(files_are_packed_too) {
    static const char *const NAMES[] = {"app.js", "large.js", "x.png"};
    static const size_t SIZES[] = {20000, HTTP_GZIP_STEP, 20000};
    static const char *const PATHS[] = {"/files/app.js", "/files/large.js", "/files/x.png"};
    char *folder = kit_folder();
    struct world *world = world_new((struct http_server_options){.gzip_least = 100});
    for (size_t i = 0; i < ARRAY_SIZE(NAMES); i++) write_file(folder, NAMES[i], SIZES[i]);
    snprintf(world->root, sizeof world->root, "%s", folder);
    for (size_t i = 0; i < 2; i++) check_packed_file(world, PATHS[i], SIZES[i]);
    char *reply = raw_say(world, "GET", PATHS[0], "If-None-Match: *\r\n");
    assert_contains(reply, "HTTP/1.1 304 ");
    assert_contains(reply, "\r\nVary: Accept-Encoding");
    free(reply);
    for (size_t i = 0; i < ARRAY_SIZE(PATHS); i++) {
        reply = raw_say(world, "GET", PATHS[i], i == 2 ? "Accept-Encoding: gzip\r\n" : "");
        assert_null(strstr(reply, "Content-Encoding"));
        assert_int_equal(!strstr(reply, "Vary: Accept-Encoding"), i == 2);
        assert_int_equal(strlen(strstr(reply, "\r\n\r\n") + 4), SIZES[i]);
        free(reply);
    }
}

TEST(a_handler_may_name_another_field) {
    struct world *world = world_new((struct http_server_options){.gzip_least = 100});
    FREED_BY(kit_close) int fd = raw_connect(world);
    raw_text(world, fd, "GET /hold HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    world_until(world, world->held_count == 1);
    http_set_varies(world->held[0], "Accept");
    http_problem(world->held[0], 406, "not_acceptable", "x", 0);
    FREED char *reply = raw_read(world, fd, NULL);
    assert_contains(reply, "\r\nVary: Accept\r\n");
}

/* The next descriptor that the process gets: rises when one is kept. */
static int next_descriptor(void) {
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    close(fd);
    return fd;
}

/* Sent to the end, in part, or not at all. */
TEST(a_packed_file_is_closed) {
    enum { SIZE = 2 * HTTP_GZIP_STEP };
    char *folder = kit_folder(), out[4096];
    FREED char *path = mem_format("%s/a.txt", folder);
    int before = next_descriptor();
    write_file(folder, "a.txt", SIZE);
    for (int steps = 0; steps < 1000; steps += steps < 2 ? 1 : 998) {
        struct http_body body = http_gzip_file(open(path, O_RDONLY | O_CLOEXEC), SIZE);
        assert_true(next_descriptor() > before);
        for (int i = 0; i < steps && http_packing_next(body.packing, out, sizeof out); i++) continue;
        assert_true(http_body_held(&body) < HTTP_GZIP_STATE + 2 * HTTP_GZIP_STEP);
        http_body_free(&body);
        assert_int_equal(next_descriptor(), before);
    }
}
