#include "users/belongings.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/config.h"

enum { CURSOR_MAX = 512 };

const struct belonging BELONGINGS[] = {
    {"friends", BELONGS_TO_ROUTERS, "/peer/friends/", "?state=all", "after"},
    {"following", BELONGS_TO_FEEDS, "/peer/list/", "?relation=following", "after"},
    {"followers", BELONGS_TO_FEEDS, "/peer/list/", "?relation=followers", "after"},
    {"muted", BELONGS_TO_FEEDS, "/peer/list/", "?relation=muted", "after"},
    {"posts", BELONGS_TO_FEEDS, "/peer/written/", "?above=0", "before"},
    {"notices", BELONGS_TO_FEEDS, "/peer/notices/", "?", "after"},
    {"comments", BELONGS_TO_MODERATION, "/peer/moderation/comments?user=", "", "after"},
    {"history", BELONGS_TO_SINKS, "/peer/history/", "?from=0", "after"},
};
const size_t BELONGINGS_COUNT = ARRAY_SIZE(BELONGINGS);

const struct belonging *belonging_find(const char *name) {
    for (size_t i = 0; i < BELONGINGS_COUNT; i++)
        if (strcmp(BELONGINGS[i].name, name) == 0) return &BELONGINGS[i];
    return NULL;
}

void belonging_question(struct buffer *path, const struct belonging *kind, int64_t user, int64_t limit,
                        const struct json_bytes *cursor) {
    buffer_format(path, "%s%" PRId64 "%s&limit=%" PRId64, kind->before, user, kind->behind, limit);
    if (cursor->size) buffer_format(path, "&%s=%.*s", kind->cursor, (int)cursor->size, cursor->data);
}

static bool read_next(struct json_scan *scan, struct json_bytes *next) {
    if (!json_scan_value(scan, next)) return false;
    if (json_bytes_are(next, "null")) {
        next->size = 0;
    } else if (next->size >= 2 && next->data[0] == '"') {
        next->data++;
        next->size -= 2;
    }
    return true;
}

bool belonging_page(const char *reply, size_t size, struct json_bytes *items, struct json_bytes *next) {
    struct json_scan scan = json_scan_of(reply, size);
    struct json_bytes key;
    bool any_items = false, any_next = false;
    json_scan_object(&scan);
    while (json_scan_member(&scan, &key)) {
        if (json_bytes_are(&key, "items"))
            any_items = json_scan_value(&scan, items) && items->size && items->data[0] == '[';
        else if (json_bytes_are(&key, "next"))
            any_next = read_next(&scan, next);
        else
            json_scan_value(&scan, NULL);
    }
    return !scan.bad && any_items && any_next && (!next->size || belonging_cursor_plain(next));
}

bool belonging_cursor_plain(const struct json_bytes *cursor) {
    for (size_t i = 0; i < cursor->size; i++) {
        if (!isalnum((unsigned char)cursor->data[i]) && !memchr("-_.", cursor->data[i], 3)) return false;
    }
    return cursor->size > 0 && cursor->size <= CURSOR_MAX;
}
