/* How requests are read: what is understood, what is refused and why, and that it does not matter how the bytes come in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "service/http_parse.h"

#define LINE "GET / HTTP/1.1\r\n"
#define HOST "Host: x\r\n"

/* The status of the refusal, 0 when the head is taken. */
static unsigned parse(const char *text, size_t size, struct http_head *head) {
    struct http_fault fault = {0};
    size_t seen = 0;
    *head = (struct http_head){.text = NULL};
    int end = http_head_end(text, size, &seen, &fault);
    if (end == 0) fail_msg("no end in: %s", text);
    if (end < 0) return fault.status;
    if (http_head_parse(text, (size_t)end, head, &fault) == 0) return 0;
    assert_true(*fault.code && *fault.detail);
    return fault.status;
}

static void refuses(unsigned status, const char *text) {
    struct http_head head;
    unsigned given = parse(text, strlen(text), &head);
    if (given != status) fail_msg("%u instead of %u: %s", given, status, text);
    http_head_free(&head);
}

static void heads_are_read(void **state) {
    static const char TEXT[] = "DELETE /a%20b/%c3%bc?x=1%262&y&=&z=a+b HTTP/1.1\r\nhost:  example.org:80 \r\n"
                               "X-Text:\ta b\t\r\nEmpty:\r\nContent-Length: 5\r\n\r\nhello";
    struct http_head head;
    assert_int_equal(parse(TEXT, sizeof TEXT - 1, &head), 0);
    assert_string_equal(head.method, "DELETE");
    assert_string_equal(head.path, "/a b/\xc3\xbc");
    assert_string_equal(http_head_field(&head, "Host"), "example.org:80");
    assert_string_equal(http_head_field(&head, "x-text"), "a b");
    assert_string_equal(http_head_field(&head, "empty"), "");
    assert_null(http_head_field(&head, "x"));
    assert_int_equal(head.parameter_count, 4);
    assert_string_equal(head.parameters[0].value, "1&2");
    assert_string_equal(head.parameters[1].value, "");
    assert_string_equal(head.parameters[3].value, "a b");
    assert_int_equal(head.length, 5);
    assert_true(head.keep_alive && !head.chunked && !head.expects_continue);
    http_head_free(&head);
}

static void addresses_of_proxies_are_read(void **state) {
    static const struct {
        const char *target, *path;
    } CASES[] = {{"http://x/a?b", "/a"}, {"HTTPS://x:1/", "/"}, {"http://x", "/"}, {"//x/a", "//x/a"}};
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct http_head head;
        char *text = mem_format("GET %s HTTP/1.1\r\n" HOST "\r\n", CASES[i].target);
        assert_int_equal(parse(text, strlen(text), &head), 0);
        assert_string_equal(head.path, CASES[i].path);
        http_head_free(&head);
        free(text);
    }
}

static void connections_are_kept_as_the_client_says(void **state) {
    static const struct {
        const char *text;
        bool kept;
    } CASES[] = {
        {LINE HOST "\r\n", true},
        {LINE HOST "Connection: close\r\n\r\n", false},
        {LINE HOST "Connection: Upgrade, Close\r\n\r\n", false},
        {LINE HOST "Connection: closed\r\n\r\n", true},
        {LINE HOST "Connection: close\r\nConnection: keep-alive\r\n\r\n", false},
        {"GET / HTTP/1.0\r\n\r\n", false},
        {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct http_head head;
        assert_int_equal(parse(CASES[i].text, strlen(CASES[i].text), &head), 0);
        if (head.keep_alive != CASES[i].kept) fail_msg("%s", CASES[i].text);
        http_head_free(&head);
    }
}

/* What servers read differently hides a second request in the first one's body. */
static void what_is_ambiguous_is_refused(void **state) {
    static const char *const TEXTS[] = {
        LINE HOST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
        LINE HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
        LINE HOST "Content-Length: 5, 5\r\n\r\n",
        LINE HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        LINE HOST "Transfer-Encoding: chunked\r\ncontent-length: 5\r\n\r\n",
        "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        LINE HOST "Content-Length: +5\r\n\r\n",
        LINE HOST "Content-Length: -5\r\n\r\n",
        LINE HOST "Content-Length: 0x5\r\n\r\n",
        LINE HOST "Content-Length: 5 5\r\n\r\n",
        LINE HOST "Content-Length:\r\n\r\n",
        LINE HOST "Content-Length : 5\r\n\r\n",
        LINE HOST " Content-Length: 5\r\n\r\n",
        LINE HOST "X: a\r\n b\r\n\r\n",
        LINE HOST "X: a\rContent-Length: 5\r\n\r\n",
        LINE HOST "X: a\nContent-Length: 5\r\n\r\n",
        LINE "Host: x\n\r\n",
        LINE HOST HOST "\r\n",
        LINE "\r\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(TEXTS); i++) refuses(400, TEXTS[i]);
    refuses(501, LINE HOST "Transfer-Encoding: gzip, chunked\r\n\r\n");
    refuses(501, LINE HOST "Transfer-Encoding: xchunked\r\n\r\n");
    refuses(501, LINE HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n");
    refuses(413, LINE HOST "Content-Length: 99999999999999999999\r\n\r\n");
    refuses(417, LINE HOST "Expect: tea\r\n\r\n");
}

static void what_is_malformed_is_refused(void **state) {
    static const char *const LINES[] = {
        "GET",
        "GET /",
        "GET / HTTP/1.1 ",
        "GET  / HTTP/1.1",
        " GET / HTTP/1.1",
        "G(T / HTTP/1.1",
        "GET / HTTP/",
        "GET / HTTP/1.1x",
        "GET / http/1.1",
        "GET x HTTP/1.1",
        "GET * HTTP/1.1",
        "GET /a b HTTP/1.1",
        "GET /%0 HTTP/1.1",
        "GET /%zz HTTP/1.1",
        "GET /%00 HTTP/1.1",
        "GET /?a=%00 HTTP/1.1",
        "GET /?%0g=1 HTTP/1.1",
        "GET /#a HTTP/1.1",
        "GET /\xc3\xbc HTTP/1.1",
        "GET /\x01 HTTP/1.1",
        "GET ftp://x/ HTTP/1.1",
        "GET http:/// HTTP/1.1",
    };
    for (size_t i = 0; i < ARRAY_SIZE(LINES); i++) {
        char *text = mem_format("%s\r\n" HOST "\r\n", LINES[i]);
        refuses(400, text);
        free(text);
    }
    refuses(505, "GET / HTTP/2.0\r\n" HOST "\r\n");
    refuses(400, "\n");
    static const char NUL[] = LINE HOST "X: a\0b\r\n\r\n";
    struct http_head head;
    assert_int_equal(parse(NUL, sizeof NUL - 1, &head), 400);
    http_head_free(&head);
}

static void what_is_too_large_is_refused(void **state) {
    struct buffer text = {0};
    struct http_head head;
    buffer_string(&text, "GET /");
    for (int i = 0; i < HTTP_LINE_MAX; i++) buffer_byte(&text, 'a');
    assert_int_equal(parse((const char *)text.data, text.size, &head), 414);
    buffer_string(&text, " HTTP/1.1\r\n" HOST "\r\n");
    assert_int_equal(parse((const char *)text.data, text.size, &head), 414);
    buffer_clear(&text);
    buffer_string(&text, LINE HOST "X: ");
    for (int i = 0; i < HTTP_HEAD_MAX; i++) buffer_byte(&text, 'a');
    assert_int_equal(parse((const char *)text.data, text.size, &head), 431);
    buffer_string(&text, "\r\n\r\n");
    assert_int_equal(parse((const char *)text.data, text.size, &head), 431);
    buffer_clear(&text);
    buffer_string(&text, LINE HOST);
    for (int i = 0; i < HTTP_FIELDS_MAX; i++) buffer_string(&text, "X: a\r\n");
    buffer_string(&text, "\r\n");
    assert_int_equal(parse((const char *)text.data, text.size, &head), 431);
    http_head_free(&head);
    buffer_clear(&text);
    buffer_string(&text, "GET /?");
    for (int i = 0; i <= HTTP_FIELDS_MAX; i++) buffer_string(&text, "a&");
    buffer_string(&text, " HTTP/1.1\r\n" HOST "\r\n");
    assert_int_equal(parse((const char *)text.data, text.size, &head), 414);
    http_head_free(&head);
    buffer_free(&text);
}

static void the_end_is_found_however_the_bytes_come(void **state) {
    static const char TEXT[] = LINE HOST "X: y\r\n\r\nGET";
    int end = (int)strlen(TEXT) - 3;
    for (size_t step = 1; step < sizeof TEXT; step++) {
        struct http_fault fault;
        size_t seen = 0;
        int found = 0;
        for (size_t size = step; !found; size += step)
            found = http_head_end(TEXT, size < sizeof TEXT - 1 ? size : sizeof TEXT - 1, &seen, &fault);
        assert_int_equal(found, end);
    }
}

struct read_result {
    int code;
    size_t used;
    uint64_t excess;
    char *body;
};

/* Reads the chunks, so many bytes at a time. */
static struct read_result read_chunks(const char *text, size_t size, size_t step, size_t room) {
    struct http_chunks chunks = {0};
    struct buffer body = {0};
    struct read_result result = {0};
    while (result.code == 0 && result.used < size) {
        size_t used, part = size - result.used < step ? size - result.used : step;
        result.code = http_chunks_read(&chunks, text + result.used, part, &used, &body, room, &result.excess);
        result.used += used;
    }
    result.body = mem_string(buffer_cstring(&body));
    buffer_free(&body);
    return result;
}

static void chunks_are_read(void **state) {
    static const char TEXT[] = "5\r\nhello\r\n00a;x=\"y\"\r\n, world...\r\n0\r\nTrailer: x\r\nOther: y\r\n\r\nGET /";
    for (size_t step = 1; step < sizeof TEXT; step++) {
        struct read_result result = read_chunks(TEXT, sizeof TEXT - 1, step, 100);
        assert_int_equal(result.code, 1);
        assert_int_equal(result.used, sizeof TEXT - 1 - 5);
        assert_string_equal(result.body, "hello, world...");
        assert_int_equal(result.excess, 0);
        free(result.body);
        result = read_chunks(TEXT, sizeof TEXT - 1, step, 7);
        assert_string_equal(result.body, "hello, ");
        assert_int_equal(result.excess, 8);
        free(result.body);
    }
}

static void broken_chunks_are_refused(void **state) {
    static const char *const TEXTS[] = {"\r\n",         "x\r\n",       "-1\r\n",       "5 \r\nhello\r\n",
                                        "5\nhello\r\n", "5\r\nhellox", "5\r\nhello\n", "0x5\r\nhello",
                                        "0\r\n\n",      "5;a\nhello",  "0\r\na\nb",    "1000000000000000\r\n"};
    for (size_t i = 0; i < ARRAY_SIZE(TEXTS); i++) {
        struct read_result result = read_chunks(TEXTS[i], strlen(TEXTS[i]), 1, 100);
        if (result.code != -EINVAL) fail_msg("taken: %s", TEXTS[i]);
        free(result.body);
    }
    struct buffer text = {0};
    buffer_string(&text, "1;");
    for (int i = 0; i < 10000; i++) buffer_byte(&text, 'x');
    struct read_result result = read_chunks((const char *)text.data, text.size, 100, 100);
    assert_int_equal(result.code, -EINVAL);
    free(result.body);
    buffer_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_are_read),
        cmocka_unit_test(addresses_of_proxies_are_read),
        cmocka_unit_test(connections_are_kept_as_the_client_says),
        cmocka_unit_test(what_is_ambiguous_is_refused),
        cmocka_unit_test(what_is_malformed_is_refused),
        cmocka_unit_test(what_is_too_large_is_refused),
        cmocka_unit_test(the_end_is_found_however_the_bytes_come),
        cmocka_unit_test(chunks_are_read),
        cmocka_unit_test(broken_chunks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
