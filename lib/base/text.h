/* Text that others read: quoting, numbers, and how far two words are apart. Pure; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Appends a JSON string, quotes included. Control characters are escaped, U+007F to U+009F and those of direction too (a terminal would
 * obey them); each byte that is no part of valid UTF-8 becomes U+FFFD. */
void text_quote(struct buffer *out, const char *text, size_t size);

/* Appends a JSON string of hexadecimal digits, two a byte. */
void text_hex(struct buffer *out, const uint8_t *bytes, size_t size);

/* Appends the bytes of a text in base64url without padding (RFC 7515, 2). False: it is none, and out holds a part of it. */
bool text_base64url(struct buffer *out, const char *text, size_t size);
/* The same of base64 with padding (RFC 4648, 4). */
bool text_base64(struct buffer *out, const char *text, size_t size);

/* Appends the text as a value of a query string: all but the unreserved characters of RFC 3986 as %41. */
void text_escape(struct buffer *out, const char *text);

/* Appends the shortest decimal that reads back as the same double; NaN, +Inf or -Inf where there is none. */
void text_double(struct buffer *out, double value);

/* Appends a whole number. */
void text_int(struct buffer *out, int64_t value);

/* Reads a whole number from 0 to max, of 1 to 19 digits and nothing else. False: it is none. */
bool text_number(const char *text, size_t size, int64_t max, int64_t *value);

/* Reads a list of 1 to `most` of them, "1,2,3", up to the NUL. False: it is none. */
bool text_numbers(const char *text, int64_t *numbers, size_t most, size_t *count);

/* The length in bytes of the valid UTF-8 character that text starts with, 0 when there is none. */
size_t text_utf8_length(const char *text, size_t size);

/* Whether the character, which is valid UTF-8, changes how what stands around it is shown: of C0 and C1, U+007F, the separators of lines and
 * paragraphs, and marks, overrides and isolates of direction. */
bool text_is_control(const char *at, size_t length);
/* Whether it reverses the order of what follows it, whatever that is (U+202D, U+202E): no language needs it. */
bool text_is_override(const char *at, size_t length);

/* Whether a text of valid UTF-8 can be a name: one line, of which something is seen. NULL, or what is wrong. */
const char *text_name_fault(const char *text, size_t size);

/* How many characters (code points) the text has; -1: it is not valid UTF-8, or holds a NUL. */
int64_t text_utf8_points(const char *text, size_t size);

/* The text's place among the words, which NULL ends; -1: it is none of them. */
int text_word(const char *text, const char *const *words);

/* The text behind a byte order mark, with which some programs begin files. */
char *text_after_mark(char *text);

/* The least number of bytes added, dropped or changed that makes one word of the other. */
size_t text_distance(const char *a, const char *b);
