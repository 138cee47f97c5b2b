#include "base/instant.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static const int64_t YEAR_10000_MS = INT64_C(253402300800000);

const char *instant_format(int64_t ms, char text[INSTANT_TEXT_SIZE]) {
    if (ms < 0 || ms >= YEAR_10000_MS) {
        snprintf(text, INSTANT_TEXT_SIZE, "%" PRId64, ms);
        return text;
    }
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    size_t length = strftime(text, INSTANT_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + length, INSTANT_TEXT_SIZE - length, ".%03dZ", (int)(ms % 1000));
    return text;
}
