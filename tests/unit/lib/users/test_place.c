/* Ids of places, and the keys of places and of their events. */
#include "unit/kit/kit.h"
#include "users/place.h"

TEST(ids_are_short_and_plain) {
    static const char *const GOOD[] = {"a", "home", "A-Z_09", "0123456789abcdef0123456789abcdef"};
    static const char *const BAD[] = {"", "a b", "a/b", "a.b", "caf\xc3\xa9", "0123456789abcdef0123456789abcdef0"};
    for (size_t i = 0; i < ARRAY_SIZE(GOOD); i++) assert_true(place_id_is(GOOD[i], strlen(GOOD[i])));
    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++) assert_false(place_id_is(BAD[i], strlen(BAD[i])));
    assert_false(place_id_is("a\0b", 3));
}

TEST(ids_are_in_the_order_of_their_bytes) {
    static const char *const RISING[] = {"-", "0", "A", "_", "a", "a-", "a0", "aa", "b"};
    for (size_t i = 0; i < ARRAY_SIZE(RISING); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(RISING); j++) {
            int order = place_id_compare(RISING[i], strlen(RISING[i]), RISING[j], strlen(RISING[j]));
            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
    }
    assert_int_equal(place_id_compare("home2", 4, "home", 4), 0);
}

TEST(keys_are_read_back) {
    static const struct place_key KEYS[] = {
        {0, "a", 1}, {INT64_MAX, "0123456789abcdef0123456789abcdef", 32}, {7, "home", 4}};
    for (size_t i = 0; i < ARRAY_SIZE(KEYS); i++) {
        uint8_t bytes[PLACE_KEY_MAX];
        struct place_key read;
        size_t size = place_key_write(bytes, &KEYS[i]);
        assert_int_equal(size, 8 + KEYS[i].id_size);
        assert_true(place_key_read(bytes, size, &read));
        assert_int_equal(read.user, KEYS[i].user);
        assert_int_equal(read.id_size, KEYS[i].id_size);
        assert_memory_equal(read.id, KEYS[i].id, read.id_size);
        for (size_t less = 0; less <= 8; less++) assert_false(place_key_read(bytes, less, &read));
        bytes[0] |= 0x80;
        assert_false(place_key_read(bytes, size, &read));
        bytes[0] = 0;
        bytes[size - 1] = '/';
        assert_false(place_key_read(bytes, size, &read));
    }
}

TEST(keys_of_events_are_read_back_and_rise_with_their_numbers) {
    static const struct place_event_key KEYS[] = {{0, 0}, {0, 255}, {0, 256}, {7, 1}, {INT64_MAX, INT64_MAX}};
    uint8_t before[PLACE_EVENT_KEY_SIZE], bytes[PLACE_EVENT_KEY_SIZE];
    for (size_t i = 0; i < ARRAY_SIZE(KEYS); i++) {
        struct place_event_key read;
        place_event_key_write(bytes, &KEYS[i]);
        assert_true(place_event_key_read(bytes, sizeof bytes, &read));
        assert_true(read.user == KEYS[i].user && read.number == KEYS[i].number);
        if (i) assert_true(memcmp(before, bytes, sizeof bytes) < 0);
        memcpy(before, bytes, sizeof bytes);
        assert_false(place_event_key_read(bytes, sizeof bytes - 1, &read));
        for (size_t at = 0; at < sizeof bytes; at += 8) {
            bytes[at] |= 0x80;
            assert_false(place_event_key_read(bytes, sizeof bytes, &read));
            bytes[at] = before[at];
        }
    }
}
