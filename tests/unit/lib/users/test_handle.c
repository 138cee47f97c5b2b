/* Handles: their spelling, their partitions and their keys. */
#include "unit/kit/kit.h"
#include "users/handle.h"

TEST(test_a_handle_has_3_to_30_characters) {
    static const struct {
        const char *text, *handle; /* NULL: it is none */
    } CASES[] = {
        {"ada", "ada"},
        {"Ada_99", "ada_99"},
        {"___", "___"},
        {"007", "007"},
        {"abcdefghijklmnopqrstuvwxyz0123", "abcdefghijklmnopqrstuvwxyz0123"},
        {"abcdefghijklmnopqrstuvwxyz01234", NULL},
        {"ad", NULL},
        {"", NULL},
        {"a d", NULL},
        {"a-b", NULL},
        {"@ada", NULL},
        {"ad\xc3\xa4", NULL},
        {"\xe2\x84\xaa"
         "elvin",
         NULL}, /* the Kelvin sign, which folds to k elsewhere */
        {"ada\n", NULL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        char handle[HANDLE_SIZE] = "before";
        bool good = handle_read(CASES[i].text, strlen(CASES[i].text), handle);
        assert_int_equal(good, CASES[i].handle != NULL);
        assert_string_equal(handle, good ? CASES[i].handle : "before");
    }
    char handle[HANDLE_SIZE];
    assert_false(handle_read("ad\0a", 4, handle));
}

TEST(test_the_partition_is_that_of_the_handles_bytes) {
    bool used[7] = {false};
    char handle[HANDLE_SIZE] = "user_a";
    for (int c = 'a'; c <= 'z'; c++) {
        handle[5] = (char)c;
        int32_t partition = handle_partition(handle, 7);
        assert_int_equal(partition, hash_partition(handle, 6, 7));
        used[partition] = true;
    }
    for (int p = 0; p < 7; p++) assert_true(used[p]);
}

TEST(test_keys_come_back) {
    static const int64_t USERS[] = {0, 1, INT64_C(0x6162636465666768), INT64_MAX};
    uint8_t key[NAME_KEY_MAX];
    char handle[HANDLE_SIZE];
    int64_t user;
    for (size_t i = 0; i < ARRAY_SIZE(USERS); i++) {
        assert_true(name_key_read(key, name_key_of_user(key, USERS[i]), &user, handle));
        assert_int_equal(user, USERS[i]);
    }
    // One of seven characters makes a key as long as a user's.
    static const char *const HANDLES[] = {"ada", "abcdefg", "abcdefgh", "abcdefghijklmnopqrstuvwxyz0123"};
    for (size_t i = 0; i < ARRAY_SIZE(HANDLES); i++) {
        user = 5;
        assert_true(name_key_read(key, name_key_of_handle(key, HANDLES[i]), &user, handle));
        assert_int_equal(user, -1);
        assert_string_equal(handle, HANDLES[i]);
    }
}

TEST(test_keys_that_are_none) {
    static const struct {
        const char *key;
        size_t size;
    } CASES[] = {{"", 0},
                 {"\x80", 1},
                 {"\x80"
                  "ad",
                  3},
                 {"\x80"
                  "Ada",
                  4},
                 {"\x80"
                  "ad\0",
                  4},
                 {"\x00\x01", 2},
                 {"\xff\xff\xff\xff\xff\xff\xff\xff", 8},
                 {"aaaaaaaaa", 9}};
    int64_t user;
    char handle[HANDLE_SIZE];
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++)
        assert_false(name_key_read(CASES[i].key, CASES[i].size, &user, handle));
    assert_false(name_key_read(NULL, 0, &user, handle));
}
