/* Tests chunks.c, field.c, head.c and target.c. Heads of requests, addresses and chunks, as two servers must read them alike. */
#include "http/chunks.h"
#include "http/head.h"
#include "http/target.h"
#include "unit/kit/kit.h"

#define HOST "Host: x\r\n"
#define END "\r\n"

/* The status with which a head is refused; 0: it is taken. The text's copy has no byte to spare. */
static unsigned status_of(const char *text, size_t size, struct http_head *head) {
    struct http_fault fault = {.status = 0};
    static char *copy;
    free(copy);
    copy = mem_alloc(size);
    memcpy(copy, text, size);
    ssize_t whole = http_head_size(copy, size, 0);
    if (whole < 0) return 400;
    if (!whole) return http_head_exceeds(copy, size, &fault) ? fault.status : 1;
    return http_head_read(copy, (size_t)whole, head, &fault) ? fault.status : 0;
}

#define CASE(status, text)                                                                                             \
    { status, text, sizeof(text) - 1 }

TEST(what_servers_could_read_differently_is_refused) {
    static const struct {
        unsigned status;
        const char *text;
        size_t size;
    } CASES[] = {
        CASE(0, "GET / HTTP/1.1\r\n" HOST END),
        CASE(0, "GET / HTTP/1.0\r\n" END),
        CASE(0, "GET / HTTP/1.7\r\n" HOST END),
        CASE(0, "OPTIONS * HTTP/1.1\r\n" HOST END),
        CASE(0, "GET /caf\xc3\xa9 HTTP/1.1\r\n" HOST END),
        CASE(0, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: Chunked \r\n" END),
        CASE(0, "POST / HTTP/1.1\r\n" HOST "Content-Length: \t 14 \t\r\n" END),
        CASE(0, "POST / HTTP/1.1\r\n" HOST "Content-Length:14\r\nX:\r\nY: a\tb\xc3\xa9\r\n" END),
        CASE(400, "GET / HTTP/1.1\n" HOST END),
        CASE(400, "GET / HTTP/1.1\r\nHost: x\n" END),
        CASE(400, "GET / HTTP/1.1\r\n" HOST "\n"),
        CASE(400, "\x16\x03\x01\x02"),
        CASE(400, " GET / HTTP/1.1\r\n" HOST END),
        CASE(400, "nonsense\r\n" END),
        CASE(400, "GET\r\n" END),
        CASE(400, "GET /\r\n" END),
        CASE(400, "GET  / HTTP/1.1\r\n" HOST END),
        CASE(400, "GET / HTTP/1.1 \r\n" HOST END),
        CASE(400, "GET / HTTP/1.1x\r\n" HOST END),
        CASE(400, "GET / HTTP/1.10\r\n" HOST END),
        CASE(400, "GET / http/1.1\r\n" HOST END),
        CASE(400, "GET / HTTP/2.0\r\n" HOST END),
        CASE(400, "GET /a b HTTP/1.1\r\n" HOST END),
        CASE(400, "GET /a\tb HTTP/1.1\r\n" HOST END),
        CASE(400, "GET /a\0b HTTP/1.1\r\n" HOST END),
        CASE(400, "G\0T / HTTP/1.1\r\n" HOST END),
        CASE(400, "G(T / HTTP/1.1\r\n" HOST END),
        CASE(400, "GET /a%00b HTTP/1.1\r\n" HOST END),
        CASE(400, "GET a HTTP/1.1\r\n" HOST END),
        CASE(400, "CONNECT x:80 HTTP/1.1\r\n" HOST END),
        CASE(400, "GET ftp://x/ HTTP/1.1\r\n" HOST END),
        CASE(400, "GET http:///a HTTP/1.1\r\n" HOST END),
        CASE(400, "GET http://a@b/ HTTP/1.1\r\n" HOST END),
        CASE(400, "GET http://a/ HTTP/1.1\r\n" END),
        CASE(400, "GET / HTTP/1.1\r\n" END),
        CASE(400, "GET / HTTP/1.1\r\n" HOST HOST END),
        CASE(400, "GET / HTTP/1.1\r\nHost: a, b\r\n" END),
        CASE(400, "GET / HTTP/1.1\r\nHost: a/b\r\n" END),
        CASE(400, "GET / HTTP/1.1\r\nHost: a b\r\n" END),
        CASE(400, "GET / HTTP/1.1\r\nHost : x\r\n" END),
        CASE(400, "GET / HTTP/1.1\r\n" HOST "no field\r\n" END),
        CASE(400, "GET / HTTP/1.1\r\n" HOST ": x\r\n" END),
        CASE(400, "GET / HTTP/1.1\r\n" HOST "X: a\r\n folded\r\n" END),
        CASE(400, "GET / HTTP/1.1\r\n X: a\r\n" HOST END),
        CASE(400, "GET / HTTP/1.1\r\n" HOST "X: a\0b\r\n" END),
        CASE(400, "GET / HTTP/1.1\r\n" HOST "X\0: a\r\n" END),
        CASE(400, "GET / HTTP/1.1\r\n" HOST "\0\r\n" END),
        CASE(400, "GET / HTTP/1.1\r\n" HOST "X: a\rContent-Length: 5\r\n" END),
        CASE(400, "GET / HTTP/1.1\r\n" HOST "X: a\x7f\r\n" END),
        CASE(400, "POST / HTTP/1.1\r\n" HOST "Content-Length : 5\r\n" END),
        CASE(400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 5\r\n" END),
        CASE(400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\ncontent-length: 6\r\n" END),
        CASE(400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 5, 5\r\n" END),
        CASE(400, "POST / HTTP/1.1\r\n" HOST "Content-Length: \r\n" END),
        CASE(400, "POST / HTTP/1.1\r\n" HOST "Content-Length: +5\r\n" END),
        CASE(400, "POST / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n" END),
        CASE(400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 0x5\r\n" END),
        CASE(400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 5\0\r\n" END),
        CASE(400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999\r\n" END),
        CASE(400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n" END),
        CASE(400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n" END),
        CASE(400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n" END),
        CASE(400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\0\r\n" END),
        CASE(501, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n" END),
        CASE(501, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n" END),
        CASE(501, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding:\r\n" END),
        CASE(501, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n" END),
        CASE(501, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, chunked\r\n" END),
        CASE(417, "POST / HTTP/1.1\r\n" HOST "Expect: tea\r\n" END),
        CASE(1, "GET / HTTP/1.1\r\n" HOST),
        CASE(1, "GET / HTTP/1.1\r\n" HOST "\r"),
    };
    struct http_head head;
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        unsigned status = status_of(CASES[i].text, CASES[i].size, &head);
        if (status != CASES[i].status) fail_msg("%u instead of %u: %s", status, CASES[i].status, CASES[i].text);
    }
}

TEST(a_head_is_read) {
    static const char TEXT[] = "PUT /a?b HTTP/1.1\r\nHost: a.example:80\r\nX-One:\t one two \t\r\nx-one:\r\n"
                               "Connection: x, Close\r\nExpect: 100-Continue\r\nContent-Length: 0017\r\n\r\n";
    struct http_head head;
    FREED_BUFFER values = {.size = 0};
    assert_int_equal(status_of(TEXT, sizeof TEXT - 1, &head), 0);
    assert_string_equal(head.method, "PUT");
    assert_string_equal(head.target, "/a?b");
    assert_string_equal(head.host, "a.example:80");
    assert_int_equal(head.minor, 1);
    assert_int_equal(head.length, 17);
    assert_true(head.closes && head.expects_continue && !head.chunked);
    assert_int_equal(head.field_count, 6);
    assert_string_equal(http_field_find(head.fields, head.field_count, "x-oNE"), "one two");
    assert_null(http_field_find(head.fields, head.field_count, "x"));
    assert_int_equal(http_field_gather(head.fields, head.field_count, "X-One", &values), 2);
    assert_string_equal(buffer_cstring(&values), "one two,");
    for (size_t known = 0; known < sizeof TEXT - 2; known++) {
        assert_int_equal(http_head_size(TEXT, known, known ? known - 1 : 0), 0);
        assert_int_equal(http_head_size(TEXT, sizeof TEXT - 1, known), sizeof TEXT - 1);
    }
}

/* As proxies are asked: the host of the address goes before the field (RFC 9112, 3.2.2). */
TEST(absolute_addresses_are_read) {
    static const struct {
        const char *target, *host, *rest;
    } CASES[] = {
        {"http://a.example/b?c", "a.example", "/b?c"}, {"HTTPS://a.example:443/", "a.example:443", "/"},
        {"http://a.example", "a.example", "/"},        {"http://a.example?b=/", "a.example", "/?b=/"},
        {"http://[::1]:80/x", "[::1]:80", "/x"},       {"/http://a/", "x", "/http://a/"},
    };
    struct http_head head;
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        FREED char *text = mem_format("GET %s HTTP/1.1\r\n" HOST END, CASES[i].target);
        assert_int_equal(status_of(text, strlen(text), &head), 0);
        assert_string_equal(head.host, CASES[i].host);
        assert_string_equal(head.target, CASES[i].rest);
    }
}

TEST(heads_have_their_limits) {
    struct http_head head;
    static const struct {
        unsigned status;
        const char *before, *after;
        int zeros;
    } CASES[] = {
        {0, "GET /", " HTTP/1.1\r\n" HOST END, HTTP_TARGET_MAX - 1},
        {414, "GET /", " HTTP/1.1\r\n" HOST END, HTTP_TARGET_MAX},
        {414, "GET /", "", HTTP_TARGET_MAX + 100},
        {0, "GET / HTTP/1.1\r\n" HOST "X: ", END END, HTTP_HEAD_MAX - 100},
        {431, "GET / HTTP/1.1\r\n" HOST "X: ", END END, HTTP_HEAD_MAX},
        {431, "GET / HTTP/1.1\r\n" HOST "X: ", "", HTTP_HEAD_MAX},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        FREED char *text = mem_format("%s%0*d%s", CASES[i].before, CASES[i].zeros, 0, CASES[i].after);
        assert_int_equal(status_of(text, strlen(text), &head), CASES[i].status);
    }
    FREED_BUFFER many = {.size = 0};
    buffer_string(&many, "GET / HTTP/1.1\r\n" HOST);
    for (int i = 1; i < HTTP_FIELDS_MAX; i++) buffer_string(&many, "a:\r\n");
    buffer_string(&many, END);
    assert_int_equal(status_of((const char *)many.data, many.size, &head), 0);
    many.size -= 2;
    buffer_string(&many, "a:\r\n" END);
    assert_int_equal(status_of((const char *)many.data, many.size, &head), 431);
}

TEST(addresses_are_decoded) {
    static const struct {
        const char *target, *path, *parameters;
    } CASES[] = {
        {"/a%20b/%C3%BC+?b=1&a=x%26y+z", "/a b/\xc3\xbc+", "b=1|a=x&y z|"},
        {"/?a", "/", "a=|"},
        {"/?a=", "/", "a=|"},
        {"/?&&a==b&%61=c&", "/", "a==b|a=c|"},
        {"/%zz%4%", "/%zz%4%", ""},
        {"/a?b?c=%3f", "/a", "b?c=?|"},
        {"/", "/", ""},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct http_field parameters[4];
        size_t count = 4;
        FREED char *target = mem_string(CASES[i].target);
        FREED_BUFFER seen = {.size = 0};
        assert_true(http_target_read(target, parameters, &count));
        for (size_t p = 0; p < count; p++) buffer_format(&seen, "%s=%s|", parameters[p].name, parameters[p].value);
        assert_string_equal(target, CASES[i].path);
        assert_string_equal(buffer_cstring(&seen), CASES[i].parameters);
    }
    struct http_field one[1];
    size_t count = 1;
    char two[] = "/?a&b";
    assert_false(http_target_read(two, one, &count));
}

TEST(lists_are_searched) {
    assert_true(http_lists("a, Close ,b", "close", 5, true));
    assert_true(http_lists("close", "close", 5, true));
    assert_false(http_lists("Close", "close", 5, false));
    assert_false(http_lists("closed, clos, clo se,", "close", 5, true));
    assert_false(http_lists("", "close", 5, true));
}

/* What a body of chunks holds, read in pieces of so many bytes; NULL: it is broken, "..." behind the end: it is not whole. */
static char *body_of(const char *text, size_t size, size_t step) {
    struct http_chunks chunks = {.state = CHUNK_SIZE};
    struct buffer body = {.size = 0};
    size_t at = 0;
    while (at < size && chunks.state != CHUNK_DONE) {
        size_t part, room = size - at < step ? size - at : step;
        ssize_t over = http_chunks_read(&chunks, text + at, room, &part);
        if (over < 0) {
            buffer_free(&body);
            return NULL;
        }
        buffer_append(&body, text + at + over, part);
        at += (size_t)over + part;
    }
    buffer_string(&body, chunks.state != CHUNK_DONE ? "..." : "");
    buffer_append(&body, text + at, size - at); // what follows is nobody's yet
    char *copy = mem_string(buffer_cstring(&body));
    buffer_free(&body);
    return copy;
}

TEST(chunks_are_read_strictly) {
    static const struct {
        const char *body, *text;
        size_t size;
    } CASES[] = {
        CASE("abc", "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"),
        CASE("", "0\r\n\r\n"),
        CASE("GET /", "000\r\n\r\nGET /"),
        CASE("0123456789abcdef", "0010\r\n0123456789abcdef\r\n0\r\n\r\n"),
        CASE("ab", "2;name=\"va;lue\"\r\nab\r\n0;x\r\nA-Trailer: b c\r\n\r\n"),
        CASE("...", "5"),
        CASE("ab...", "5\r\nab"),
        CASE(NULL, "2\nab\r\n0\r\n\r\n"),
        CASE(NULL, "2\r\nab\n0\r\n\r\n"),
        CASE(NULL, "2\r\nab\r\n0\n\r\n"),
        CASE(NULL, "2\r\nab\r\n0\r\n\n"),
        CASE(NULL, "2\r\nabc\r\n0\r\n\r\n"),
        CASE(NULL, "2\0\r\nab\r\n0\r\n\r\n"),
        CASE(NULL, "\r\nab"),
        CASE(NULL, " 2\r\nab"),
        CASE(NULL, "2 \r\nab"),
        CASE(NULL, "0x2\r\nab"),
        CASE(NULL, "-2\r\nab"),
        CASE(NULL, "x\r\n"),
        CASE(NULL, "2;a\nb\r\nab"),
        CASE(NULL, "2;a\rb\r\nab"),
        CASE(NULL, "2;a\0\r\nab"),
        CASE(NULL, "ffffffffffffffffff\r\n"),
        CASE(NULL, "0\r\nno field\r\n\r\n"),
        CASE(NULL, "0\r\n folded: x\r\n\r\n"),
        CASE(NULL, "0\r\na: b\nc: d\r\n\r\n"),
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        for (size_t step = 1; step <= CASES[i].size; step++) {
            FREED char *body = body_of(CASES[i].text, CASES[i].size, step);
            if (!body != !CASES[i].body || (body && strcmp(body, CASES[i].body)))
                fail_msg("\"%s\" instead of \"%s\" of %s", body, CASES[i].body, CASES[i].text);
        }
    }
    for (int i = 0; i < 2; i++) {
        FREED char *text = mem_format("%s%0*d%s", i ? "0\r\na: " : "2;", i ? HTTP_TRAILER_MAX : HTTP_CHUNK_LINE_MAX, 0,
                                      i ? "\r\n\r\n" : "\r\nab\r\n0\r\n\r\n");
        assert_null(body_of(text, strlen(text), strlen(text)));
    }
}
