/* Records of comments, posts and reports: which are taken, and what a batch of them writes into the search index (index_posts.c). */
#include "moderation/batch.h"

#include "base/bytes.h"
#include "event/topics.h"
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
    batch_add(f->batch, &record, record.partition, applies);
    memset(key, 0xee, sizeof key);
    if (value.size) memset(value.data, 0xee, value.size);
}

static bool take_id(void *context, const struct index_row *row) {
    buffer_format(context, " %" PRId64, row->comment.id);
    return true;
}

static bool take_post(void *context, const struct index_row *row) {
    const struct comment_wide *post = &row->comment;
    buffer_format(context, " %" PRId64 " by %" PRId64 " state %d '%.*s' %.*s version %" PRId64 " reports %d", post->id,
                  post->user, (int)post->state, (int)post->text.size, post->text.data, (int)row->media.size,
                  row->media.data, post->version, (int)post->reports);
    return true;
}

static void take_person(void *context, const struct found_person *person) {
    buffer_format(context, " %" PRId64 " reports %" PRId64 " at %" PRId64 " '%.*s'", person->user, person->reports,
                  person->time, (int)person->reason.size, person->reason.data);
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
    uint8_t key[SUBJECT_KEY_MAX];
    struct kafka_record broken = {.partition = 0,
                                  .offset = 8,
                                  .key = key,
                                  .key_size = put_key(key, "post:1", 78),
                                  .value = (const uint8_t *)"?",
                                  .value_size = 1};
    add(f, 0, 7, &comment, 77, true);
    batch_add(f->batch, &broken, broken.partition, true);
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

/* ---- posts and people ---- */

static void add_of(struct fixture *f, const struct topic *topic, const void *key, size_t key_size,
                   const struct buffer *value) {
    struct kafka_record record = {.topic = topic,
                                  .key = key,
                                  .key_size = key_size,
                                  .value = value ? value->data : NULL,
                                  .value_size = value ? value->size : 0};
    int checked = batch_check(kit_codec(), &record, &failure);
    if (checked < 0) fail_msg("%s", failure.text);
    batch_add(f->batch, &record, 0, checked == 0);
}

static size_t post_key(uint8_t key[24], int64_t author, int64_t id, int64_t version) {
    bytes_put_be64(key, (uint64_t)author);
    bytes_put_be64(key + 8, (uint64_t)id);
    bytes_put_be64(key + 16, (uint64_t)version);
    return version ? 24 : 16;
}

static void add_post(struct fixture *f, int64_t id, const struct post *post) {
    uint8_t key[24];
    FREED_BUFFER value = {.size = 0};
    if (post) event_encode_post(&value, post);
    add_of(f, &TOPIC_POSTS, key, post_key(key, 5, id, 0), post ? &value : NULL);
}

static void add_text(struct fixture *f, int64_t id, int64_t former, const struct post_text *text) {
    uint8_t key[24];
    FREED_BUFFER value = {.size = 0};
    if (text) event_encode_post_text(&value, text);
    add_of(f, &TOPIC_POST_TEXTS, key, post_key(key, 5, id, former), text ? &value : NULL);
}

static void add_entry(struct fixture *f, const char *subject, int64_t comment, int64_t number,
                      enum moderation_entry_what what, const char *reason) {
    uint8_t key[SUBJECT_KEY_MAX];
    FREED_BUFFER value = {.size = 0};
    const struct moderation_entry entry = {
        .what = what, .user = 1, .author = 5, .reason = {reason, strlen(reason)}, .time = number};
    const struct subject_key parts = {subject, strlen(subject), 2, comment, number};
    event_encode_moderation_entry(&value, &entry);
    add_of(f, &TOPIC_MODERATION_LOG, key, subject_key_write(key, &parts), &value);
}

static void expect_posts(struct fixture *f, const struct search_query *query, const char *wanted) {
    FREED_BUFFER found = {.size = 0};
    bool more;
    assert_int_equal(batch_write(f->batch, kit_codec(), f->index, &failure), 0);
    batch_clear(f->batch);
    assert_int_equal(search_run(f->search, query, INT64_MAX, take_post, &found, &more, &failure), 0);
    assert_string_equal(buffer_cstring(&found), wanted);
}

TEST(a_post_is_put_together_in_any_order, struct fixture *f) {
    static const struct event_text urls[] = {{"https://x/1", 11}, {"https://x/\"", 11}};
    const struct post live = {.state = POST_LIVE}, hidden = {.state = POST_HIDDEN, .moderated = 1},
                      gone = {.state = POST_DELETED, .deleted = 9};
    const struct post_text text = {.text = {"buy now", 7}, .media = {urls, 2}, .version = 1, .editor = -1},
                           edited = {.text = {"sell", 4}, .version = 2, .edited = 8, .editor = -1};
    struct search_query all = {.kind = INDEX_POSTS, .user = -1, .state = -1, .to = INT64_MAX, .limit = 100};
    struct search_query of_user = all, words = all, reported = all, hidden_ones = all;
    of_user.user = 5;
    words.text = "BUY";
    reported.reported = true;
    hidden_ones.state = COMMENT_WIDE_HIDDEN;
    add_entry(f, "post:77", 0, 1, MODERATION_ENTRY_REPORT, "spam");
    add_text(f, 77, 0, &text);
    expect_posts(f, &all, ""); // it is not known to be there
    expect_posts(f, &of_user, "");
    add_post(f, 77, &live);
    expect_posts(f, &all, " 77 by 5 state 0 'buy now' [\"https://x/1\",\"https://x/\\\"\"] version 1 reports 1");
    add_entry(f, "post:77", 0, 2, MODERATION_ENTRY_HIDE, "no report");
    add_entry(f, "post:77", 9, 3, MODERATION_ENTRY_REPORT, "of a comment");
    add_post(f, 77, &hidden);
    add_text(f, 77, 1, &text); // a former one
    add_text(f, 77, 0, &edited);
    expect_posts(f, &hidden_ones, " 77 by 5 state 2 'sell' [] version 2 reports 1");
    expect_posts(f, &reported, " 77 by 5 state 2 'sell' [] version 2 reports 1");
    expect_posts(f, &words, "");
    add_post(f, 77, &gone);
    add_text(f, 77, 0, NULL);
    expect_posts(f, &all, " 77 by 5 state 3 '' [] version 1 reports 1");
    add_post(f, 77, NULL);
    expect_posts(f, &all, "");
    expect_ids(f, "");
    assert_int_equal(index_rows(f->index), 0);
}

TEST(people_are_listed_by_their_last_report, struct fixture *f) {
    struct people_query query = {.before = INT64_MAX, .before_user = INT64_MAX, .user = -1, .limit = 2};
    FREED_BUFFER found = {.size = 0};
    bool more;
    add_entry(f, "user:5", 0, 100, MODERATION_ENTRY_REPORT, "first");
    add_entry(f, "user:6", 0, 200, MODERATION_ENTRY_REPORT, "rude");
    add_entry(f, "user:7", 0, 200, MODERATION_ENTRY_REPORT, "loud");
    add_entry(f, "user:5", 0, 300, MODERATION_ENTRY_REPORT, "again");
    add_entry(f, "user:6", 0, 400, MODERATION_ENTRY_BAN, "for a week");
    assert_int_equal(batch_write(f->batch, kit_codec(), f->index, &failure), 0);
    assert_int_equal(search_people(f->search, &query, INT64_MAX, take_person, &found, &more, &failure), 0);
    assert_string_equal(buffer_cstring(&found), " 5 reports 2 at 300 'again' 7 reports 1 at 200 'loud'");
    assert_true(more);
    query.before = 200;
    query.before_user = 7;
    buffer_clear(&found);
    assert_int_equal(search_people(f->search, &query, INT64_MAX, take_person, &found, &more, &failure), 0);
    assert_string_equal(buffer_cstring(&found), " 6 reports 1 at 200 'rude'");
    assert_false(more);
    query = (struct people_query){.before = INT64_MAX, .before_user = INT64_MAX, .user = 7, .limit = 2};
    buffer_clear(&found);
    assert_int_equal(search_people(f->search, &query, INT64_MAX, take_person, &found, &more, &failure), 0);
    assert_string_equal(buffer_cstring(&found), " 7 reports 1 at 200 'loud'");
}
