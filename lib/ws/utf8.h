/* Checks that text that comes in pieces is UTF-8; tells at the first byte that cannot be. Pure; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct utf8 {          /* all zero: the text begins */
    uint8_t missing;   /* bytes of the character that has begun */
    uint8_t low, high; /* the next of them is between; only while some are missing */
};

bool utf8_feed(struct utf8 *utf8, const void *bytes, size_t size); /* false: not UTF-8, whatever follows */
static inline bool utf8_ends(const struct utf8 *utf8) { return !utf8->missing; }
