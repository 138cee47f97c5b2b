/* The pure parts of the feed in the gateway: what a post's body may be, how ids are merged, and the questions for older
 * posts. */
#include "ids/ids.h"
#include "ingest/feed/older.h"
#include "ingest/feed/post_body.h"
#include "ingest/feed/refs.h"
#include "unit/kit/kit.h"

static json_t *parsed(const char *text) {
    json_t *json = json_parse(text, strlen(text), &failure);
    if (!json) fail_msg("%s: %s", text, failure.text);
    return json;
}

/* A body that ends with a text of many equal pieces. */
static json_t *long_body(const char *start, const char *piece, size_t times, const char *end) {
    FREED_BUFFER text = {.size = 0};
    buffer_string(&text, start);
    for (size_t i = 0; i < times; i++) buffer_string(&text, piece);
    buffer_string(&text, end);
    return parsed(buffer_cstring(&text));
}

static void check_body(json_t *object, const char *wanted) {
    struct post_body body;
    struct error error = {.text = ""};
    const char *wrong = post_body_read(object, &body, &error);
    if (!wanted != !wrong || (wanted && strcmp(wanted, wrong) != 0)) fail_msg("%s", wrong ? error.text : "taken");
    assert_int_equal(error.text[0] != 0, wrong != NULL);
    json_decref(object);
}

TEST(bodies_are_taken_or_refused) {
    static const char TEXT[] = "{\"text\":\"", MEDIA[] = "{\"text\":\"a\",\"media\":[\"http://";
    static const char KEY[] = "{\"text\":\"a\",\"key\":\"", GLOBE[] = "\xf0\x9f\x8c\x8d";
    check_body(parsed("{\"text\":\"a\"}"), NULL);
    check_body(parsed("{\"text\":\"a\",\"media\":[],\"key\":\" ~\",\"other\":5}"), NULL);
    check_body(parsed("{\"text\":5}"), "bad_text");
    check_body(parsed("{\"text\":\"\"}"), "bad_text");
    check_body(long_body(TEXT, GLOBE, 2000, "\"}"), NULL);
    check_body(long_body(TEXT, GLOBE, 2001, "\"}"), "bad_text");
    check_body(long_body(MEDIA, "a", 2041, "\"]}"), NULL);
    check_body(long_body(MEDIA, "a", 2042, "\"]}"), "bad_media");
    check_body(parsed("{\"text\":\"a\",\"media\":[\"http://1\",\"http://2\",\"http://3\",\"https://4\"]}"), NULL);
    check_body(parsed("{\"text\":\"a\",\"media\":[\"http:\"]}"), "bad_media");
    check_body(parsed("{\"text\":\"a\",\"media\":{}}"), "bad_media");
    check_body(long_body(KEY, "k", 64, "\"}"), NULL);
    check_body(long_body(KEY, "k", 65, "\"}"), "bad_key");
    check_body(parsed("{\"text\":\"a\",\"key\":\"\\u007f\"}"), "bad_key");
}

TEST(a_body_is_read_whole) {
    struct post_body body;
    FREED_JSON *object = parsed("{\"text\":\"hi\",\"media\":[\"http://1\",\"https://2\"],\"key\":\"k\"}");
    assert_null(post_body_read(object, &body, &failure));
    assert_memory_equal(body.text.data, "hi", body.text.size);
    assert_int_equal(body.media_count, 2);
    assert_memory_equal(body.media[1].data, "https://2", body.media[1].size);
    assert_string_equal(body.key, "k");
}

static void read_refs(struct page_refs *refs, const char *text, bool good) {
    size_t before = refs->count;
    assert_int_equal(page_refs_read(refs, (struct json_bytes){text, strlen(text)}), good);
    if (!good) assert_int_equal(refs->count, before);
}

TEST(refs_are_merged_by_falling_id) {
    struct page_refs refs = {0};
    read_refs(&refs, "[{\"id\":\"5\",\"user\":1},{\"id\":\"3\",\"user\":2}]", true);
    read_refs(&refs, "[{\"id\":\"4\",\"user\":3},{\"id\":4,\"user\":3}]", false);
    read_refs(&refs, "[{\"id\":\"4\",\"user\":-3}]", false);
    read_refs(&refs, "{}", false);
    read_refs(&refs, "[{\"id\":\"4\"}]", false);
    read_refs(&refs, "[{\"id\":\"4\",\"user\":3}", false);
    read_refs(&refs, "[]", true);
    read_refs(&refs,
              "[{\"id\":\"9223372036854775807\",\"user\":3},{\"id\":\"3\",\"user\":2},{\"id\":\"4\",\"user\":0}]",
              true);
    page_refs_merge(&refs, 10);
    static const int64_t WANTED[] = {INT64_MAX, 5, 4, 3};
    assert_int_equal(refs.count, ARRAY_SIZE(WANTED));
    for (size_t i = 0; i < refs.count; i++) assert_true(refs.items[i].id == WANTED[i]);
    page_refs_merge(&refs, 2);
    assert_int_equal(refs.count, 2);
    assert_true(refs.items[1].id == 5 && refs.items[1].user == 1);
    page_refs_free(&refs);
    page_refs_merge(&refs, 2);
    assert_int_equal(refs.count, 0);
}

TEST(questions_for_older_posts_name_each_author_once) {
    enum { AUTHORS = 5000, PARTITIONS = 3 };
    struct older_questions questions;
    FREED_JSON *authors = json_array();
    size_t seen = 0;
    for (int i = 0; i < AUTHORS; i++) json_array_append_new(authors, json_integer(i));
    json_array_append_new(authors, json_string("7"));
    older_questions_new(&questions, authors, PARTITIONS);
    assert_true(questions.count >= 13 && questions.count <= 13 + PARTITIONS);
    for (size_t i = 0; i < questions.count; i++) {
        const struct older_question *question = &questions.items[i];
        size_t before = seen;
        for (const char *at = question->authors; at; at = strchr(at, ','), at += at != NULL, seen++)
            assert_int_equal(hash_user_partition(strtoll(at, NULL, 10), PARTITIONS), question->partition);
        assert_true(seen - before <= OLDER_AUTHORS_MAX);
    }
    assert_int_equal(seen, AUTHORS);
    older_questions_free(&questions);
}
