/* Patterns of paths: "/v1/comments/{type:word}/{id:text}/like". A segment in braces is a parameter of a type, {name:type}; {user} alone
 * is a user. Pure; any thread.
 *
 *     user   a user id: a whole number from 0 to 2^63-1, of digits alone. Other texts may be ids of a sign-in provider (external)
 *     id     the id of a post or comment (ids/ids.h): a whole number from 1 to 2^63-1, of digits alone, the first of them not 0
 *     word   1 to 32 of a-z, 0-9, - and _, a letter first
 *     key    1 to 32 of A-Z, a-z, 0-9, - and _
 *     text   1 to 256 bytes of valid UTF-8 without control characters
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

enum { PATH_VALUES_MAX = 4 };

struct path_value {
    int64_t user;     /* of type user; else -1 */
    int64_t id;       /* of type id; else -1 */
    bool external;    /* of type user, but the text, which external_id_is, must be looked up */
    const char *text; /* as it stands in the path, not ended by a NUL */
    size_t size;
};

/* 1 the path matches, values in order; 0 it does not; -EINVAL it does but for a value that is not of its type: the reason in error, and
 * the problem's code in *wrong (bad_user, bad_path); -ENOENT, the same, but all that is wrong are users that are `external`: values are there. */
int path_match(const char *pattern, const char *path, struct path_value values[PATH_VALUES_MAX], const char **wrong,
               struct error *error);

/* The pattern without types, as the API's description has it: "/v1/comments/{type}/{id}/like". */
void path_put(struct buffer *out, const char *pattern);
