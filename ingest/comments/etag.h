/* ETags of pages: the versions of the subject's structure and of its counters, the reader where the page holds the reader's own likes, and
 * what was left out of the page because the reader has blocked its authors. Weak: names of authors may change without them. Pure; any thread. */
#pragma once

#include <stdint.h>

enum { ETAG_SIZE = 100 };

/* reader -1: for everybody; left_out 0: nothing, else a number that stands for it. */
void etag_of(int64_t version, int64_t counters, int64_t reader, uint64_t left_out, char tag[ETAG_SIZE]);
