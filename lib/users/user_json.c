#include "users/user_json.h"

#include "json/json.h"

void user_json_put(struct buffer *body, int64_t user, const struct profile *profile) {
    buffer_string(body, "\"user\":");
    json_put_int(body, user);
    buffer_string(body, ",\"name\":");
    if (!profile) {
        buffer_string(body, "null,\"avatar_url\":null");
        return;
    }
    json_put_text(body, profile->name.data, profile->name.size);
    buffer_string(body, ",\"avatar_url\":");
    json_put_text(body, profile->avatar_url.data, profile->avatar_url.size);
}

void user_json_find(struct buffer *body, int64_t user, struct profiles *profiles) {
    struct profile profile;
    user_json_put(body, user, profiles_find(profiles, user, &profile) ? &profile : NULL);
}

void user_json_put_whole(struct buffer *body, int64_t user, const struct profile *profile) {
    user_json_put(body, user, profile);
    buffer_string(body, ",\"bio\":");
    if (!profile) {
        buffer_string(body, "null,\"url\":null");
        return;
    }
    json_put_text(body, profile->bio.data, profile->bio.size);
    buffer_string(body, ",\"url\":");
    json_put_text(body, profile->url.data, profile->url.size);
}

void user_json_find_whole(struct buffer *body, int64_t user, struct profiles *profiles) {
    struct profile profile;
    user_json_put_whole(body, user, profiles_find(profiles, user, &profile) ? &profile : NULL);
}

void user_json_find_texts(struct buffer *body, int64_t user, struct profiles *profiles) {
    static const struct profile NONE = {.name = {"", 0}, .avatar_url = {"", 0}};
    struct profile profile;
    user_json_put(body, user, profiles_find(profiles, user, &profile) ? &profile : &NONE);
}
