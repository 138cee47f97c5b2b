#include "ingest/comments/etag.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void etag_of(int64_t version, int64_t counters, int64_t reader, uint64_t left_out, char tag[ETAG_SIZE]) {
    int size = snprintf(tag, ETAG_SIZE, "W/\"%" PRId64 ".%" PRId64, version, counters);
    if (reader >= 0) size += snprintf(tag + size, ETAG_SIZE - (size_t)size, ".%" PRId64, reader);
    if (left_out) size += snprintf(tag + size, ETAG_SIZE - (size_t)size, "-%" PRIx64, left_out);
    snprintf(tag + size, ETAG_SIZE - (size_t)size, "\"");
}

/* Without W/. */
static const char *opaque(const char *tag) { return strncmp(tag, "W/", 2) == 0 ? tag + 2 : tag; }

bool etag_matches(const char *list, const char *tag) {
    const char *wanted = opaque(tag);
    size_t size = strlen(wanted);
    if (!list) return false;
    while (*list) {
        list += strspn(list, " \t,");
        const char *given = opaque(list);
        if (*given == '*') return true;
        if (strncmp(given, wanted, size) == 0 && strchr(" \t,", given[size])) return true;
        const char *end = *given == '"' ? strchr(given + 1, '"') : NULL;
        list = end ? end + 1 : given + strcspn(given, ",");
    }
    return false;
}
