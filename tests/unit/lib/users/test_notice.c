/* Keys and ids of notices are read as they were written, keys rise from the newest to the oldest, and others are refused. */
#include "unit/kit/kit.h"
#include "users/notice.h"

/* Rising. */
static const struct notice_key KEYS[] = {
    {0, INT64_MAX, NOTICE_OF_FOLLOW, 0},      {5, 1700000000001, NOTICE_OF_REPLY, 3},
    {5, 1700000000000, NOTICE_OF_FOLLOW, 7},  {5, 1700000000000, NOTICE_OF_FOLLOW, 8},
    {5, 1700000000000, NOTICE_OF_MENTION, 1}, {5, 0, NOTICE_OF_REPLY, INT64_MAX},
    {6, 1800000000000, NOTICE_OF_MENTION, 9}, {INT64_MAX, 0, NOTICE_OF_FOLLOW, 0},
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
                                      "5.4.5",
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
