/* The rules of edits: which version may be edited, whom all versions mention, and versions as JSON. */
#include "edits/edits.h"
#include "unit/kit/kit.h"

TEST(the_version_that_was_read_is_edited) {
    assert_int_equal(edit_decide(3, 3), EDIT_DONE);
    assert_int_equal(edit_decide(3, 2), EDIT_OLD_VERSION);
    assert_int_equal(edit_decide(3, 4), EDIT_OLD_VERSION);
    assert_int_equal(edit_decide(EDIT_VERSIONS_MAX - 1, EDIT_VERSIONS_MAX - 1), EDIT_DONE);
    assert_int_equal(edit_decide(EDIT_VERSIONS_MAX, EDIT_VERSIONS_MAX), EDIT_TOO_MANY);
    assert_int_equal(edit_decide(EDIT_VERSIONS_MAX, 1), EDIT_OLD_VERSION);
}

TEST(each_mentioned_user_is_noted_once) {
    int64_t before[] = {5, 7, 5}, now[] = {7, 9, 5, 9, 4}, many[2 * EDIT_TOLD_MAX];
    static const int64_t WANTED[] = {5, 7, 9, 4};
    struct edit_mentions all;
    edit_mentions_of(&all, &(struct event_longs){before, ARRAY_SIZE(before)},
                     &(struct event_longs){now, ARRAY_SIZE(now)});
    assert_int_equal(all.told, 2);
    assert_int_equal(all.count, ARRAY_SIZE(WANTED));
    for (size_t i = 0; i < all.count; i++) assert_int_equal(all.users[i], WANTED[i]);
    for (size_t i = 0; i < ARRAY_SIZE(many); i++) many[i] = (int64_t)i;
    edit_mentions_of(&all, &(struct event_longs){NULL, 0}, &(struct event_longs){many, ARRAY_SIZE(many)});
    assert_int_equal(all.told, 0);
    assert_int_equal(all.count, EDIT_TOLD_MAX);
    assert_int_equal(all.users[EDIT_TOLD_MAX - 1], EDIT_TOLD_MAX - 1);
}

TEST(a_mark_is_of_the_editor_and_the_text) {
    static const struct event_text A = {"a", 1}, B = {"b", 1};
    char first[EDIT_MARK_SIZE], again[EDIT_MARK_SIZE], other[EDIT_MARK_SIZE];
    edit_mark(-1, &A, first);
    edit_mark(-1, &A, again);
    assert_string_equal(first, again);
    assert_int_equal(strlen(first), EDIT_MARK_SIZE - 1);
    edit_mark(-1, &B, other);
    assert_string_not_equal(first, other);
    edit_mark(7, &A, other);
    assert_string_not_equal(first, other);
}

TEST(versions_are_written_as_a_page) {
    const struct edit_version version = {.version = 2, .time = 9, .user = 7, .text = {"\"", 1}};
    FREED_BUFFER out = {.size = 0};
    edit_put(&out, &version);
    edit_put_next(&out, 2);
    edit_put_next(&out, 0);
    assert_string_equal(buffer_cstring(&out), "{\"version\":2,\"text\":\"\\\"\",\"time\":9,\"user\":7}"
                                              "],\"next\":\"2\"],\"next\":null");
}

/* One process reads the state that another one writes; one of a version before edits writes nothing. */
TEST(the_state_is_read_as_it_was_written) {
    static const struct {
        const char *item;
        int64_t version, edited;
        bool good;
    } CASES[] = {
        {"{\"version\":3,\"edited\":17}", 3, 17, true},
        {"{\"version\":1,\"edited\":null}", 1, 0, true},
        {"{}", 1, 0, true},
        {"{\"version\":0,\"edited\":null}", 0, 0, false},
        {"{\"version\":2,\"edited\":\"x\"}", 0, 0, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        FREED_JSON *item = json_parse(CASES[i].item, strlen(CASES[i].item), &failure);
        int64_t version, edited;
        assert_int_equal(edit_read_state(item, &version, &edited), CASES[i].good);
        if (CASES[i].good) assert_true(version == CASES[i].version && edited == CASES[i].edited);
    }
    FREED_BUFFER out = {.size = 0};
    edit_put_state(&out, 3, 17);
    edit_put_state(&out, 1, 0);
    assert_string_equal(buffer_cstring(&out), "\"version\":3,\"edited\":17\"version\":1,\"edited\":null");
}
