/* Comments as `starling comments` prints them. */
#include "cli/comment_lines.h"
#include "unit/kit/kit.h"

#define REPLY                                                                                                                     \
    "{\"id\":\"22\",\"user\":7,\"text\":null,\"time\":1769860860456,\"floor\":1,\"root\":\"21\",\"reply_to\":\"21\",\"likes\":0," \
    "\"reply_count\":0,\"replies\":[],\"state\":\"deleted\"}"
#define ROOT(replies)                                                                                                     \
    "{\"id\":\"21\",\"user\":5,\"text\":\"Hello\\n\",\"time\":1769860800123,\"floor\":1,\"root\":null,\"reply_to\":null," \
    "\"likes\":2,\"reply_count\":0,\"replies\":[" replies "],\"state\":\"visible\"}"

static int lines_of(const char *text, bool json, struct buffer *lines) {
    FREED_JSON *comment = json_parse(text, strlen(text), &failure);
    if (!comment) fail_msg("%s: %s", text, failure.text);
    return comment_lines(lines, comment, json, &failure);
}

TEST(a_thread_is_indented) {
    FREED_BUFFER lines = {.size = 0};
    assert_int_equal(lines_of(ROOT(REPLY), false, &lines), 0);
    assert_string_equal(buffer_cstring(&lines), "2026-01-31T12:00:00.123Z 21 5 #1 likes=2 \"Hello\\n\"\n"
                                                "  2026-01-31T12:01:00.456Z 22 7 #1 likes=0 deleted\n");
    buffer_clear(&lines);
    assert_int_equal(lines_of(ROOT(REPLY), true, &lines), 0);
    assert_string_equal(buffer_cstring(&lines), ROOT(REPLY) "\n");
}

TEST(other_answers_are_none) {
    static const char *const BAD[] = {"{}", "[]", "{\"id\":\"21\",\"replies\":[]}", ROOT("5"), ROOT(ROOT(REPLY))};
    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++) {
        struct buffer lines = {0};
        assert_int_equal(lines_of(BAD[i], false, &lines), -EBADMSG);
        buffer_free(&lines);
    }
    struct buffer lines = {0};
    assert_int_equal(lines_of("[]", true, &lines), -EBADMSG);
    buffer_free(&lines);
}
