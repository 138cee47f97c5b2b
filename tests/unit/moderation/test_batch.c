/* Records of the topic of wide comments, before they come into the search index. */
#include "moderation/batch.h"
#include "subjects/subject.h"
#include "unit/kit/kit.h"

static size_t put_key(uint8_t key[SUBJECT_KEY_MAX], const char *subject, int64_t comment) {
    return subject_key_write(key, &(struct subject_key){subject, strlen(subject), 1, comment, 0});
}

static struct comment_wide some_comment(void) {
    return (struct comment_wide){.subject = {"post:1", 6},
                                 .id = 77,
                                 .floor = 1,
                                 .user = 3,
                                 .state = COMMENT_WIDE_VISIBLE,
                                 .text = {"hello", 5},
                                 .time = 5};
}

/* What a batch says of a comment under a key. */
static int check_record(const struct comment_wide *comment, const char *subject, int64_t id, struct error *error) {
    uint8_t key[SUBJECT_KEY_MAX];
    FREED_BUFFER value = {.size = 0};
    struct codec *codec = kit_codec();
    event_encode_comment_wide(&value, comment);
    struct kafka_record record = {
        .key = key, .key_size = put_key(key, subject, id), .value = value.data, .value_size = value.size};
    return batch_check(codec, &record, error);
}

TEST(records_are_checked) {
    struct comment_wide comment = some_comment(), nobodys = some_comment();
    struct error error;
    nobodys.user = -1;
    assert_int_equal(check_record(&comment, "post:1", 77, &error), 0);
    assert_true(check_record(&comment, "post:1", 78, &error) < 0);
    assert_string_equal(error.text, "the comment is another one than the key says");
    assert_true(check_record(&comment, "post:2", 77, &error) < 0);
    assert_true(check_record(&comment, "post:1", 0, &error) < 0);
    assert_string_equal(error.text, "the key is no subject and comment");
    assert_true(check_record(&nobodys, "post:1", 77, &error) < 0);
    assert_string_equal(error.text, "a comment-wide with a value that is out of range");
}

TEST(tombstones_need_a_comment_in_the_key) {
    uint8_t key[SUBJECT_KEY_MAX];
    struct codec *codec = kit_codec();
    struct kafka_record record = {.key = key, .key_size = put_key(key, "post:1", 77)};
    assert_int_equal(batch_check(codec, &record, NULL), 0);
    record.key_size = 6;
    assert_true(batch_check(codec, &record, NULL) < 0);
    record.key_size = 0;
    assert_true(batch_check(codec, &record, NULL) < 0);
}
