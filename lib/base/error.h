/* The reason of a failure, for people.
 *
 * Functions return 0 or a negative errno code. If a person must understand the failure, the function also takes a struct error and
 * writes the reason to it (NULL: not wanted). The caller owns the struct; it is written only on failure.
 */
#pragma once

struct error {
    char text[512];
};

/* Writes the reason and returns code, so that a failing function can `return error_set(error, -EINVAL, "...")`. */
int error_set(struct error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "context: " in front of the reason that is there; returns code. */
int error_prefix(struct error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
