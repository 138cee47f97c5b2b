/* Records of the topic of wide comments: which are taken, and what a batch of them writes into the search index. */
#include "moderation/batch.h"
#include "moderation/search.h"
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

/* ---- what is written ---- */

enum { PARTITIONS = 3, CACHE = 1 << 20 };

struct fixture {
    struct index *index;
    struct search *search;
    struct batch *batch;
};

SET_UP() {
    struct fixture *f = kit_zero(sizeof *f);
    FREED char *path = mem_format("%s/comments.db", kit_folder());
    assert_int_equal(index_open(path, PARTITIONS, CACHE, &f->index, NULL), 0);
    assert_int_equal(search_new(f->index, CACHE, &f->search, NULL), 0);
    f->batch = batch_new();
    return f;
}

TEAR_DOWN(struct fixture *f) {
    batch_free(f->batch);
    search_free(f->search);
    index_close(f->index);
}

/* comment NULL: a tombstone of that id. Everything that the batch was given is overwritten behind it: it has copied that. */
static void add(struct fixture *f, int32_t partition, int64_t offset, const struct comment_wide *comment, int64_t id,
                bool applies) {
    uint8_t key[SUBJECT_KEY_MAX];
    FREED_BUFFER value = {.size = 0};
    if (comment) event_encode_comment_wide(&value, comment);
    struct kafka_record record = {.partition = partition,
                                  .offset = offset,
                                  .key = key,
                                  .key_size = put_key(key, "post:1", id),
                                  .value = value.data,
                                  .value_size = value.size};
    batch_add(f->batch, &record, applies);
    memset(key, 0xee, sizeof key);
    if (value.size) memset(value.data, 0xee, value.size);
}

static bool take_id(void *context, const struct comment_wide *comment) {
    buffer_format(context, " %" PRId64, comment->id);
    return true;
}

/* The ids of all comments in the index, the newest first. */
static void expect_ids(struct fixture *f, const char *wanted) {
    const struct search_query all = {.user = -1, .state = -1, .to = INT64_MAX, .limit = 100};
    FREED_BUFFER ids = {.size = 0};
    bool more;
    assert_int_equal(search_run(f->search, &all, INT64_MAX, take_id, &ids, &more, &failure), 0);
    assert_string_equal(buffer_cstring(&ids), wanted);
}

TEST(records_are_written_with_their_offsets, struct fixture *f) {
    struct comment_wide first = some_comment(), second = some_comment();
    second.id = 78;
    add(f, 0, 4, &first, 77, true);
    add(f, 2, 9, &second, 78, true);
    assert_int_equal(batch_count(f->batch), 2);
    assert_true(batch_bytes(f->batch) > 0);
    expect_ids(f, ""); // nothing before it is written
    assert_int_equal(batch_write(f->batch, kit_codec(), f->index, &failure), 0);
    expect_ids(f, " 78 77");
    assert_int_equal(index_next(f->index, 0), 5);
    assert_int_equal(index_next(f->index, 1), -1);
    assert_int_equal(index_next(f->index, 2), 10);
    batch_clear(f->batch);
    assert_int_equal(batch_count(f->batch), 0);
    assert_int_equal(batch_bytes(f->batch), 0);
    add(f, 0, 5, NULL, 77, true);
    assert_int_equal(batch_bytes(f->batch), 0); // a tombstone has no value
    assert_int_equal(batch_write(f->batch, kit_codec(), f->index, &failure), 0);
    expect_ids(f, " 78");
    assert_int_equal(index_next(f->index, 0), 6);
}

TEST(of_what_does_not_apply_only_the_offset_counts, struct fixture *f) {
    const struct comment_wide comment = some_comment();
    add(f, 1, 30, &comment, 77, false);
    assert_int_equal(batch_count(f->batch), 1);
    assert_int_equal(batch_bytes(f->batch), 0);
    assert_int_equal(batch_write(f->batch, kit_codec(), f->index, &failure), 0);
    expect_ids(f, "");
    assert_int_equal(index_next(f->index, 1), 31);
}

/* All records of a batch, or none; and the same batch may be tried again. */
TEST(a_batch_that_fails_writes_nothing, struct fixture *f) {
    const struct comment_wide comment = some_comment();
    struct kafka_record broken = {.partition = 0, .offset = 8, .value = (const uint8_t *)"?", .value_size = 1};
    add(f, 0, 7, &comment, 77, true);
    batch_add(f->batch, &broken, true);
    for (int i = 0; i < 2; i++) {
        assert_true(batch_write(f->batch, kit_codec(), f->index, &failure) < 0);
        expect_ids(f, "");
        assert_int_equal(index_next(f->index, 0), -1);
    }
    batch_clear(f->batch);
    add(f, 0, 7, &comment, 77, true);
    assert_int_equal(batch_write(f->batch, kit_codec(), f->index, &failure), 0);
    expect_ids(f, " 77");
}
