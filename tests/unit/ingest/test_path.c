/* Patterns of paths: what they take, and what they make of it. */
#include "ingest/path.h"
#include "unit/kit/kit.h"

static const char COMMENT[] = "/v1/comments/{type:word}/{id:text}/{comment:text}/like";

TEST(paths_match_as_a_whole) {
    static const struct {
        const char *pattern, *path;
        int code;
    } CASES[] = {
        {"/v1/friends", "/v1/friends", 1},
        {"/v1/friends", "/v1/friends/", 0},
        {"/v1/friends", "/v1/friend", 0},
        {"/v1/friends", "/v1/friendship", 0},
        {"/v1/friends", "/v1", 0},
        {"/v1/friends", "", 0},
        {"/v1/friends", "v1/friends", 0},
        {"/v1/friends", "//v1/friends", 0},
        {"/v1/friends/{user}", "/v1/friends", 0},
        {"/v1/friends/{user}", "/v1/friends/", 0},
        {"/v1/friends/{user}", "/v1/friends/5", 1},
        {"/v1/friends/{user}", "/v1/friends/5/", 0},
        {"/v1/friends/{user}", "/v1/friends/5/6", 0},
        {"/v1/friends/{user}", "/v1/friends/me", -ENOENT},
        {"/v1/friends/{user}", "/v1/friends/a b", -EINVAL}, /* no text of a provider has a blank */
        {"/v1/users/{user}/posts", "/v1/users/5/posts", 1},
        {"/v1/users/{user}/posts", "/v1/users/5/feed", 0},
        {"/v1/users/{user}/posts", "/v1/users/me/feed", 0}, /* what does not match has no wrong values */
        {COMMENT, "/v1/comments/post/123/456/like", 1},
        {COMMENT, "/v1/comments/post/123/456", 0},
        {COMMENT, "/v1/comments/Post/123/456/like", -EINVAL},
        {COMMENT, "/v1/comments/post//456/like", 0},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct path_value values[PATH_VALUES_MAX];
        const char *wrong = "";
        struct error error = {.text = ""};
        int code = path_match(CASES[i].pattern, CASES[i].path, values, &wrong, &error);
        if (code != CASES[i].code) fail_msg("%s, %s: %d", CASES[i].pattern, CASES[i].path, code);
        assert_int_equal(code < 0, error.text[0] != 0);
        if (code < 0) assert_string_equal(wrong, strstr(CASES[i].pattern, "{user}") ? "bad_user" : "bad_path");
    }
}

TEST(values_come_in_order) {
    struct path_value values[PATH_VALUES_MAX];
    const char *wrong = "";
    assert_int_equal(path_match("/a/{user}/{id:text}/{other:user}/{type:word}", "/a/0/x y/9223372036854775807/z-1",
                                values, &wrong, &failure),
                     1);
    assert_true(values[0].user == 0 && values[1].user == -1 && values[2].user == INT64_MAX && values[3].user == -1);
    assert_int_equal(values[1].size, 3);
    assert_memory_equal(values[1].text, "x y", 3);
    assert_int_equal(values[3].size, 3);
    assert_memory_equal(values[3].text, "z-1", 3);
}

TEST(users_may_be_texts_to_be_looked_up) {
    struct path_value values[PATH_VALUES_MAX];
    const char *wrong = "";
    struct error error;
    assert_int_equal(path_match("/a/{user}/{id:id}/{other:user}", "/a/auth0|5/7/8", values, &wrong, &error), -ENOENT);
    assert_string_equal(wrong, "bad_user");
    assert_true(values[0].external && values[0].user == -1 && values[1].id == 7 && !values[2].external);
    assert_memory_equal(values[0].text, "auth0|5", values[0].size);
    assert_int_equal(values[2].user, 8);
    /* Nothing else that is wrong can be mended by that. */
    assert_int_equal(path_match("/a/{user}/{id:id}", "/a/auth0|5/x", values, &wrong, &error), -EINVAL);
    assert_string_equal(wrong, "bad_path");
}

TEST(values_are_of_their_type) {
    static const struct {
        const char *type, *value;
        bool good;
    } CASES[] = {
        {"user", "9223372036854775808", false},
        {"user", "-1", false},
        {"user", "+5", false},
        {"user", " 5", false},
        {"user", "5x", false},
        {"user", "0x5", false},
        {"user", "00", true},
        {"user", "99999999999999999999", false},
        {"id", "1", true},
        {"id", "9223372036854775807", true},
        {"id", "9223372036854775808", false},
        {"id", "0", false},
        {"id", "07", false},
        {"id", "-7", false},
        {"id", "7a", false},
        {"word", "post", true},
        {"word", "a_b-9", true},
        {"word", "9a", false},
        {"word", "a:b", false},
        {"word", "a.b", false},
        {"word", "\xc3\xbc", false},
        {"word", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", true},
        {"word", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
        {"key", "9aZ_-", true},
        {"key", "a.b", false},
        {"key", "\xc3\xbc", false},
        {"key", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", true},
        {"key", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
        {"text", "\xc3\xbc: 5", true},
        {"text", "\xc3", false},
        {"text", "a\nb", false},
        {"text", "\x7f", false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct path_value values[PATH_VALUES_MAX];
        FREED_BUFFER pattern = {0}, path = {0};
        const char *wrong = "";
        struct error error;
        buffer_format(&pattern, "/{x:%s}", CASES[i].type);
        buffer_format(&path, "/%s", CASES[i].value);
        int code = path_match(buffer_cstring(&pattern), buffer_cstring(&path), values, &wrong, &error);
        if ((code == 1) != CASES[i].good) fail_msg("%s %s", CASES[i].type, CASES[i].value);
        assert_int_equal(values[0].id > 0, code == 1 && strcmp(CASES[i].type, "id") == 0);
        if (code < 0) assert_non_null(strstr(error.text, "{x}"));
    }
    char path[300] = "/";
    struct path_value values[PATH_VALUES_MAX];
    const char *wrong = "";
    struct error error;
    memset(path + 1, 'a', 257);
    assert_int_equal(path_match("/{x:text}", path, values, &wrong, &error), -EINVAL);
    path[257] = '\0';
    assert_int_equal(path_match("/{x:text}", path, values, &wrong, &error), 1);
}

TEST(patterns_are_shown_without_types) {
    FREED_BUFFER out = {.size = 0};
    path_put(&out, COMMENT);
    buffer_string(&out, " ");
    path_put(&out, "/v1/friends/{user}");
    assert_string_equal(buffer_cstring(&out), "/v1/comments/{type}/{id}/{comment}/like /v1/friends/{user}");
}
