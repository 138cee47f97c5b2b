#include "posts/post_json.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "edits/edits.h"
#include "ids/ids.h"
#include "users/user_json.h"

int64_t post_id(const json_t *post) {
    const char *text;
    int64_t id;
    return json_want_text(post, "id", &text, NULL) == 0 && ids_parse(text, strlen(text), &id) ? id : 0;
}

void post_put_media(struct buffer *body, const json_t *media) {
    buffer_string(body, ",\"media\":[");
    for (size_t i = 0; i < json_array_size(media); i++) {
        const json_t *url = json_array_get(media, i);
        if (i) buffer_byte(body, ',');
        json_put_text(body, json_is_string(url) ? json_string_value(url) : "", json_string_length(url));
    }
    buffer_byte(body, ']');
}

bool post_put(struct buffer *body, const json_t *post, const struct sights *sights, int64_t reader,
              struct profiles *profiles) {
    const char *id, *text;
    int64_t user, time, version, edited;
    if (json_want_text(post, "id", &id, NULL) || json_want_int(post, "user", 0, INT64_MAX, &user, NULL) ||
        json_want_text(post, "text", &text, NULL) || json_want_int(post, "time", 0, INT64_MAX, &time, NULL) ||
        !edit_read_state(post, &version, &edited) || (sights && !sights_may(sights, user, reader)))
        return false;
    buffer_string(body, "{\"id\":");
    json_put_text(body, id, strlen(id));
    buffer_byte(body, ',');
    user_json_find(body, user, profiles);
    buffer_string(body, ",\"text\":");
    json_put_text(body, text, strlen(text));
    post_put_media(body, json_object_get(post, "media"));
    buffer_format(body, ",\"time\":%" PRId64 ",", time);
    edit_put_state(body, version, edited);
    const char *state = json_string_value(json_object_get(post, "state"));
    if (state) json_member_text(body, ",\"state\":", state);
    buffer_byte(body, '}');
    return true;
}

/* The members of an owner's post, as the bytes that they are. */
struct post_parts {
    struct json_bytes id, user, text, media, time, version, edited;
};

static bool read_parts(struct json_bytes post, struct post_parts *parts) {
    struct json_scan scan = json_scan_of(post.data, post.size);
    struct json_bytes key, value;
    json_scan_object(&scan);
    while (json_scan_member(&scan, &key) && json_scan_value(&scan, &value)) {
        if (json_bytes_are(&key, "id")) parts->id = value;
        if (json_bytes_are(&key, "user")) parts->user = value;
        if (json_bytes_are(&key, "text") && value.data[0] == '"') parts->text = value;
        if (json_bytes_are(&key, "media") && value.data[0] == '[') parts->media = value;
        if (json_bytes_are(&key, "time")) parts->time = value;
        if (json_bytes_are(&key, "version")) parts->version = value;
        if (json_bytes_are(&key, "edited") && !json_bytes_are(&value, "null")) parts->edited = value;
    }
    return !scan.bad && parts->id.size > 2 && parts->text.data && parts->media.data;
}

bool post_put_bytes(struct buffer *body, struct json_bytes post, struct profiles *profiles, struct post_shown *shown) {
    struct post_parts parts = {.id.size = 0};
    size_t start = body->size;
    int64_t time, edited = 0;
    shown->version = 1;
    if (!read_parts(post, &parts) || !ids_parse(parts.id.data + 1, parts.id.size - 2, &shown->id) ||
        !text_number(parts.user.data, parts.user.size, INT64_MAX, &shown->user) ||
        !text_number(parts.time.data, parts.time.size, INT64_MAX, &time) ||
        (parts.version.size && !text_number(parts.version.data, parts.version.size, INT64_MAX, &shown->version)) ||
        (parts.edited.size && !text_number(parts.edited.data, parts.edited.size, INT64_MAX, &edited)))
        return false;
    buffer_string(body, "{\"id\":\"");
    text_int(body, shown->id);
    buffer_string(body, "\",");
    shown->user_at = body->size - start;
    user_json_find(body, shown->user, profiles);
    shown->user_end = body->size - start;
    buffer_string(body, ",\"text\":");
    buffer_append(body, parts.text.data, parts.text.size);
    buffer_string(body, ",\"media\":");
    buffer_append(body, parts.media.data, parts.media.size);
    buffer_string(body, ",\"time\":");
    text_int(body, time);
    buffer_byte(body, ',');
    edit_put_state(body, shown->version, edited);
    buffer_byte(body, '}');
    return true;
}

void post_put_unavailable(struct buffer *body, int64_t id, int64_t user) {
    buffer_format(body, "{\"id\":\"%" PRId64 "\",\"user\":%" PRId64 ",\"time\":%" PRId64 ",\"unavailable\":true}", id,
                  user, ids_time_ms(id));
}
