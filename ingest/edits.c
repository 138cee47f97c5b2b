#include "ingest/edits.h"

#include <string.h>

#include "users/user_json.h"

void edit_refused(struct http_request *request, const char *refused) {
    if (strcmp(refused, "edits") == 0)
        http_problem(request, 409, "too_many_edits",
                     "the text has as many versions as are kept, and can be edited no more", 0);
    else if (strcmp(refused, "banned") == 0)
        http_problem(request, 403, "banned", "the user may not post, comment or like", 0);
    else
        http_problem(request, 409, "old_version", "the text has been edited since that version", 0);
}

static bool put_item(struct buffer *body, struct json_scan *scan, struct profiles *profiles) {
    struct json_bytes key, value;
    bool any = false;
    json_scan_object(scan);
    buffer_byte(body, '{');
    while (json_scan_member(scan, &key)) {
        int64_t user;
        if (any) buffer_byte(body, ',');
        any = true;
        if (json_bytes_are(&key, "user")) {
            if (!json_scan_int(scan, &user)) return false;
            user_json_find(body, user, profiles);
            continue;
        }
        if (!json_scan_value(scan, &value)) return false;
        buffer_append(body, key.data - 1, key.size + 2); // with its quotes
        buffer_byte(body, ':');
        buffer_append(body, value.data, value.size);
    }
    buffer_byte(body, '}');
    return !scan->bad;
}

static bool put_items(struct buffer *body, struct json_scan *scan, struct profiles *profiles) {
    bool any = false;
    json_scan_array(scan);
    while (json_scan_element(scan)) {
        if (any) buffer_byte(body, ',');
        any = true;
        if (!put_item(body, scan, profiles)) return false;
    }
    return !scan->bad;
}

bool edits_put(struct buffer *body, struct json_bytes reply, struct profiles *profiles, int64_t *author) {
    struct json_scan scan = json_scan_of(reply.data, reply.size);
    struct json_bytes key, next = {NULL, 0};
    *author = -1;
    json_scan_object(&scan);
    while (json_scan_member(&scan, &key)) {
        if (json_bytes_are(&key, "items")) {
            buffer_string(body, "{\"items\":[");
            if (!put_items(body, &scan, profiles)) return false;
        } else if (json_bytes_are(&key, "user")) {
            json_scan_int(&scan, author);
        } else {
            json_scan_value(&scan, json_bytes_are(&key, "next") ? &next : NULL);
        }
    }
    buffer_string(body, "],\"next\":");
    buffer_append(body, next.data, next.size);
    buffer_byte(body, '}');
    return !scan.bad && next.size && *author >= 0;
}
