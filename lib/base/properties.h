/* The .properties files of Java, as Kafka's people write them: comments by # and !, keys ended by = : or blanks, lines that
 * a backslash continues, \t \n \r \f and \uXXXX. Unlike Java's, the bytes are UTF-8. Pure; any thread. */
#ifndef BASE_PROPERTIES_H
#define BASE_PROPERTIES_H

#include <stddef.h>

#include "base/error.h"

/* Takes one pair; line is where its key stands, from 1. Anything but 0 ends the reading and is returned by it. */
typedef int properties_fn(void *context, int line, const char *key, const char *value, struct error *error);

/* Hands every pair of the text to fn, in order. name is what the text is called in reasons ("name:line: ..."). -EINVAL for
 * a broken escape, a NUL byte or bytes that are no UTF-8. */
int properties_read(const char *name, const char *text, size_t size, properties_fn *fn, void *context,
                    struct error *error);

#endif
