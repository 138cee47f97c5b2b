/* Checks the parts of HTTP's header fields (RFC 9110). Pure; any thread. */
#ifndef BASE_HEADER_H
#define BASE_HEADER_H

#include <stdbool.h>
#include <stddef.h>

/* A token (5.6.2): the name of a field, or a method. */
bool header_is_token(const char *text, size_t size);

/* A field's value has no control characters but tabs (5.5). */
bool header_is_value(const char *text, size_t size);

#endif
