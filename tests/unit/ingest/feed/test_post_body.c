/* Bodies of posts, good and bad. */
#include "ingest/feed/post_body.h"
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
