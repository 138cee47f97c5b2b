/* Posts as `starling posts` and `starling feed` print them, a line each. Pure; any thread.
 *
 *     2026-01-31T12:00:00.123Z 2147483648123 5 "Hello\n"        time, id, author (if wanted), text as a JSON string
 *     {"id":"2147483648123","user":5,"text":"Hello\n","media":[],"time":1769860800123}
 */
#pragma once

#include <stdbool.h>

#include "json/json.h"

struct post_style {
    bool json;
    bool author; /* in a line that is not JSON */
};

/* A post as its author's owner says it. -EBADMSG with the reason: it is no post, and nothing is appended. */
int post_line(struct buffer *out, const json_t *post, const struct post_style *style, struct error *error);

/* A post whose text cannot be read now: "unavailable". */
void post_line_unavailable(struct buffer *out, int64_t id, int64_t user, const struct post_style *style);

/* An id of a post: a JSON string. -EINVAL or -ENOENT with the reason. */
int post_want_id(const json_t *object, const char *key, int64_t *id, struct error *error);
