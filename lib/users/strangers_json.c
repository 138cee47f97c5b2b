#include "users/strangers_json.h"

#include <inttypes.h>
#include <string.h>

#include "users/user_json.h"

bool strangers_json_cursor(const char *after) {
    size_t size = strlen(after);
    return size <= STRANGERS_CURSOR_MAX && strspn(after, "0123456789-") == size;
}

/* Appends one item; nothing if the user does not share publicly. False: it is no item. */
static bool put_item(struct buffer *out, const json_t *item, const struct sharing_modes *modes,
                     struct profiles *profiles, bool first, int64_t *user, bool *put) {
    int64_t time;
    int32_t lat, lng;
    double distance_m;
    if (json_want_int(item, "user", 0, INT64_MAX, user, NULL) || json_want_lat_lng(item, &lat, &lng, NULL) ||
        json_want_real(item, "distance_m", 0, 1e9, &distance_m, NULL) ||
        json_want_int(item, "time", 0, INT64_MAX, &time, NULL))
        return false;
    *put = sharing_modes_find(modes, *user, NULL) == SHARING_PUBLIC;
    if (!*put) return true;
    buffer_string(out, first ? "{" : ",{");
    user_json_find_texts(out, *user, profiles);
    json_member_place(out, lat, lng);
    buffer_string(out, ",\"distance_m\":");
    json_put_fixed1(out, distance_m);
    buffer_format(out, ",\"time\":%" PRId64 "}", time);
    return true;
}

bool strangers_json_put(struct buffer *out, const json_t *answer, const struct sharing_modes *modes,
                        struct profiles *profiles, void (*shown)(void *context, int64_t user), void *context) {
    const json_t *items = json_object_get(answer, "items"), *next = json_object_get(answer, "next");
    const json_t *cell = json_object_get(answer, "cell");
    double height, width;
    bool any = false;
    if (!json_is_array(items) || !(json_is_string(next) || json_is_null(next)) ||
        json_want_real(cell, "height", 0, 180, &height, NULL) || json_want_real(cell, "width", 0, 360, &width, NULL))
        return false;
    buffer_string(out, "\"items\":[");
    for (size_t i = 0; i < json_array_size(items); i++) {
        int64_t user;
        bool put;
        if (!put_item(out, json_array_get(items, i), modes, profiles, !any, &user, &put)) return false;
        any |= put;
        if (put && shown) shown(context, user);
    }
    buffer_string(out, "],\"next\":");
    if (json_is_string(next))
        json_put_text(out, json_string_value(next), json_string_length(next));
    else
        buffer_string(out, "null");
    buffer_format(out, ",\"cell\":{\"height\":%.17g,\"width\":%.17g}", height, width);
    return true;
}
