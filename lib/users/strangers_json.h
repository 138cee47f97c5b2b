/* Strangers nearby, from a router's answer to what clients see. Gateways and edges ask the router that owns the user for a page
 * (GET /peer/discover/USER), leave out whoever does not share publicly by their own copy of `sharing`, and add names. Their loop's thread.
 *
 *     "items":[{"user":7,"name":"Ada","avatar_url":"","lat":...,"lng":...,"distance_m":...,"time":...}],"next":null,"cell":{...}
 */
#pragma once

#include "json/json.h"
#include "users/profiles.h"
#include "users/sharing_modes.h"

enum { STRANGERS_LIMIT_DEFAULT = 20, STRANGERS_LIMIT_MAX = 1000, STRANGERS_CURSOR_MAX = 64 };

/* Whether a client's `after` may be the `next` of a page: the router knows for sure. */
bool strangers_json_cursor(const char *after);

/* Appends the members of the page, without braces. shown (NULL: not wanted) is told of each user who is on it. False: the answer cannot
 * be read, and part of it may have been appended. */
bool strangers_json_put(struct buffer *out, const json_t *answer, const struct sharing_modes *modes,
                        struct profiles *profiles, void (*shown)(void *context, int64_t user), void *context);
