/* Questions about what is kept of a user, and the pages that answer them. */
#include "unit/kit/kit.h"
#include "users/belongings.h"

static void asks(const char *name, const char *cursor, const char *wanted) {
    FREED_BUFFER path = {.size = 0};
    struct belonging_place place;
    const struct belonging *kind = belonging_find(name);
    assert_true(belonging_place_read(kind, &(struct json_bytes){cursor, strlen(cursor)}, 4, &place));
    belonging_question(&path, kind, 7, 20, &place);
    assert_string_equal(buffer_cstring(&path), wanted);
}

TEST(test_questions) {
    assert_null(belonging_find("bans"));
    asks("friends", "", "/peer/friends/7?state=all&limit=20");
    asks("friends", "12", "/peer/friends/7?state=all&limit=20&after=12");
    asks("posts", "99", "/peer/written/7?edits=true&limit=20&before=99");
    asks("notices", "1.2.3", "/peer/notices/7?limit=20&after=1.2.3");
    asks("devices", "", "/peer/devices/7");
    asks("comments", "", "/peer/moderation/comments?user=7&limit=20");
    asks("likes", "", "/peer/comments/of/0?user=7&likes=true&limit=20");
    asks("likes", "3", "/peer/comments/of/3?user=7&likes=true&limit=20");
    asks("likes", "3.72ab", "/peer/comments/of/3?user=7&likes=true&limit=20&after=72ab");
    asks("reports", "3.72ab", "/peer/comments/of/3?user=7&reports=true&limit=20&after=72ab");
}

/* The place behind a page. */
static void goes_on(const char *name, int32_t partition, const char *next, const char *wanted) {
    FREED_BUFFER place = {.size = 0};
    belonging_place_put(&place, belonging_find(name), partition, 4, &(struct json_bytes){next, strlen(next)});
    assert_string_equal(place.size ? buffer_cstring(&place) : "", wanted);
}

TEST(test_places) {
    static const char *const WRONG[] = {"4", "x", "", ".1", "1.", "1x", "1.a b", "99999999999999999999"};
    struct belonging_place place;
    goes_on("posts", 0, "12", "12");
    goes_on("posts", 0, "", "");
    goes_on("likes", 0, "72ab", "0.72ab");
    goes_on("likes", 0, "", "1");
    goes_on("likes", 3, "72", "3.72");
    goes_on("likes", 3, "", "");
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        bool first = !*WRONG[i];
        assert_int_equal(
            belonging_place_read(belonging_find("likes"), &(struct json_bytes){WRONG[i], strlen(WRONG[i])}, 4, &place),
            first);
    }
}

static void reads(const char *reply, const char *items, const char *next) {
    struct json_bytes found, cursor;
    assert_true(belonging_page(reply, strlen(reply), &found, &cursor));
    assert_int_equal(found.size, strlen(items));
    assert_memory_equal(found.data, items, found.size);
    assert_int_equal(cursor.size, strlen(next));
    assert_memory_equal(cursor.data, next, cursor.size);
}

TEST(test_pages) {
    reads("{\"items\":[{\"user\":1}],\"next\":5,\"total\":9}", "[{\"user\":1}]", "5");
    reads("{\"next\":\"1-2\",\"items\":[]}", "[]", "1-2");
    reads("{\"items\":[\"]\"],\"next\":null}", "[\"]\"]", "");
}

TEST(test_what_is_no_page) {
    static const char *const WRONG[] = {
        "",
        "{}",
        "[]",
        "{\"items\":[]}",
        "{\"next\":null}",
        "{\"items\":5,\"next\":null}",
        "{\"items\":[],\"next\":\"a b\"}",
        "{\"items\":[],\"next\":\"a&b\"}",
        "{\"items\":[],\"next\":{}}",
        "{\"items\":[",
        "{\"items\":[],\"next\":\"",
    };
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        struct json_bytes items, next;
        assert_false(belonging_page(WRONG[i], strlen(WRONG[i]), &items, &next));
    }
}

TEST(test_cursors) {
    char longest[541];
    memset(longest, 'a', sizeof longest);
    assert_true(belonging_cursor_plain(&(struct json_bytes){longest, 540}));
    assert_false(belonging_cursor_plain(&(struct json_bytes){longest, 541}));
    assert_false(belonging_cursor_plain(&(struct json_bytes){longest, 0}));
    assert_false(belonging_cursor_plain(&(struct json_bytes){"a\0b", 3}));
}
