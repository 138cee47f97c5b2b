/* Points in time as people and other programs read them. Pure; any thread. */
#pragma once

#include <stdint.h>

enum { INSTANT_TEXT_SIZE = 32 };

/* "2026-01-31T12:00:00.123Z" of milliseconds since the epoch; the number itself where the year has more than four digits. Returns
 * text. */
const char *instant_format(int64_t ms, char text[INSTANT_TEXT_SIZE]);
