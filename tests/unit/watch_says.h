/* The tests of both sides of lib/watch keep in desk->said, as text, what a side did. Such a test has a function says(desk, now_ms):
 * it lets the side go on until nothing is left, and returns the text. The test's thread. */
#ifndef WATCH_SAYS_H
#define WATCH_SAYS_H

#include "base/buffer.h"

/* The side has done exactly this since the last time. */
#define assert_says(desk, now_ms, expected)                                                                            \
    do {                                                                                                               \
        assert_string_equal(says(desk, now_ms), expected);                                                             \
        buffer_clear(&(desk)->said);                                                                                   \
    } while (0)

#endif
