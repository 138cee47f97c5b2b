#include "cli/comment_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/instant.h"
#include "cli/post_lines.h"

enum { LEVELS_MAX = 2, INDENT = 2 };

static int put_line(struct buffer *out, const json_t *comment, int level, struct error *error) {
    const char *state, *text = json_string_value(json_object_get(comment, "text"));
    int64_t id, user, time, floor, likes;
    char when[INSTANT_TEXT_SIZE];
    int code = post_want_id(comment, "id", &id, error);
    if (!code) code = json_want_int(comment, "user", 0, INT64_MAX, &user, error);
    if (!code) code = json_want_int(comment, "time", 0, INT64_MAX, &time, error);
    if (!code) code = json_want_int(comment, "floor", 1, INT64_MAX, &floor, error);
    if (!code) code = json_want_int(comment, "likes", 0, INT64_MAX, &likes, error);
    if (!code) code = json_want_text(comment, "state", &state, error);
    if (code) return -EBADMSG;
    buffer_format(out, "%*s%s %" PRId64 " %" PRId64 " #%" PRId64 " likes=%" PRId64 " ", level * INDENT, "",
                  instant_format(time, when), id, user, floor, likes);
    if (text)
        json_put_text(out, text, strlen(text));
    else
        buffer_string(out, strcmp(state, "visible") == 0 ? "unavailable" : state);
    buffer_byte(out, '\n');
    return 0;
}

static int put_lines(struct buffer *out, const json_t *comment, int level, struct error *error) {
    const json_t *replies = json_object_get(comment, "replies");
    if (level == LEVELS_MAX || !json_is_array(replies)) return error_set(error, -EBADMSG, "no list of replies");
    int code = put_line(out, comment, level, error);
    for (size_t i = 0; !code && i < json_array_size(replies); i++)
        code = put_lines(out, json_array_get(replies, i), level + 1, error);
    return code;
}

int comment_lines(struct buffer *out, const json_t *comment, bool json, struct error *error) {
    if (!json) return put_lines(out, comment, 0, error);
    char *text = json_is_object(comment) ? json_dumps(comment, JSON_COMPACT) : NULL;
    if (!text) return error_set(error, -EBADMSG, "no comment");
    buffer_string(out, text);
    buffer_byte(out, '\n');
    free(text);
    return 0;
}
