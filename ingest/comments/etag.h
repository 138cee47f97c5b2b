/* ETags of pages: the versions of the subject's structure and of its counters, and the reader where the page holds the reader's own
 * likes. Weak: names of authors may change without them. Pure; any thread. */
#ifndef INGEST_COMMENTS_ETAG_H
#define INGEST_COMMENTS_ETAG_H

#include <stdbool.h>
#include <stdint.h>

enum { ETAG_SIZE = 80 };

void etag_of(int64_t version, int64_t counters, int64_t reader, char tag[ETAG_SIZE]); /* reader -1: for everybody */

/* Whether a list of If-None-Match holds the tag, compared weakly, or is "*". NULL: false. */
bool etag_matches(const char *list, const char *tag);

#endif
