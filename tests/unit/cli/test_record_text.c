/* Tests record_text.c and lib/tracks/page.c. What replay and history write. */
#include "base/bytes.h"
#include "cli/record_text.h"
#include "deliver/envelope.h"
#include "event/delivery.h"
#include "event/topics.h"
#include "subjects/subject.h"
#include "tracks/page.h"
#include "unit/kit/kit.h"
#include "users/device.h"
#include "users/notice.h"
#include "users/place.h"
#include "watch/records.h"

static const struct kafka_settings SETTINGS = {.topics = &TOPICS_ALL, .prefix = "t."};

struct sample {
    struct kafka_record record;
    uint8_t key[16];
    struct buffer value;
};

static void with_key(struct sample *sample, int64_t first, int64_t second) {
    bytes_put_be64(sample->key, (uint64_t)first);
    bytes_put_be64(sample->key + 8, (uint64_t)second);
    sample->record.key = sample->key;
    sample->record.key_size = second ? 16 : 8;
}

static void with_value(struct sample *sample) {
    sample->record.value = sample->value.data;
    sample->record.value_size = sample->value.size;
}

static struct sample sample_of(const struct topic *topic) {
    return (struct sample){.record = {.topic = topic, .partition = 3, .offset = 17, .timestamp = 1700000000000}};
}

static char *text_of(const struct sample *sample) {
    FREED_BUFFER out = {.size = 0};
    struct codec *codec = kit_codec();
    record_text(&out, &SETTINGS, codec, &sample->record, false);
    return strdup(buffer_cstring(&out));
}

static bool concerns(const struct sample *sample, int64_t user) {
    struct codec *codec = kit_codec();
    bool result = record_concerns(codec, &sample->record, user);
    return result;
}

#define assert_text(sample, expected)                                                                                  \
    do {                                                                                                               \
        char *text_ = text_of(sample);                                                                                 \
        assert_string_equal(text_, expected);                                                                          \
        free(text_);                                                                                                   \
    } while (0)

#define HEAD(topic) "{\"topic\":\"t." topic "\",\"partition\":3,\"offset\":17,\"timestamp\":1700000000000,\"key\":"

TEST(a_friendship_has_both_users_in_its_key) {
    struct sample sample = sample_of(&TOPIC_FRIENDSHIPS);
    with_key(&sample, 5, 9);
    assert_text(&sample, HEAD("friendships") "[5,9],\"value\":null}");
    event_encode_friendship(&sample.value, &(struct friendship){.state = FRIENDSHIP_FRIENDS, .since = 7});
    with_value(&sample);
    FREED char *text = text_of(&sample);
    assert_non_null(strstr(text, "\"key\":[5,9],\"value\":{"));
    assert_non_null(strstr(text, "FRIENDS"));
    assert_true(concerns(&sample, 5));
    assert_false(concerns(&sample, 9)); // the other half is the other user's
    buffer_free(&sample.value);
}

TEST(a_command_concerns_both_users) {
    struct sample sample = sample_of(&TOPIC_FRIEND_COMMANDS);
    with_key(&sample, 5, 0);
    event_encode_friend_command(
        &sample.value, &(struct friend_command){.kind = FRIEND_COMMAND_REQUEST, .from = 9, .to = 5, .time = 1});
    with_value(&sample);
    assert_true(concerns(&sample, 5));
    assert_true(concerns(&sample, 9));
    assert_false(concerns(&sample, 1));
    FREED char *text = text_of(&sample);
    assert_non_null(strstr(text, "\"key\":5,\"value\":{"));
    buffer_free(&sample.value);
}

TEST(a_relation_has_both_users_and_what_it_is_in_its_key) {
    static const char *const EXPECTED[] = {"\"000000000000000500000000000000000f\"",
                                           "[5,\"follows\",15]",
                                           "[5,\"followed by\",15]",
                                           "[5,\"mutes\",15]",
                                           "[5,\"asked by\",15]",
                                           "[5,\"asks\",15]",
                                           "\"000000000000000506000000000000000f\""};
    for (size_t relation = 0; relation < ARRAY_SIZE(EXPECTED); relation++) {
        struct sample sample = sample_of(&TOPIC_FOLLOWS);
        uint8_t key[17] = {[7] = 5, [8] = relation, [16] = 15};
        char expected[256];
        snprintf(expected, sizeof expected, HEAD("follows") "%s,\"value\":null}", EXPECTED[relation]);
        sample.record.key = key;
        sample.record.key_size = sizeof key;
        assert_text(&sample, expected);
        assert_true(concerns(&sample, 5));
        assert_false(concerns(&sample, 15)); // the other half is the other user's
    }
    struct sample sample = sample_of(&TOPIC_FOLLOWS);
    with_key(&sample, 5, 0);
    assert_text(&sample, HEAD("follows") "\"0000000000000005\",\"value\":null}");
}

TEST(a_place_and_an_event_have_the_user_in_their_keys) {
    uint8_t key[PLACE_KEY_MAX];
    struct sample place = sample_of(&TOPIC_PLACES), event = sample_of(&TOPIC_PLACE_EVENTS);
    place.record.key = key;
    place.record.key_size = place_key_write(key, &(struct place_key){5, "home", 4});
    assert_text(&place, HEAD("places") "[5,\"home\"],\"value\":null}");
    assert_true(concerns(&place, 5));
    place.record.key_size = 8;
    assert_text(&place, HEAD("places") "5,\"value\":null}");
    with_key(&event, 5, 1784203200001);
    assert_text(&event, HEAD("place-events") "[5,1784203200001],\"value\":null}");
    assert_true(concerns(&event, 5) && !concerns(&event, 9));
}

TEST(a_post_has_its_author_and_id_in_its_key) {
    const struct topic *const topics[] = {&TOPIC_POSTS, &TOPIC_POST_TEXTS};
    for (size_t i = 0; i < ARRAY_SIZE(topics); i++) {
        struct sample sample = sample_of(topics[i]);
        with_key(&sample, 5, 9007199254740993);
        FREED char *text = text_of(&sample);
        assert_non_null(strstr(text, "\"key\":[5,\"9007199254740993\"],\"value\":null}"));
        assert_true(concerns(&sample, 5));
        assert_false(concerns(&sample, 9007199254740993));
    }
    struct sample sample = sample_of(&TOPIC_POST_TEXTS);
    with_key(&sample, 5, 9);
    const struct event_text media[] = {{"http://a", 8}, {"https://b", 9}};
    event_encode_post_text(&sample.value,
                           &(struct post_text){.text = {"Hi", 2}, .media = {media, 2}, .version = 1, .editor = -1});
    with_value(&sample);
    assert_text(&sample, HEAD("post-texts") "[5,\"9\"],\"value\":{\"text\": \"Hi\", \"media\": [\"http://a\", "
                                            "\"https://b\"], \"version\": 1, \"edited\": 0, \"editor\": -1, "
                                            "\"mentions\": []}}");
    buffer_free(&sample.value);
}

TEST(a_watch_has_what_is_watched_and_its_watcher_in_its_key) {
    uint8_t key[WATCH_KEY_MAX];
    struct sample sample = sample_of(&TOPIC_FEED_WATCHES);
    sample.record.key = key;
    sample.record.key_size = watch_key_encode(key, "feed:15", 7, UINT64_MAX);
    assert_text(&sample, HEAD("feed-watches") "[\"feed:15\",\"18446744073709551615\"],\"value\":null}");
    assert_true(concerns(&sample, 15));
    assert_false(concerns(&sample, 1));
    sample.record.key_size = watch_key_encode(key, NULL, 0, 15);
    assert_text(&sample, HEAD("feed-watches") "[null,\"15\"],\"value\":null}");
    assert_false(concerns(&sample, 15));
    sample.record.key_size = 3;
    assert_text(&sample, HEAD("feed-watches") "\"000000\",\"value\":null}");
}

TEST(a_follow_command_concerns_both_users) {
    struct sample sample = sample_of(&TOPIC_FOLLOW_COMMANDS);
    with_key(&sample, 5, 0);
    event_encode_follow_command(
        &sample.value, &(struct follow_command){.kind = FOLLOW_COMMAND_MUTE, .user = 5, .other = 9, .time = 1});
    with_value(&sample);
    assert_true(concerns(&sample, 5));
    assert_true(concerns(&sample, 9));
    assert_false(concerns(&sample, 1));
    buffer_free(&sample.value);
}

TEST(a_follower_command_concerns_the_author_and_the_reader) {
    struct sample sample = sample_of(&TOPIC_FOLLOWER_COMMANDS);
    with_key(&sample, 5, 0);
    event_encode_follower_command(
        &sample.value,
        &(struct follower_command){.kind = FOLLOWER_COMMAND_ACCEPT, .author = 5, .reader = 9, .time = 1});
    with_value(&sample);
    assert_true(concerns(&sample, 5));
    assert_true(concerns(&sample, 9));
    assert_false(concerns(&sample, 1));
    buffer_free(&sample.value);
}

TEST(a_name_is_of_a_user_or_of_a_handle) {
    static const uint8_t HANDLE_KEY[] = {0x80, 'a', 'b', 'c', 'd', 'e', 'f', 'g'}; // as long as a user's
    struct sample sample = sample_of(&TOPIC_NAMES);
    sample.record.key = HANDLE_KEY;
    sample.record.key_size = sizeof HANDLE_KEY;
    assert_text(&sample, HEAD("names") "\"@abcdefg\",\"value\":null}");
    event_encode_handle_user(&sample.value, &(struct handle_user){.user = 5, .number = 2});
    with_value(&sample);
    assert_text(&sample, HEAD("names") "\"@abcdefg\",\"value\":{\"user\": 5, \"number\": 2}}");
    assert_true(concerns(&sample, 5));
    assert_false(concerns(&sample, 9));
    sample.record.key_size = 3;
    sample.record.value = NULL;
    assert_text(&sample, HEAD("names") "\"806162\",\"value\":null}");
    buffer_free(&sample.value);

    struct sample own = sample_of(&TOPIC_NAMES);
    with_key(&own, 5, 0);
    assert_text(&own, HEAD("names") "5,\"value\":null}");
    assert_true(concerns(&own, 5));

    struct sample command = sample_of(&TOPIC_NAME_COMMANDS);
    command.record.key = HANDLE_KEY;
    command.record.key_size = 4;
    event_encode_name_command(
        &command.value,
        &(struct name_command){.kind = NAME_COMMAND_GRANT, .user = 5, .handle = {"abc", 3}, .number = 2, .time = 9});
    with_value(&command);
    assert_text(&command,
                HEAD("name-commands") "\"@abc\",\"value\":{\"kind\": \"GRANT\", \"user\": 5, \"handle\": \"abc\", "
                                      "\"number\": 2, \"time\": 9}}");
    assert_true(concerns(&command, 5));
    assert_false(concerns(&command, 9));
    buffer_free(&command.value);
}

TEST(a_notice_has_its_user_and_id_in_its_key) {
    struct sample sample = sample_of(&TOPIC_NOTICES);
    uint8_t key[NOTICE_KEY_SIZE];
    notice_key_write(key,
                     &(struct notice_key){.user = 5, .time = 1700000000000, .kind = NOTICE_OF_MENTION, .number = 9});
    sample.record.key = key;
    sample.record.key_size = sizeof key;
    assert_text(&sample, HEAD("notices") "[5,\"1700000000000.2.9\"],\"value\":null}");
    assert_true(concerns(&sample, 5));
    assert_false(concerns(&sample, 9));
}

TEST(a_device_has_its_user_run_and_session_in_its_key) {
    struct sample sample = sample_of(&TOPIC_DEVICES);
    uint8_t key[DEVICE_KEY_MAX];
    sample.record.key = key;
    sample.record.key_size = device_key_write(key, &(struct device_key){5, 6, INT64_MAX});
    assert_text(&sample, HEAD("devices") "[5,\"6\",\"9223372036854775807\"],\"value\":null}");
    assert_true(concerns(&sample, 5));
    assert_false(concerns(&sample, 6));
    sample.record.key_size = device_key_write(key, &(struct device_key){.user = -1, .run = 6});
    assert_text(&sample, HEAD("devices") "[null,\"6\"],\"value\":null}");
    assert_false(concerns(&sample, 6));
}

TEST(what_cannot_be_read_is_shown_as_it_is) {
    struct sample sample = sample_of(&TOPIC_LOCATIONS);
    sample.record.key = (const uint8_t *)"abc";
    sample.record.key_size = 3;
    sample.record.value = (const uint8_t *)"\x01\xfe";
    sample.record.value_size = 2;
    FREED char *text = text_of(&sample);
    assert_non_null(strstr(text, "\"key\":\"616263\",\"value\":null,\"error\":\""));
    assert_non_null(strstr(text, ",\"bytes\":\"01fe\"}"));
    assert_false(concerns(&sample, 5));
}

/* A batch with one Move and one Roster, as a router writes it. */
TEST(a_delivery_concerns_whom_it_names) {
    static const int64_t RECIPIENTS[] = {20, 21};
    static const struct roster_friend FRIENDS[] = {{.user = 31, .lat = 1, .lng = 2, .time = 3}};
    static const int64_t ONE[] = {30, 40, 50};
    static const struct {
        const int64_t *to;
        size_t count;
        struct nearby_item item;
    } TOLD[] = {
        {RECIPIENTS, 2, {.kind = NEARBY_ITEM_MOVE, .move = {.user = 10, .lat = 1, .lng = 2, .time = 3}}},
        {&ONE[0], 1, {.kind = NEARBY_ITEM_ROSTER, .roster = {.session = 1, .complete = true, .friends = {FRIENDS, 1}}}},
        {&ONE[1], 1, {.kind = NEARBY_ITEM_PARTED, .parted = {.friend = 41}}},
        {&ONE[2], 1, {.kind = NEARBY_ITEM_DIGEST, .digest = {.session = 1, .time = 2, .count = 0, .hash = 0}}},
    };
    static const int64_t STRANGER = 60;
    uint8_t bytes[1024], payload[128], *at = bytes + DELIVER_HEAD_MAX, *end = at;
    for (size_t i = 0; i < ARRAY_SIZE(TOLD); i++) {
        size_t size = (size_t)(nearby_item_write(payload, &TOLD[i].item) - payload);
        end = deliver_envelope_write(
            end, &(struct deliver_envelope){DELIVERY_NEARBY, TOLD[i].to, TOLD[i].count, payload, size});
    }
    end = deliver_envelope_write(end, &(struct deliver_envelope){77, &STRANGER, 1, (const uint8_t *)"\1\xfe", 2});
    *end++ = 0;
    uint8_t *start = deliver_head_write_before(at, 5, 6, ARRAY_SIZE(TOLD) + 1);
    struct sample sample = sample_of(&TOPIC_DELIVERIES);
    sample.record.value = start;
    sample.record.value_size = (size_t)(end - start);
    static const int64_t NAMED[] = {10, 20, 21, 30, 31, 40, 41, 50, 60};
    for (size_t i = 0; i < ARRAY_SIZE(NAMED); i++) assert_true(concerns(&sample, NAMED[i]));
    assert_false(concerns(&sample, 1));
    assert_text(
        &sample,
        HEAD(
            "deliveries") "null,\"value\":{\"stream_time\": 5, \"oldest_received\": 6, \"items\": ["
                          "{\"kind\": 1, \"recipients\": [20, 21], \"payload\": {\"item\": {\"Move\": {\"user\": 10, "
                          "\"lat\": 0.0000001, \"lng\": 0.0000002, \"time\": 3}}}}, "
                          "{\"kind\": 1, \"recipients\": [30], \"payload\": {\"item\": {\"Roster\": {\"session\": 1, "
                          "\"complete\": true, \"friends\": [{\"user\": 31, \"lat\": 0.0000001, \"lng\": 0.0000002, \"time\": 3}]}}}}, "
                          "{\"kind\": 1, \"recipients\": [40], \"payload\": {\"item\": {\"Parted\": {\"friend\": "
                          "41}}}}, "
                          "{\"kind\": 1, \"recipients\": [50], \"payload\": {\"item\": {\"Digest\": {\"session\": 1, "
                          "\"time\": 2, \"count\": 0, \"hash\": 0}}}}, "
                          "{\"kind\": 77, \"recipients\": [60], \"payload\": \"01fe\"}]}}");

    // Cut short, it is shown as what cannot be read.
    sample.record.value_size--;
    FREED char *text = text_of(&sample);
    assert_non_null(
        strstr(text, "\"value\":null,\"error\":\"item 5 of the delivery-batch is malformed\",\"bytes\":\"00"));
}

/* Each kind of timeline-item, for recipients that nobody else has. */
TEST(a_timeline_concerns_whom_it_names) {
    static const int64_t TO[] = {20, 21, 22, 23, 24, 25, 26, 27};
    static const int64_t IDS[] = {907, 905};
    static const struct post_ref REFS[] = {{.author = 30, .id = 907}, {.author = 31, .id = 905}};
    static const struct timeline_item ITEMS[] = {
        {.kind = TIMELINE_ITEM_PUSH, .push = {.author = 10, .id = 907}},
        {.kind = TIMELINE_ITEM_BACKLOG, .backlog = {.author = 11, .ids = {IDS, 2}, .cut = 0}},
        {.kind = TIMELINE_ITEM_BEGIN, .begin = {.wanted = {IDS, 2}}},
        {.kind = TIMELINE_ITEM_REQUEST, .request = {.reader = 12, .request = -1}},
        {.kind = TIMELINE_ITEM_ANSWER, .answer = {.request = 6, .partition = 1, .posts = {REFS, 2}, .cut = 5}},
        {.kind = TIMELINE_ITEM_HOT, .hot = {.id = 907}},
        {.kind = TIMELINE_ITEM_GONE, .gone = {.author = 13, .id = 907}},
        {.kind = TIMELINE_ITEM_HOT_GONE, .hot_gone = {.id = 907}},
    };
    static const struct topic *const TOPICS[] = {&TOPIC_TIMELINES, &TOPIC_TIMELINE_REQUESTS, &TOPIC_HOT_POSTS};
    uint8_t bytes[1024], payload[256], *at = bytes + DELIVER_HEAD_MAX, *end = at;
    for (size_t i = 0; i < ARRAY_SIZE(ITEMS); i++) {
        size_t size = (size_t)(timeline_item_write(payload, &ITEMS[i]) - payload);
        end = deliver_envelope_write(end, &(struct deliver_envelope){DELIVERY_TIMELINE, &TO[i], 1, payload, size});
    }
    *end++ = 0;
    uint8_t *start = deliver_head_write_before(at, 5, 6, ARRAY_SIZE(ITEMS));
    static const int64_t NAMED[] = {10, 11, 12, 13, 20, 21, 22, 23, 24, 25, 26, 27, 30, 31};
    for (size_t t = 0; t < ARRAY_SIZE(TOPICS); t++) {
        struct sample sample = sample_of(TOPICS[t]);
        sample.record.value = start;
        sample.record.value_size = (size_t)(end - start);
        for (size_t i = 0; i < ARRAY_SIZE(NAMED); i++) assert_true(concerns(&sample, NAMED[i]));
        assert_false(concerns(&sample, 6));
        assert_false(concerns(&sample, 905));
        FREED char *text = text_of(&sample);
        assert_non_null(strstr(text, "{\"kind\": 3, \"recipients\": [20], \"payload\": {\"item\": {\"TimelinePush\": "
                                     "{\"author\": 10, \"id\": 907}}}}"));
    }
}

/* {5, 6, [Parted {40, 41}]} without envelopes, as before the first packages: it is shown, and named by nobody. */
TEST(a_delivery_of_version_1_is_shown) {
    static const uint8_t BATCH[] = {0, 0, 0, 0, 6, 10, 12, 2, 10, 80, 82, 0};
    struct sample sample = sample_of(&TOPIC_DELIVERIES);
    sample.record.value = BATCH;
    sample.record.value_size = sizeof BATCH;
    FREED char *text = text_of(&sample);
    assert_non_null(strstr(text, "\"items\": [{\"Parted\": {\"recipient\": 40, \"friend\": 41}}]"));
    assert_false(concerns(&sample, 40));
}

struct rows {
    size_t count;
    struct track_report last;
};

static void count_row(void *context, const struct track_report *report) {
    struct rows *rows = context;
    rows->count++;
    rows->last = *report;
}

static int parse(const char *text, struct rows *rows, char **next, struct error *error) {
    *rows = (struct rows){.count = 0};
    return track_page_read(5, text, strlen(text), count_row, rows, next, error);
}

/* A record of a topic of subjects, with what its key holds beside the subject. */
static void check_of_subject(const struct topic *topic, int numbers, int64_t second, const struct buffer *value,
                             const char *key, int64_t user, int64_t other) {
    uint8_t bytes[SUBJECT_KEY_MAX];
    const struct subject_key parts = {
        .subject = "post:1", .size = 6, .numbers = numbers, .comment = 12, .second = second};
    struct sample sample = sample_of(topic);
    sample.record.key = bytes;
    sample.record.key_size = subject_key_write(bytes, &parts);
    sample.record.value = value->size ? value->data : NULL;
    sample.record.value_size = value->size;
    char *text = text_of(&sample), *wanted = NULL;
    assert_true(asprintf(&wanted, "\"key\":%s,\"value\":%s", key, value->size ? "{" : "null}") > 0);
    assert_non_null(strstr(text, wanted));
    assert_null(strstr(text, "\"error\""));
    assert_true(concerns(&sample, user));
    if (other >= 0) assert_true(concerns(&sample, other));
    assert_false(concerns(&sample, 999));
    free(wanted);
    free(text);
}

TEST(topics_of_comments_can_be_read) {
    static const struct event_text SUBJECT = {"post:1", 6}, KEY = {"k", 1}, TEXT = {"hi", 2};
    FREED_BUFFER value = {.size = 0};
#define CHECK_RECORD(record, topic, numbers, second, key, user, other, ...)                                            \
    do {                                                                                                               \
        buffer_clear(&value);                                                                                          \
        event_encode_##record(&value, &(struct record){__VA_ARGS__});                                                  \
        check_of_subject(&topic, numbers, second, &value, key, user, other);                                           \
    } while (0)
    CHECK_RECORD(comment_command, TOPIC_COMMENT_COMMANDS, 0, 0, "\"post:1\"", 5, -1, .subject = SUBJECT, .user = 5,
                 .key = KEY, .text = TEXT);
    CHECK_RECORD(comment_subject, TOPIC_COMMENTS, 0, 0, "\"post:1\"", 5, -1, .owner = 5);
    CHECK_RECORD(comment, TOPIC_COMMENTS, 1, 0, "[\"post:1\",\"12\"]", 5, -1, .user = 5, .floor = 1);
    CHECK_RECORD(comment_text, TOPIC_COMMENT_TEXTS, 1, 0, "[\"post:1\",\"12\"]", 5, -1, .user = 5, .text = TEXT,
                 .key = KEY);
    CHECK_RECORD(comment_reaction, TOPIC_REACTIONS, 2, 5, "[\"post:1\",\"12\",5]", 5, -1, .likes = true);
    CHECK_RECORD(comment_refusal, TOPIC_COMMENT_REFUSALS, 0, 0, "\"post:1\"", 5, -1, .user = 5, .key = KEY);
    CHECK_RECORD(moderation_entry, TOPIC_MODERATION_LOG, 2, 77, "[\"post:1\",\"12\",77]", 5, 6, .user = 5, .author = 6,
                 .what = MODERATION_ENTRY_BAN, .reason = TEXT);
    CHECK_RECORD(audit_entry, TOPIC_AUDIT, 0, 0, "\"post:1\"", 5, 6, .user = 5, .about = 6, .what = TEXT);
    CHECK_RECORD(comment_wide, TOPIC_COMMENTS_WIDE, 1, 0, "[\"post:1\",\"12\"]", 5, 6, .subject = SUBJECT, .owner = 6,
                 .user = 5, .text = TEXT);
#undef CHECK
    buffer_clear(&value);
    check_of_subject(&TOPIC_REACTIONS, 2, 5, &value, "[\"post:1\",\"12\",5]", 5, -1); // a tombstone
}

TEST(bans_and_offsets_can_be_read) {
    struct sample sample = sample_of(&TOPIC_BANS);
    with_key(&sample, 5, 0);
    event_encode_comment_ban(&sample.value, &(struct comment_ban){.moderator = 9, .reason = {"spam", 4}, .time = 3});
    with_value(&sample);
    FREED char *text = text_of(&sample);
    assert_non_null(strstr(text, "\"key\":5,\"value\":{"));
    assert_true(concerns(&sample, 5));
    buffer_free(&sample.value);
    sample = sample_of(&TOPIC_COMMENT_OFFSETS);
    sample.record.key = (const uint8_t *)"comment-commands";
    sample.record.key_size = strlen("comment-commands");
    assert_text(&sample, HEAD("comment-offsets") "\"comment-commands\",\"value\":null}");
    // The key of a record that is no subject's is shown as it is.
    sample = sample_of(&TOPIC_COMMENTS);
    with_key(&sample, 1, 0);
    assert_text(&sample, HEAD("comments") "\"0000000000000001\",\"value\":null}");
    assert_false(concerns(&sample, 1));
}

TEST(pages_of_history_are_read) {
    struct rows rows;
    char *next = NULL;
    assert_int_equal(
        parse("{\"items\":[{\"lat\":39.9847021,\"lng\":-116.5,\"time\":7,\"accuracy\":null,\"received\":8},"
              "{\"lat\":1,\"lng\":2,\"time\":9,\"accuracy\":30,\"received\":10}],\"next\":\"9-4\"}",
              &rows, &next, NULL),
        0);
    assert_int_equal(rows.count, 2);
    assert_int_equal(rows.last.user, 5);
    assert_int_equal(rows.last.lat, 10000000);
    assert_int_equal(rows.last.accuracy, 30);
    assert_int_equal(rows.last.received, 10);
    assert_string_equal(next, "9-4");
    free(next);
    assert_int_equal(parse("{\"items\":[],\"next\":null}", &rows, &next, NULL), 0);
    assert_int_equal(rows.count, 0);
    assert_null(next);
}

TEST(answers_that_make_no_sense_are_refused) {
    static const char *const WRONG[] = {
        "",
        "[]",
        "{\"next\":null}",
        "{\"items\":{},\"next\":null}",
        "{\"items\":[],\"next\":5}",
        "{\"items\":[{\"lat\":1,\"lng\":2,\"received\":10}],\"next\":null}",
        "{\"items\":[{\"lat\":91,\"lng\":2,\"time\":1,\"received\":10}],\"next\":null}",
        "{\"items\":[{\"lat\":1,\"lng\":2,\"time\":1,\"received\":10,\"accuracy\":\"x\"}],\"next\":null}",
    };
    struct rows rows;
    for (size_t i = 0; i < ARRAY_SIZE(WRONG); i++) {
        char *next = NULL;
        assert_fails(parse(WRONG[i], &rows, &next, &failure), -EBADMSG, "cannot be understood");
        assert_null(next);
    }
}
