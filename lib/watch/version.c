#include <inttypes.h>
#include <stdio.h>

#include "watch/watch.h"

void watch_version_write(struct watch_version version, char text[WATCH_VERSION_TEXT]) {
    snprintf(text, WATCH_VERSION_TEXT, "%016" PRIx64 "%016" PRIx64, (uint64_t)version.number, version.hash);
}

static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hex(const char *text, uint64_t *number) {
    *number = 0;
    for (int i = 0; i < 16; i++) {
        int value = digit(text[i]);
        if (value < 0) return false;
        *number = *number << 4 | (uint64_t)value;
    }
    return true;
}

bool watch_version_read(const char *text, size_t size, struct watch_version *version) {
    uint64_t number, hash;
    if (size != WATCH_VERSION_TEXT - 1 || !read_hex(text, &number) || !read_hex(text + 16, &hash)) return false;
    *version = (struct watch_version){.number = (int64_t)number, .hash = hash};
    return true;
}
