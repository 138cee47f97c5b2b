/* Keys of sessions and runs, and names of devices. */
#include "unit/kit/kit.h"
#include "users/device.h"

static void is_read_back(struct device_key key, size_t size) {
    uint8_t bytes[DEVICE_KEY_MAX];
    struct device_key read;
    assert_int_equal(device_key_write(bytes, &key), size);
    assert_true(device_key_read(bytes, size, &read));
    assert_int_equal(read.user, key.user);
    assert_int_equal(read.run, key.run);
    assert_int_equal(read.session, key.session);
    for (size_t other = 0; other <= DEVICE_KEY_MAX; other++)
        if (other != size) assert_false(device_key_read(bytes, other, &read));
}

TEST(keys_are_read_back) {
    is_read_back((struct device_key){0, 0, 0}, 24);
    is_read_back((struct device_key){INT64_MAX, INT64_MAX, INT64_MAX}, 24);
    is_read_back((struct device_key){1, 2, 3}, 24);
    is_read_back((struct device_key){.user = -1, .run = 7}, 9);
    is_read_back((struct device_key){.user = -1, .run = INT64_MAX}, 9);
}

TEST(numbers_are_not_negative) {
    uint8_t bytes[DEVICE_KEY_MAX];
    struct device_key read;
    size_t size = device_key_write(bytes, &(struct device_key){1, 2, 3});
    for (size_t at = 0; at < size; at += 8) {
        bytes[at] = 0xff;
        assert_false(device_key_read(bytes, size, &read));
        bytes[at] = 0;
    }
    size = device_key_write(bytes, &(struct device_key){.user = -1, .run = 7});
    bytes[1] = 0x80;
    assert_false(device_key_read(bytes, size, &read));
    bytes[1] = 0;
    bytes[0] = 0x81;
    assert_false(device_key_read(bytes, size, &read));
}

static bool is(const char *name) { return device_name_is(name, strlen(name)); }

TEST(names) {
    static const char LONG[] = "0123456789012345678901234567890123456789012345678901234567890123";
    assert_true(is("a") && is("Pixel 9") && is("电脑") && is(LONG));
    assert_false(is("") || is("a\n") || is("\x1f") || is("a\x7f") || is("\xff") || is("\xe7\x94"));
    assert_false(device_name_is(LONG, DEVICE_NAME_MAX + 1) || device_name_is("a\0b", 3));
}
