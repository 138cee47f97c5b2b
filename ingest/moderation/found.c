#include "ingest/moderation/found.h"

#include <string.h>

#include "edits/edits.h"
#include "posts/post_json.h"
#include "users/user_json.h"

static bool put_edits(struct buffer *body, const json_t *comment) {
    int64_t version, edited;
    if (!edit_read_state(comment, &version, &edited)) return false;
    buffer_byte(body, ',');
    edit_put_state(body, version, edited);
    return true;
}

static bool put_comment(struct buffer *body, const json_t *comment, struct profiles *profiles, bool own) {
    const char *id, *state;
    int64_t user;
    if (json_want_text(comment, "id", &id, NULL) || json_want_text(comment, "state", &state, NULL) ||
        json_want_int(comment, "user", 0, INT64_MAX, &user, NULL))
        return false;
    bool shown = !own || strcmp(state, "hidden") != 0;
    json_member_text(body, "{\"id\":", id);
    buffer_byte(body, ',');
    user_json_find(body, user, profiles);
    if (!shown) buffer_string(body, ",\"text\":null");
    bool good = (!shown || json_copy_text(body, comment, "text")) && json_copy_int(body, comment, "time") &&
                put_edits(body, comment) && json_copy_int(body, comment, "floor") &&
                json_copy_text(body, comment, "root") && json_copy_text(body, comment, "reply_to") &&
                json_copy_int(body, comment, "likes") && json_copy_int(body, comment, "reply_count");
    buffer_string(body, ",\"replies\":[]");
    good = good && json_copy_text(body, comment, "state") && json_copy_text(body, comment, "subject") &&
           (own || json_copy_int(body, comment, "reports"));
    buffer_byte(body, '}');
    return good;
}

bool found_comment(struct buffer *body, const json_t *comment, struct profiles *profiles) {
    return put_comment(body, comment, profiles, false);
}

bool found_own_comment(struct buffer *body, const json_t *comment, struct profiles *profiles) {
    return put_comment(body, comment, profiles, true);
}

bool found_post(struct buffer *body, const json_t *post, struct profiles *profiles) {
    const char *id;
    int64_t user;
    if (json_want_text(post, "id", &id, NULL) || json_want_int(post, "user", 0, INT64_MAX, &user, NULL)) return false;
    json_member_text(body, "{\"id\":", id);
    buffer_byte(body, ',');
    user_json_find(body, user, profiles);
    bool good = json_copy_text(body, post, "text");
    post_put_media(body, json_object_get(post, "media"));
    good = good && json_copy_int(body, post, "time") && put_edits(body, post) && json_copy_text(body, post, "state") &&
           json_copy_int(body, post, "reports");
    buffer_byte(body, '}');
    return good;
}

bool found_person(struct buffer *body, const json_t *person, struct profiles *profiles) {
    int64_t user;
    if (json_want_int(person, "user", 0, INT64_MAX, &user, NULL)) return false;
    buffer_byte(body, '{');
    user_json_find(body, user, profiles);
    bool good = json_copy_int(body, person, "reports") && json_copy_int(body, person, "time") &&
                json_copy_text(body, person, "reason");
    buffer_byte(body, '}');
    return good;
}

bool found_page_put(struct buffer *body, const json_t *page, struct profiles *profiles, found_put *put) {
    const json_t *items = json_object_get(page, "items");
    buffer_string(body, "{\"items\":[");
    for (size_t i = 0; i < json_array_size(items); i++) {
        if (i) buffer_byte(body, ',');
        if (!put(body, json_array_get(items, i), profiles)) return false;
    }
    buffer_byte(body, ']');
    bool good = json_copy_text(body, page, "next");
    buffer_byte(body, '}');
    return good;
}
