/* How many comments and likes posts have, and whether a reader likes them: which questions the gateway asks the comments processes, what it
 * keeps, and how long pages wait. The processes are played here: peers_fetch is this file's own. */
#include "ingest/feed/comment_counts.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 4, QUESTIONS_MAX = 16, PAGE = 20 };

/* ---- the processes ---- */

struct asked {
    int32_t partition;
    char *path;
    void (*done)(void *context, int code, unsigned status, const char *reply, size_t size);
    void *context;
};

static struct asked asked[QUESTIONS_MAX];
static size_t asked_count;
static int32_t lowest[PARTITIONS];

void peers_fetch(struct peers *peers, int32_t partition, const char *path, int timeout_ms,
                 void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                 void *context) {
    assert_true(asked_count < QUESTIONS_MAX && timeout_ms > 0);
    asked[asked_count++] = (struct asked){partition, mem_string(path), done, context};
    (void)peers;
}

int32_t peers_of_user(const struct peers *peers, int64_t user) { return -1; }
int32_t peers_of_subject(const struct peers *peers, const char *subject) { return -1; }

const int32_t *peers_lowest(const struct peers *peers) {
    (void)peers;
    return lowest;
}

static int32_t partition_of(int64_t post) {
    char subject[32];
    snprintf(subject, sizeof subject, "post:%" PRId64, post);
    return hash_partition(subject, strlen(subject), PARTITIONS);
}

/* The answer of the process that owns the partitions from `own` on whose lowest one is that: post N has N % 7 comments and N % 5 likes, and
 * none was ever written where the former is 0. A reader likes the posts of the reader's own parity. */
static void write_reply(const struct asked *question, struct buffer *reply, const bool owned[PARTITIONS]) {
    const char *at = strstr(question->path, "subjects=");
    buffer_string(reply, "{\"items\":[");
    for (at = at ? at + strlen("subjects=") : NULL; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char *end;
        int64_t post = strtoll(at + strlen("post:"), &end, 10), reader = *end == ':' ? strtoll(end + 1, NULL, 10) : -1;
        if (reply->data[reply->size - 1] != '[') buffer_byte(reply, ',');
        if (!owned[partition_of(post)])
            buffer_string(reply, "false");
        else if (post % 7 == 0)
            buffer_string(reply, "null");
        else
            buffer_format(reply, "{\"total\":%d,\"version\":99,\"likes\":%d%s}", (int)(post % 7), (int)(post % 5),
                          reader < 0            ? ""
                          : (post + reader) % 2 ? ",\"liked\":false"
                                                : ",\"liked\":true");
    }
    buffer_string(reply, "]}");
}

/* Answers all open questions: code 0: as their process does; else so. */
static void answer_all(int code, const bool owned[PARTITIONS]) {
    static const bool ALL[PARTITIONS] = {true, true, true, true};
    struct asked open[QUESTIONS_MAX];
    size_t count = asked_count;
    memcpy(open, asked, sizeof asked);
    asked_count = 0;
    for (size_t i = 0; i < count; i++) {
        FREED_BUFFER reply = {.size = 0};
        write_reply(&open[i], &reply, owned ? owned : ALL);
        if (code)
            open[i].done(open[i].context, code, 0, NULL, 0);
        else
            open[i].done(open[i].context, 0, 200, (const char *)reply.data, reply.size);
        free(open[i].path);
    }
}

/* ---- pages ---- */

struct world {
    uv_loop_t loop;
    struct comment_counts *counts;
    int pages; /* that are done */
};

static void page_done(void *context) { ((struct world *)context)->pages++; }

static void page_of(struct world *w, int64_t first, size_t count, int64_t reader) {
    int64_t posts[PAGE];
    assert_true(count <= PAGE);
    for (size_t i = 0; i < count; i++) posts[i] = first + (int64_t)i;
    comment_counts_ask(w->counts, posts, count, reader, w, page_done);
}

static void page(struct world *w, int64_t first, size_t count) { page_of(w, first, count, -1); }

/* Until so many questions are asked. */
static void until_asked(struct world *w, size_t count) {
    while (asked_count < count) uv_run(&w->loop, UV_RUN_ONCE);
    assert_int_equal(asked_count, count);
}

static size_t posts_asked(void) {
    size_t count = 0;
    for (size_t i = 0; i < asked_count; i++)
        for (const char *at = asked[i].path; (at = strstr(at, "post:")); at++) count++;
    return count;
}

/* Until so many posts are asked for, of as many processes as have some: each is asked at a time of its own. */
static void until_posts_are_asked(struct world *w, size_t count) {
    while (posts_asked() < count) uv_run(&w->loop, UV_RUN_ONCE);
    assert_int_equal(posts_asked(), count);
}

static void expect(struct world *w, int64_t post, int64_t reader, const char *expected) {
    struct buffer body = {0};
    buffer_string(&body, "{}");
    comment_counts_put(w->counts, post, reader, &body);
    assert_string_equal(buffer_cstring(&body), expected);
    buffer_free(&body);
}

static int comments_of(struct world *w, int64_t post) {
    FREED_BUFFER body = {.size = 0};
    int count = -1;
    buffer_string(&body, "{}");
    comment_counts_put(w->counts, post, -1, &body);
    assert_int_equal(body.data[body.size - 1], '}');
    sscanf(buffer_cstring(&body), "{,\"comments\":%d", &count);
    return count;
}

SET_UP() {
    struct world *w = kit_zero(sizeof *w);
    kit_loop(&w->loop);
    w->counts = comment_counts_new(&w->loop, NULL, PARTITIONS);
    for (int32_t p = 0; p < PARTITIONS; p++) lowest[p] = p / 2 * 2; // two processes, of two partitions each
    return w;
}

TEAR_DOWN(struct world *w) {
    comment_counts_stop(w->counts);
    answer_all(-ECANCELED, NULL);
    comment_counts_free(w->counts);
}

/* ---- tests ---- */

TEST(a_page_asks_each_process_once, struct world *w) {
    int64_t began_ms = clock_coarse_ms();
    page(w, 1000, PAGE);
    page(w, 1010, PAGE);
    until_asked(w, 2);
    assert_int_not_equal(asked[0].partition, asked[1].partition);
    if (clock_coarse_ms() - began_ms < 30) assert_int_equal(w->pages, 0); /* a machine that stood still is too late */
    answer_all(0, NULL);
    assert_int_equal(w->pages, 2);
    for (int64_t post = 1000; post < 1030; post++) assert_int_equal(comments_of(w, post), post % 7);
    assert_int_equal(comments_of(w, 1030), -1);
}

TEST(a_count_is_kept_for_a_moment, struct world *w) {
    page(w, 1, PAGE);
    until_asked(w, 2);
    answer_all(0, NULL);
    page(w, 1, PAGE); // those without comments, too
    assert_int_equal(w->pages, 2);
    int64_t heard_ms = clock_coarse_ms();
    while (asked_count < 2) { // a page that comes later is done at once, and they are asked for anew
        int before = w->pages;
        page(w, 1, PAGE);
        assert_int_equal(w->pages, before + 1);
        uv_sleep(1);
        uv_run(&w->loop, UV_RUN_NOWAIT);
    }
    assert_true(clock_coarse_ms() - heard_ms >= 900);
    assert_int_equal(comments_of(w, 5), 5);
    assert_int_equal(asked_count, 2);
    for (int i = 0; i < 100; i++) {
        page(w, 1, PAGE);
        uv_run(&w->loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(asked_count, 2); // once
}

TEST(a_readers_likes_are_asked_for_each_time, struct world *w) {
    page_of(w, 8, 2, 4);
    page_of(w, 8, 2, 5);
    page_of(w, 8, 2, 5); // once
    until_posts_are_asked(w, 4);
    answer_all(0, NULL);
    assert_int_equal(w->pages, 3);
    expect(w, 8, 4, "{,\"comments\":1,\"likes\":3,\"liked\":true}");
    expect(w, 8, 5, "{,\"comments\":1,\"likes\":3,\"liked\":false}");
    expect(w, 8, 6, "{,\"comments\":1,\"likes\":3}"); // of whom nothing is known
    expect(w, 8, -1, "{,\"comments\":1,\"likes\":3}");
    page(w, 8, 2); // the counts that came along serve everybody
    assert_int_equal(w->pages, 4);
    page_of(w, 8, 2, 4);
    assert_int_equal(w->pages, 4);
    until_posts_are_asked(w, 2);
    answer_all(0, NULL);
    assert_int_equal(w->pages, 5);
    page_of(w, 14, 1, 4); // nobody has ever commented or liked
    until_asked(w, 1);
    answer_all(0, NULL);
    expect(w, 14, 4, "{,\"comments\":0,\"likes\":0,\"liked\":false}");
}

TEST(a_slow_process_holds_no_page_up_for_long, struct world *w) {
    page(w, 1, PAGE);
    while (!w->pages) uv_run(&w->loop, UV_RUN_ONCE); // it does not answer
    assert_int_equal(asked_count, 2);
    assert_int_equal(comments_of(w, 5), -1);
    answer_all(-ETIMEDOUT, NULL);
    for (int64_t first = 100; first < 200; first += PAGE) page(w, first, PAGE);
    assert_int_equal(w->pages, 6); // at once
    int64_t before_ms = clock_coarse_ms();
    while (asked_count < 2) {
        page(w, 200, PAGE);
        uv_sleep(1);
        uv_run(&w->loop, UV_RUN_NOWAIT);
    }
    assert_true(clock_coarse_ms() - before_ms >= 1000);
    assert_int_equal(asked_count, 2); // one post each
    assert_null(strchr(asked[0].path, ','));
    int pages = w->pages;
    page(w, 200, PAGE);
    assert_int_equal(w->pages, pages + 1);
    answer_all(0, NULL);
    page(w, 300, PAGE); // now they are waited for
    assert_int_equal(w->pages, pages + 1);
    until_asked(w, 2);
    answer_all(0, NULL);
    assert_int_equal(w->pages, pages + 2);
    assert_int_equal(comments_of(w, 305), 305 % 7);
}

TEST(a_late_answer_serves_the_next_page, struct world *w) {
    page(w, 1, PAGE);
    while (!w->pages) uv_run(&w->loop, UV_RUN_ONCE);
    answer_all(0, NULL);
    assert_int_equal(w->pages, 1);
    page(w, 1, PAGE);
    assert_int_equal(w->pages, 2);
    assert_int_equal(comments_of(w, 5), 5);
}

TEST(another_owner_is_asked_by_its_own_partition, struct world *w) {
    static const bool MOVED[PARTITIONS] = {true, false, true, true}; // 1 is no more with 0
    int64_t post = 1;
    while (partition_of(post) != 1) post++;
    page(w, post, 1);
    until_asked(w, 1);
    assert_int_equal(asked[0].partition, 0);
    answer_all(0, MOVED);
    assert_int_equal(w->pages, 1);
    assert_int_equal(comments_of(w, post), -1);
    page(w, post, 1);
    until_asked(w, 1);
    assert_int_equal(asked[0].partition, 1);
    answer_all(0, NULL);
    assert_int_equal(comments_of(w, post), post % 7);
}

TEST(answers_that_are_none_say_nothing, struct world *w) {
    static const char *const REPLIES[] = {"{}",
                                          "{\"items\":[]}",
                                          "{\"items\":[5]}",
                                          "{\"items\":[{\"version\":5}]}",
                                          "{\"items\":[{\"total\":5}]}",
                                          "{\"items\":[{\"total\":5,\"likes\":1,\"liked\":true}]}",
                                          "x"};
    for (size_t i = 0; i < sizeof REPLIES / sizeof *REPLIES; i++) {
        comment_counts_stop(w->counts);
        comment_counts_free(w->counts);
        w->counts = comment_counts_new(&w->loop, NULL, PARTITIONS);
        page(w, 1, 1);
        until_asked(w, 1);
        asked_count = 0;
        asked[0].done(asked[0].context, 0, 200, REPLIES[i], strlen(REPLIES[i]));
        free(asked[0].path);
        assert_int_equal(comments_of(w, 1), -1);
        assert_int_equal(w->pages, i + 1);
    }
    comment_counts_ask(w->counts, NULL, 0, -1, w, page_done);
    comment_counts_ask(w->counts, &(int64_t){0}, 1, -1, w, page_done); // no id
    assert_int_equal(w->pages, sizeof REPLIES / sizeof *REPLIES + 2);
}

TEST(the_end_holds_nobody_up, struct world *w) {
    page(w, 1, PAGE);
    until_asked(w, 2);
    page(w, 100, PAGE);
    comment_counts_stop(w->counts);
    assert_int_equal(w->pages, 2);
    page(w, 200, PAGE);
    assert_int_equal(w->pages, 3);
}
