/* The tests of both sides of lib/watch keep in desk->said, as text, what a side did. Such a test has a function says(desk, now_ms):
 * it lets the side go on until nothing is left, and returns the text. The test's thread. */
#pragma once

#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"

/* The side has done exactly this since the last time. */
#define assert_says(desk, now_ms, expected)                                                                            \
    do {                                                                                                               \
        assert_string_equal(says(desk, now_ms), expected);                                                             \
        buffer_clear(&(desk)->said);                                                                                   \
    } while (0)

/* Whats that a stranger has chosen: all have the same watch_hash, whose steps can be undone. The next one after *number. */
enum { SAME_HASH_SIZE = 16 };
static inline void watch_same_hash(uint64_t *number, char what[SAME_HASH_SIZE + 1]) {
    do {
        uint64_t n = ++*number, first = (uint64_t)0x6161616161616161 + n % 16 + (n / 16 % 16 << 8) + (n / 256 << 16);
        uint64_t words[] = {first, hash_u64(hash_u64(SAME_HASH_SIZE) ^ first) ^ 42};
        for (size_t i = 0; i < SAME_HASH_SIZE; i++) what[i] = (char)(words[i / 8] >> i % 8 * 8);
        what[SAME_HASH_SIZE] = '\0';
    } while (memchr(what, '\0', SAME_HASH_SIZE));
}
