/* Comments that are kept for pages: the newest ones stay within the bytes, and who uses one keeps it. */
#include "comments/threads_rows.h"
#include "unit/kit/kit.h"

static const struct event_text SUBJECT = {"post:1", 6}, OTHER = {"post:2", 6};

static struct kept_row *put(struct threads_rows *rows, int64_t id, const char *text) {
    const struct comment comment = {.user = id * 2};
    return threads_rows_put(rows, &SUBJECT, id, &comment, &(struct event_text){text, strlen(text)});
}

static bool has(struct threads_rows *rows, int64_t id) {
    struct kept_row *row = threads_rows_get(rows, &SUBJECT, id);
    if (row) assert_int_equal(row->comment.user, id * 2);
    threads_rows_give(row);
    return row;
}

TEST(the_longest_unread_go_first) {
    struct threads_rows *rows = threads_rows_new(SIZE_MAX);
    threads_rows_give(put(rows, 1, "text"));
    size_t one = threads_rows_bytes(rows);
    threads_rows_free(rows);
    rows = threads_rows_new(10 * one);
    for (int64_t id = 1; id <= 10; id++) threads_rows_give(put(rows, id, "text"));
    assert_true(has(rows, 1));
    for (int64_t id = 11; id <= 19; id++) threads_rows_give(put(rows, id, "text"));
    assert_true(has(rows, 1));
    for (int64_t id = 2; id <= 19; id++) assert_int_equal(has(rows, id), id > 10);
    assert_int_equal(threads_rows_bytes(rows), 10 * one);
    threads_rows_clear(rows);
    assert_int_equal(threads_rows_bytes(rows), 0);
    assert_false(has(rows, 1));
    threads_rows_free(rows);
}

TEST(who_uses_a_row_keeps_it) {
    struct threads_rows *rows = threads_rows_new(1);
    struct kept_row *row = put(rows, 1, "text"); // larger than all that may be kept
    assert_int_equal(threads_rows_bytes(rows), 0);
    assert_false(has(rows, 1));
    assert_memory_equal(row->text, "text", 4);
    threads_rows_give(row);
    threads_rows_free(rows);
    rows = threads_rows_new(SIZE_MAX);
    row = put(rows, 1, "text");
    threads_rows_drop(rows, 1);
    threads_rows_drop(rows, 1);
    assert_false(has(rows, 1));
    assert_memory_equal(row->text, "text", 4);
    threads_rows_give(row);
    threads_rows_free(rows);
}

TEST(a_row_is_of_its_subject) {
    struct threads_rows *rows = threads_rows_new(SIZE_MAX);
    threads_rows_give(put(rows, 1, "text"));
    assert_null(threads_rows_get(rows, &OTHER, 1));
    assert_true(has(rows, 1));
    threads_rows_free(rows);
}
