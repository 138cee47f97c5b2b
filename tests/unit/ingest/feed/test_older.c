/* The questions for older posts. */
#include "ingest/feed/older.h"
#include "unit/kit/kit.h"

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
