#include "cli/post_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/instant.h"
#include "ids/ids.h"
#include "posts/post_json.h"

int post_want_id(const json_t *object, const char *key, int64_t *id, struct error *error) {
    const char *text;
    int code = json_want_text(object, key, &text, error);
    if (code) return code;
    return ids_parse(text, strlen(text), id) ? 0 : error_set(error, -EINVAL, "\"%s\" must be an id", key);
}

static void put_head(struct buffer *out, int64_t id, int64_t user, int64_t time, const struct post_style *style) {
    char when[INSTANT_TEXT_SIZE];
    if (style->json) {
        buffer_format(out, "{\"id\":\"%" PRId64 "\",\"user\":%" PRId64, id, user);
        return;
    }
    buffer_format(out, "%s %" PRId64 " ", instant_format(time, when), id);
    if (style->author) buffer_format(out, "%" PRId64 " ", user);
}

int post_line(struct buffer *out, const json_t *post, const struct post_style *style, struct error *error) {
    const char *text;
    int64_t id, user, time;
    int code = post_want_id(post, "id", &id, error);
    if (!code) code = json_want_int(post, "user", 0, INT64_MAX, &user, error);
    if (!code) code = json_want_text(post, "text", &text, error);
    if (!code) code = json_want_int(post, "time", 0, INT64_MAX, &time, error);
    if (code) return -EBADMSG;
    put_head(out, id, user, time, style);
    if (style->json) buffer_string(out, ",\"text\":");
    json_put_text(out, text, strlen(text));
    if (style->json) {
        post_put_media(out, json_object_get(post, "media"));
        buffer_format(out, ",\"time\":%" PRId64 "}", time);
    }
    buffer_byte(out, '\n');
    return 0;
}

void post_line_unavailable(struct buffer *out, int64_t id, int64_t user, const struct post_style *style) {
    int64_t time = ids_time_ms(id);
    put_head(out, id, user, time, style);
    if (style->json)
        buffer_format(out, ",\"time\":%" PRId64 ",\"unavailable\":true}\n", time);
    else
        buffer_string(out, "unavailable\n");
}
