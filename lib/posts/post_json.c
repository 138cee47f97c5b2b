#include "posts/post_json.h"

#include <inttypes.h>
#include <string.h>

#include "ids/ids.h"

void post_put_user(struct buffer *body, int64_t user, struct profiles *profiles) {
    struct profile profile;
    buffer_format(body, "\"user\":%" PRId64 ",\"name\":", user);
    if (!profiles_find(profiles, user, &profile)) {
        buffer_string(body, "null,\"avatar_url\":null");
        return;
    }
    json_put_text(body, profile.name.data, profile.name.size);
    buffer_string(body, ",\"avatar_url\":");
    json_put_text(body, profile.avatar_url.data, profile.avatar_url.size);
}

static void put_media(struct buffer *body, const json_t *media) {
    buffer_string(body, ",\"media\":[");
    for (size_t i = 0; i < json_array_size(media); i++) {
        const json_t *url = json_array_get(media, i);
        if (i) buffer_byte(body, ',');
        json_put_text(body, json_is_string(url) ? json_string_value(url) : "", json_string_length(url));
    }
    buffer_byte(body, ']');
}

bool post_put(struct buffer *body, const json_t *post, struct profiles *profiles) {
    const char *id, *text;
    int64_t user, time;
    if (json_want_text(post, "id", &id, NULL) || json_want_int(post, "user", 0, INT64_MAX, &user, NULL) ||
        json_want_text(post, "text", &text, NULL) || json_want_int(post, "time", 0, INT64_MAX, &time, NULL))
        return false;
    buffer_string(body, "{\"id\":");
    json_put_text(body, id, strlen(id));
    buffer_byte(body, ',');
    post_put_user(body, user, profiles);
    buffer_string(body, ",\"text\":");
    json_put_text(body, text, strlen(text));
    put_media(body, json_object_get(post, "media"));
    buffer_format(body, ",\"time\":%" PRId64 "}", time);
    return true;
}

void post_put_unavailable(struct buffer *body, int64_t id, int64_t user) {
    buffer_format(body, "{\"id\":\"%" PRId64 "\",\"user\":%" PRId64 ",\"time\":%" PRId64 ",\"unavailable\":true}", id,
                  user, ids_time_ms(id));
}
