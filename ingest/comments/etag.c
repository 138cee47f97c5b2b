#include "ingest/comments/etag.h"

#include <inttypes.h>
#include <stdio.h>

void etag_of(int64_t version, int64_t counters, int64_t reader, uint64_t left_out, char tag[ETAG_SIZE]) {
    int size = snprintf(tag, ETAG_SIZE, "W/\"%" PRId64 ".%" PRId64, version, counters);
    if (reader >= 0) size += snprintf(tag + size, ETAG_SIZE - (size_t)size, ".%" PRId64, reader);
    if (left_out) size += snprintf(tag + size, ETAG_SIZE - (size_t)size, "-%" PRIx64, left_out);
    snprintf(tag + size, ETAG_SIZE - (size_t)size, "\"");
}
