#include "ingest/moderation/found.h"

#include <inttypes.h>
#include <string.h>

#include "base/config.h"
#include "posts/post_json.h"

/* A text, or null. */
static bool put_text(struct buffer *body, const char *member, const json_t *value) {
    buffer_format(body, ",\"%s\":", member);
    if (json_is_string(value))
        json_put_text(body, json_string_value(value), json_string_length(value));
    else
        buffer_string(body, "null");
    return json_is_string(value) || json_is_null(value);
}

static bool put_number(struct buffer *body, const char *member, const json_t *comment) {
    int64_t number;
    if (json_want_int(comment, member, 0, INT64_MAX, &number, NULL)) return false;
    buffer_format(body, ",\"%s\":%" PRId64, member, number);
    return true;
}

static bool put_item(struct buffer *body, const json_t *comment, struct profiles *profiles, bool own) {
    const char *id, *state;
    int64_t user;
    if (json_want_text(comment, "id", &id, NULL) || json_want_text(comment, "state", &state, NULL) ||
        json_want_int(comment, "user", 0, INT64_MAX, &user, NULL))
        return false;
    bool shown = !own || strcmp(state, "hidden") != 0;
    buffer_string(body, "{\"id\":");
    json_put_text(body, id, strlen(id));
    buffer_byte(body, ',');
    post_put_user(body, user, profiles);
    json_t *null = json_null();
    bool good = put_text(body, "text", shown ? json_object_get(comment, "text") : null) &&
                put_number(body, "time", comment) && put_number(body, "floor", comment) &&
                put_text(body, "root", json_object_get(comment, "root")) &&
                put_text(body, "reply_to", json_object_get(comment, "reply_to")) &&
                put_number(body, "likes", comment) && put_number(body, "reply_count", comment);
    buffer_string(body, ",\"replies\":[]");
    good = good && put_text(body, "state", json_object_get(comment, "state")) &&
           put_text(body, "subject", json_object_get(comment, "subject")) &&
           (own || put_number(body, "reports", comment));
    buffer_byte(body, '}');
    return good;
}

bool found_page_put(struct buffer *body, const json_t *page, struct profiles *profiles, bool own) {
    const json_t *items = json_object_get(page, "items");
    buffer_string(body, "{\"items\":[");
    for (size_t i = 0; i < json_array_size(items); i++) {
        if (i) buffer_byte(body, ',');
        if (!put_item(body, json_array_get(items, i), profiles, own)) return false;
    }
    buffer_byte(body, ']');
    bool good = put_text(body, "next", json_object_get(page, "next"));
    buffer_byte(body, '}');
    return good;
}
