/* Keys and ids of notices are read as they were written, keys rise from the newest to the oldest, and others are refused. */
#include "unit/kit/kit.h"
#include "users/notice.h"

/* Rising. */
static const struct notice_key KEYS[] = {
    {0, INT64_MAX, NOTICE_OF_FOLLOW, 0},
    {5, 1700000000001, NOTICE_OF_REPLY, 3},
    {5, 1700000000000, NOTICE_OF_FOLLOW, 7},
    {5, 1700000000000, NOTICE_OF_FOLLOW, 8},
    {5, 1700000000000, NOTICE_OF_MENTION, 1},
    {5, 1699999999999, NOTICE_OF_LIKE, 2},
    {5, 0, NOTICE_OF_REPLY, INT64_MAX},
    {5, 0, NOTICE_OF_REQUEST, 1},
    {5, 0, NOTICE_OF_ACCEPTED, 1},
    {5, 0, NOTICE_OF_ARRIVED, 1},
    {5, 0, NOTICE_OF_LEFT, 1},
    {6, 1800000000000, NOTICE_OF_MENTION, 9},
    {INT64_MAX, 0, NOTICE_OF_FOLLOW, 0},
};

static void assert_same(const struct notice_key *a, const struct notice_key *b) {
    assert_true(a->user == b->user && a->time == b->time && a->kind == b->kind && a->number == b->number);
}

TEST(test_keys_and_ids_come_back) {
    uint8_t before[NOTICE_KEY_SIZE], bytes[NOTICE_KEY_SIZE];
    for (size_t i = 0; i < ARRAY_SIZE(KEYS); i++) {
        struct notice_key read, of_id = {.user = KEYS[i].user};
        FREED_BUFFER id = {.size = 0};
        notice_key_write(bytes, &KEYS[i]);
        assert_true(notice_key_read(bytes, sizeof bytes, &read));
        assert_same(&read, &KEYS[i]);
        if (i) assert_true(memcmp(before, bytes, sizeof bytes) < 0);
        if (i && KEYS[i].user == KEYS[i - 1].user) assert_true(notice_is_newer(&KEYS[i - 1], &KEYS[i]));
        assert_false(notice_is_newer(&KEYS[i], &KEYS[i]));
        if (i && KEYS[i].user == KEYS[i - 1].user) assert_false(notice_is_newer(&KEYS[i], &KEYS[i - 1]));
        memcpy(before, bytes, sizeof bytes);
        notice_id_put(&id, &KEYS[i]);
        assert_true(notice_id_read(buffer_cstring(&id), &of_id));
        assert_same(&of_id, &KEYS[i]);
    }
}

TEST(test_what_is_none_is_refused) {
    static const char *const IDS[] = {"",
                                      "5",
                                      "5.1",
                                      "5.1.",
                                      ".1.5",
                                      "5..5",
                                      "5.0.5",
                                      "5.10.5",
                                      "5.1.5.",
                                      "5.1.5 ",
                                      "a.1.5",
                                      "-5.1.5",
                                      "5.1.9223372036854775808"};
    struct notice_key key;
    uint8_t bytes[NOTICE_KEY_SIZE];
    for (size_t i = 0; i < ARRAY_SIZE(IDS); i++) assert_false(notice_id_read(IDS[i], &key));
    for (size_t i = 0; i < 4; i++) {
        static const size_t AT[] = {0, 8, 16, 17};
        notice_key_write(bytes, &KEYS[2]);
        bytes[AT[i]] = 0xff;
        assert_false(notice_key_read(bytes, sizeof bytes, &key));
    }
    notice_key_write(bytes, &KEYS[2]);
    assert_false(notice_key_read(bytes, sizeof bytes - 1, &key));
    assert_false(notice_key_read(NULL, sizeof bytes, &key));
}

TEST(test_settings_say_what_is_read_and_how_notices_are_told) {
    struct notice_settings settings = {.not_live = 1 << NOTICE_OF_LIKE, .not_push = 1 << NOTICE_OF_FOLLOW};
    struct notice_key mark;
    FREED_BUFFER none = {0}, read = {0};
    assert_false(notice_mark(&settings, &mark));
    notice_settings_put(&none, &settings);
    assert_string_equal(buffer_cstring(&none),
                        "\"read\":null,\"preferences\":{\"follow\":{\"live\":true,\"push\":false},"
                        "\"mention\":{\"live\":true,\"push\":true},"
                        "\"reply\":{\"live\":true,\"push\":true},"
                        "\"request\":{\"live\":true,\"push\":true},"
                        "\"accepted\":{\"live\":true,\"push\":true},"
                        "\"like\":{\"live\":false,\"push\":true},"
                        "\"approach\":{\"live\":true,\"push\":true},"
                        "\"arrived\":{\"live\":true,\"push\":true},"
                        "\"left\":{\"live\":true,\"push\":true}}");
    settings.read_time = 1700000000000;
    settings.read_kind = NOTICE_OF_REPLY;
    settings.read_number = 9;
    assert_true(notice_mark(&settings, &mark));
    assert_true(mark.time == settings.read_time && mark.kind == NOTICE_OF_REPLY && mark.number == 9);
    notice_settings_put(&read, &settings);
    assert_memory_equal(buffer_cstring(&read), "\"read\":\"1700000000000.3.9\",", 27);
}

/* The schema's id is the header's last byte. */
TEST(test_the_release_before_reads_the_kinds_that_it_knows) {
    for (int what = NOTICE_FOLLOW; what <= NOTICE_LEFT; what++) {
        const struct notice notice = {.what = (enum notice_what)what, .user = 3, .subject = {"post:2", 6}, .time = 5};
        struct notice read;
        FREED_BUFFER value = {0};
        notice_encode(&value, &notice);
        assert_int_equal(value.data[EVENT_HEADER_SIZE - 1], what <= NOTICE_REPLY      ? 26
                                                            : what <= NOTICE_APPROACH ? 129
                                                                                      : NOTICE_SCHEMA_ID);
        assert_int_equal(event_decode_notice(kit_codec(), value.data, value.size, &read, &failure), 0);
        assert_true((int)read.what == what && read.user == 3 && read.time == 5 && !read.likes);
    }
}

TEST(test_arrivals_name_the_place) {
    const struct notice notice = {.what = NOTICE_LEFT, .user = 3, .time = 5, .place = {"H\"ome", 5}};
    const struct notice_key key = {1, 5, NOTICE_OF_LEFT, 77};
    struct notice read;
    FREED_BUFFER value = {0}, about = {0};
    notice_encode(&value, &notice);
    assert_int_equal(event_decode_notice(kit_codec(), value.data, value.size, &read, &failure), 0);
    notice_put_about(&about, &key, &read);
    assert_string_equal(buffer_cstring(&about), ",\"subject\":null,\"comment\":null,\"time\":5,\"place\":\"H\\\"ome\"");
}
