/* Tests searches.c and answers.c. Searches over HTTP, as a peer asks for them: how far a page goes, and how searches end that cannot be
 * answered. */
#include <fcntl.h>

#include "json/json.h"
#include "moderation/answers.h"
#include "service/http.h"
#include "service/http_client.h"
#include "unit/kit/kit.h"

enum { CACHE = 1 << 20, LIMIT_MS = 60000, TURNS_MAX_US = 60 * 1000 * 1000 };

struct fixture {
    char *folder, *path;
    uv_loop_t loop;
    struct metrics *metrics;
    struct index *index;
    struct searches *searches;
    struct http_server *server;
    struct http_client *client;
    int damages; /* that searches told of */
};

static void answer(void *context, struct http_request *request) {
    struct fixture *f = context;
    answers_answer(f->searches, true, request);
}

static void damaged(void *context) {
    struct fixture *f = context;
    f->damages++;
}

static void start(struct fixture *f, int64_t limit_ms) {
    f->searches = searches_new(&(struct searches_options){
        .loop = &f->loop,
        .index = f->index,
        .readers = 1,
        .cache = CACHE,
        .limit_ms = limit_ms,
        .metrics = f->metrics,
        .context = f,
        .on_damaged = damaged,
    });
}

SET_UP() {
    struct fixture *f = kit_zero(sizeof *f);
    f->folder = kit_folder();
    f->path = mem_format("%s/comments.db", f->folder);
    uv_loop_init(&f->loop);
    f->metrics = kit_metrics();
    assert_int_equal(index_open(f->path, 1, CACHE, &f->index, NULL), 0);
    assert_int_equal(
        http_server_new(
            &(struct http_server_options){.loop = &f->loop, .listen = "127.0.0.1:0", .context = f, .handle = answer},
            &f->server, NULL),
        0);
    f->client = http_client_new(&f->loop);
    return f;
}

TEAR_DOWN(struct fixture *f) {
    http_client_free(f->client);
    http_server_free(f->server);
    searches_free(f->searches);
    index_close(f->index);
    kit_loop_end(&f->loop);
    free(f->path);
}

static void put(struct fixture *f, int64_t count, const char *text) {
    assert_int_equal(index_begin(f->index, NULL), 0);
    for (int64_t id = 1; id <= count; id++) {
        struct comment_wide comment = {
            .id = id, .subject = {"post:1", 6}, .user = 4, .text = {text, strlen(text)}, .time = 1234};
        assert_int_equal(index_put(f->index, &comment, NULL), 0);
    }
    assert_int_equal(index_commit(f->index, NULL), 0);
}

/* ---- questions ---- */

struct heard {
    bool done;
    unsigned status;
    size_t size;
    json_t *reply;
};

static void hear(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct heard *heard = context;
    assert_int_equal(code, 0);
    *heard = (struct heard){.done = true, .status = status, .size = size, .reply = json_parse(reply, size, NULL)};
}

static struct heard ask(struct fixture *f, const char *query) {
    struct heard heard = {.done = false};
    FREED char *url = mem_format("http://127.0.0.1:%d/peer/moderation/comments?%s", http_server_port(f->server), query);
    http_fetch(f->client, "GET", url, NULL, NULL, LIMIT_MS, hear, &heard);
    int64_t began_us = clock_monotonic_us();
    while (!heard.done) {
        assert_true(clock_monotonic_us() - began_us < TURNS_MAX_US);
        uv_run(&f->loop, UV_RUN_ONCE);
    }
    assert_non_null(heard.reply);
    return heard;
}

static void expect_problem(struct fixture *f, unsigned status, const char *code) {
    struct heard heard = ask(f, "user=4");
    const char *text;
    assert_int_equal(heard.status, status);
    assert_int_equal(json_want_text(heard.reply, "code", &text, NULL), 0);
    assert_string_equal(text, code);
    json_decref(heard.reply);
}

/* ---- examples ---- */

/* No page is longer than 1 MiB and a comment, and the pages together have each comment once. */
TEST(long_comments_come_in_short_pages, struct fixture *f) {
    enum { COUNT = 250, TEXT = 40000 };
    char *text = mem_alloc(TEXT + 1), query[64] = "user=4&limit=1000";
    memset(text, 'a', TEXT);
    text[TEXT] = '\0';
    put(f, COUNT, text);
    free(text);
    start(f, LIMIT_MS);
    int64_t last = COUNT + 1, pages = 0;
    for (bool more = true; more; pages++) {
        struct heard heard = ask(f, query);
        const json_t *items = json_object_get(heard.reply, "items"), *next = json_object_get(heard.reply, "next");
        assert_int_equal(heard.status, 200);
        assert_true(heard.size < (1 << 20) + TEXT + 1000);
        for (size_t i = 0; i < json_array_size(items); i++)
            assert_int_equal(atoll(json_string_value(json_object_get(json_array_get(items, i), "id"))), --last);
        more = json_is_string(next);
        if (more) snprintf(query, sizeof query, "user=4&limit=1000&after=%s", json_string_value(next));
        json_decref(heard.reply);
    }
    assert_int_equal(last, 1);
    assert_int_equal(pages, 10);
}

/* The index has one comment, which needs no time to be found. */
TEST(a_search_that_waited_too_long_does_not_begin, struct fixture *f) {
    put(f, 1, "x");
    start(f, 0);
    expect_problem(f, 503, "search_too_slow");
}

/* Overwrites all of the file but its first page, which every connection has read. */
static void damage(struct fixture *f) {
    char bytes[4096];
    memset(bytes, 'x', sizeof bytes);
    FREED_BY(kit_close) int fd = open(f->path, O_WRONLY | O_CLOEXEC);
    off_t end = lseek(fd, 0, SEEK_END);
    assert_true(end > (off_t)sizeof bytes);
    for (off_t at = sizeof bytes; at < end; at += (off_t)sizeof bytes)
        assert_int_equal(pwrite(fd, bytes, sizeof bytes, at), sizeof bytes);
}

TEST(damage_is_told_and_a_new_file_is_searched, struct fixture *f) {
    put(f, 1000, "some words");
    index_close(f->index); // writes all into the file
    assert_int_equal(index_open(f->path, 1, CACHE, &f->index, NULL), 0);
    start(f, LIMIT_MS);
    damage(f);
    expect_problem(f, 500, "index_failed");
    assert_int_equal(f->damages, 1);
    assert_int_equal(index_forget(f->index, NULL), 0);
    put(f, 1, "x");
    struct heard heard = ask(f, "user=4");
    assert_int_equal(heard.status, 200);
    assert_int_equal(json_array_size(json_object_get(heard.reply, "items")), 1);
    assert_int_equal(f->damages, 1);
    json_decref(heard.reply);
}
