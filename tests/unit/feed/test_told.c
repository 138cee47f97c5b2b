/* Records of approaches as notices. */
#include "feed/told.h"
#include "unit/kit/kit.h"

SET_UP() { return codec_new(); }
TEAR_DOWN(struct codec *codec) { codec_free(codec); }

static const uint8_t USER[8] = {0, 0, 0, 0, 0, 0, 0, 7};

static int read_record(struct codec *codec, const void *bytes, size_t size, const struct buffer *value,
                       struct notice_key *key, struct notice *notice) {
    const struct kafka_record record = {
        .key = bytes, .key_size = size, .value = value ? value->data : NULL, .value_size = value ? value->size : 0};
    return told_read(codec, &record, key, notice, &failure);
}

static void read_told(struct codec *codec, const struct place_told *told, struct buffer *value, struct notice_key *key,
                      struct notice *notice) {
    event_encode_place_told(value, told);
    assert_int_equal(read_record(codec, USER, sizeof USER, value, key, notice), 0);
}

TEST(an_approach_is_a_notice_about_the_friend, struct codec *codec) {
    struct notice_key key;
    struct notice notice;
    FREED_BUFFER value = {0};
    event_encode_friend_approach(&value, &(struct friend_approach){.friend = 9, .distance_dm = 4315, .time = 5});
    assert_int_equal(read_record(codec, USER, sizeof USER, &value, &key, &notice), 0);
    assert_true(key.user == 7 && key.time == 5 && key.kind == NOTICE_OF_APPROACH && key.number == 9);
    assert_true(notice.what == NOTICE_APPROACH && notice.user == 9 && notice.distance_dm == 4315 && notice.time == 5);
}

TEST(an_arrival_and_a_departure_name_the_place, struct codec *codec) {
    static const struct event_text HOME = {"Home", 4};
    struct place_told told = {.user = 9, .number = 3, .name = HOME, .what = PLACE_TOLD_ARRIVED, .time = 5};
    struct notice_key first, again, other;
    struct notice notice;
    struct buffer values[4] = {{0}};
    read_told(codec, &told, &values[0], &first, &notice);
    assert_true(first.user == 7 && first.time == 5 && first.kind == NOTICE_OF_ARRIVED && first.number >= 0);
    assert_true(notice.what == NOTICE_ARRIVED && notice.user == 9 && notice.time == 5 && notice.subject.size == 0);
    assert_memory_equal(notice.place.data, "Home", notice.place.size);
    read_told(codec, &told, &values[1], &again, &notice);
    assert_true(again.number == first.number); // told twice, it is one notice
    told.number = 4;
    read_told(codec, &told, &values[2], &other, &notice);
    assert_true(other.number != first.number); // two places of one report are two
    told.what = PLACE_TOLD_LEFT;
    read_told(codec, &told, &values[3], &other, &notice);
    assert_true(other.kind == NOTICE_OF_LEFT && notice.what == NOTICE_LEFT);
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) buffer_free(&values[i]);
}

TEST(others_are_none, struct codec *codec) {
    struct notice_key key;
    struct notice notice;
    FREED_BUFFER profile = {0}, good = {0};
    event_encode_profile(&profile,
                         &(struct profile){.name = {"a", 1}, .avatar_url = {"", 0}, .bio = {"", 0}, .url = {"", 0}});
    event_encode_friend_approach(&good, &(struct friend_approach){.friend = 9});
    assert_int_equal(read_record(codec, USER, sizeof USER, NULL, &key, &notice), -EBADMSG);
    assert_int_equal(read_record(codec, USER, sizeof USER, &profile, &key, &notice), -EBADMSG);
    assert_int_equal(read_record(codec, USER, 7, &good, &key, &notice), -EBADMSG);
    good.size--;
    assert_int_equal(read_record(codec, USER, sizeof USER, &good, &key, &notice), -EBADMSG);
}
