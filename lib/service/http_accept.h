/* Which of the media types that there are a client wants (RFC 9110, 12.5.1). Pure; any thread. */
#pragma once

#include <stddef.h>

/* The index of the best of `offered` ("text/csv"; lower case) by the value of an Accept header. NULL or "" accepts everything. Of each type
 * the most specific range counts (text/csv, then all of text, then all), and the type with the greatest q is the best, of equal ones the
 * first. Parameters other than q are ignored, and so is what cannot be understood. -1: none is accepted. */
int http_accept(const char *header, const char *const *offered, size_t count);
