/* Java's .properties files, as Kafka uses them: # and ! begin comments, = : or blanks end keys, a backslash continues a line, and
 * \t \n \r \f and \uXXXX are escapes. Unlike in Java, the bytes are UTF-8. Pure; any thread. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* Takes one pair; line is the line of its key, from 1. A result other than 0 ends the reading, and properties_read returns it. */
typedef int properties_fn(void *context, int line, const char *key, const char *value, struct error *error);

/* Hands every pair of the text to fn, in order. name: for reasons ("name:line: ..."). -EINVAL for a broken escape, a NUL byte or
 * invalid UTF-8. */
int properties_read(const char *name, const char *text, size_t size, properties_fn *fn, void *context,
                    struct error *error);
