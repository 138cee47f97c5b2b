/* Tests subject.c, words.c and lib/users/sharing_words.c. Subjects, and the keys of records about them. */
#include "base/text.h"
#include "event/records.h"
#include "subjects/subject.h"
#include "subjects/words.h"
#include "unit/kit/kit.h"
#include "users/sharing_words.h"

TEST(subjects_have_a_type_and_an_id) {
    static const char *const GOOD[] = {"post:1", "a:b", "my-type_2:A.b~c-D_9"};
    static const char *const BAD[] = {"",         "post",     "post:",    ":1",         "Post:1",
                                      "post:1:2", "post:a b", "post:1/2", "p\xc3\xa4:1"};
    for (size_t i = 0; i < ARRAY_SIZE(GOOD); i++) assert_true(subject_valid(GOOD[i], strlen(GOOD[i])));
    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++) assert_false(subject_valid(BAD[i], strlen(BAD[i])));
    assert_false(subject_valid("post:1\0", 7));
}

TEST(the_longest_type_and_id_are_valid) {
    char text[SUBJECT_MAX + 2];
    memset(text, 'a', sizeof text);
    text[SUBJECT_TYPE_MAX] = ':';
    assert_true(subject_valid(text, SUBJECT_MAX));
    assert_false(subject_valid(text, SUBJECT_MAX + 1));
    text[SUBJECT_TYPE_MAX] = 'a';
    text[SUBJECT_TYPE_MAX + 1] = ':';
    assert_false(subject_valid(text, SUBJECT_MAX));
}

TEST(subjects_of_paths) {
    char subject[SUBJECT_MAX + 1];
    const char *path = "post/123/replies";
    assert_true(subject_of_path(&path, subject));
    assert_string_equal(subject, "post:123");
    assert_string_equal(path, "/replies");
    path = "page/x.y";
    assert_true(subject_of_path(&path, subject));
    assert_string_equal(subject, "page:x.y");
    assert_string_equal(path, "");
    static const char *const BAD[] = {"", "post", "post/", "/1", "post/a%20b", "post:1/2"};
    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++) {
        path = BAD[i];
        assert_false(subject_of_path(&path, subject));
        assert_ptr_equal(path, BAD[i]);
    }
}

TEST(keys_are_read_as_they_were_written) {
    uint8_t key[SUBJECT_KEY_MAX];
    for (int numbers = 0; numbers <= 2; numbers++) {
        struct subject_key parts = {
            .subject = "post:1", .size = 6, .numbers = numbers, .comment = 0x0102, .second = -1};
        struct subject_key read;
        size_t size = subject_key_write(key, &parts);
        assert_int_equal(size, 6 + (numbers ? 1 + 8 * numbers : 0));
        assert_true(subject_key_read(key, size, &read));
        assert_int_equal(read.size, 6);
        assert_memory_equal(read.subject, "post:1", 6);
        assert_int_equal(read.numbers, numbers);
        assert_int_equal(read.comment, numbers ? 0x0102 : 0);
        assert_int_equal(read.second, numbers == 2 ? -1 : 0);
        if (numbers) assert_false(subject_key_read(key, size - 1, &read));
    }
    struct subject_key read;
    assert_false(subject_key_read("", 0, &read));
    assert_false(subject_key_read("post:1\0", 7, &read));
}

/* By number they are what each record means. */
TEST(words_are_in_the_order_of_all_records) {
    const int all[][2] = {
        {text_word("everyone", SUBJECT_WHO_MAY), COMMENT_COMMAND_EVERYONE},
        {text_word("followers", SUBJECT_WHO_MAY), COMMENT_COMMAND_FOLLOWERS},
        {text_word("friends", SUBJECT_WHO_MAY), COMMENT_COMMAND_FRIENDS},
        {text_word("nobody", SUBJECT_WHO_MAY), COMMENT_COMMAND_NOBODY},
        {text_word("everyone", SUBJECT_WHO_MAY), COMMENT_SUBJECT_EVERYONE},
        {text_word("followers", SUBJECT_WHO_MAY), COMMENT_SUBJECT_FOLLOWERS},
        {text_word("friends", SUBJECT_WHO_MAY), COMMENT_SUBJECT_FRIENDS},
        {text_word("nobody", SUBJECT_WHO_MAY), COMMENT_SUBJECT_NOBODY},
        {text_word("after", SUBJECT_REVIEWS), COMMENT_COMMAND_AFTER},
        {text_word("before", SUBJECT_REVIEWS), COMMENT_COMMAND_BEFORE},
        {text_word("after", SUBJECT_REVIEWS), COMMENT_SUBJECT_AFTER},
        {text_word("before", SUBJECT_REVIEWS), COMMENT_SUBJECT_BEFORE},
        {text_word("visible", COMMENT_STATES), COMMENT_VISIBLE},
        {text_word("held", COMMENT_STATES), COMMENT_HELD},
        {text_word("hidden", COMMENT_STATES), COMMENT_HIDDEN},
        {text_word("deleted", COMMENT_STATES), COMMENT_DELETED},
        {text_word("visible", COMMENT_STATES), COMMENT_WIDE_VISIBLE},
        {text_word("held", COMMENT_STATES), COMMENT_WIDE_HELD},
        {text_word("hidden", COMMENT_STATES), COMMENT_WIDE_HIDDEN},
        {text_word("deleted", COMMENT_STATES), COMMENT_WIDE_DELETED},
        {text_word("visible", COMMENT_STATES), COMMENT_CHANGE_VISIBLE},
        {text_word("held", COMMENT_STATES), COMMENT_CHANGE_HELD},
        {text_word("hidden", COMMENT_STATES), COMMENT_CHANGE_HIDDEN},
        {text_word("deleted", COMMENT_STATES), COMMENT_CHANGE_DELETED},
        {text_word("visible", COMMENT_STATES), COMMENT_COMMAND_VISIBLE},
        {text_word("held", COMMENT_STATES), COMMENT_COMMAND_HELD},
        {text_word("hidden", COMMENT_STATES), COMMENT_COMMAND_HIDDEN},
        {text_word("deleted", COMMENT_STATES), COMMENT_COMMAND_DELETED},
        {text_word("public", SHARING_WORDS), SHARING_PUBLIC},
        {text_word("shown", COMMENT_STATES), -1},
        {text_word("", COMMENT_STATES), -1},
    };
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) assert_int_equal(all[i][0], all[i][1]);
}
