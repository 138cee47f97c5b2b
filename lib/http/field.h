/* The parts of HTTP's header fields (RFC 9110). Pure; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct http_field {
    const char *name, *value;
};

/* A token (5.6.2): the name of a field, or a method. */
bool http_is_token(const char *text, size_t size);

/* A field's value has no control characters but tabs (5.5). */
bool http_is_value(const char *text, size_t size);

/* The list (words with commas between them) holds the word; any_case: whatever its letters' case. */
bool http_lists(const char *list, const char *word, size_t size, bool any_case);
