#include "users/belongings.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"

enum { CURSOR_MAX = 540, PARTITION_DIGITS = 6 };

const struct belonging BELONGINGS[] = {
    {"friends", BELONGS_TO_ROUTERS, &ASK_FRIENDS, RPC_TEXT(STATE, "all"), RPC_AFTER},
    {"links", BELONGS_TO_ROUTERS, &ASK_LINKS, RPC_INT(LINK, -1), RPC_AFTER},
    {"places", BELONGS_TO_PLACES, &ASK_PLACES, RPC_INT(OFFSET, -1), RPC_AFTER},
    {"place-events", BELONGS_TO_PLACES, &ASK_PLACE_EVENTS, RPC_INT(FROM, 0), RPC_AFTER},
    {"following", BELONGS_TO_FEEDS, &ASK_LIST, RPC_TEXT(RELATION, "following"), RPC_AFTER},
    {"followers", BELONGS_TO_FEEDS, &ASK_LIST, RPC_TEXT(RELATION, "followers"), RPC_AFTER},
    {"requesting", BELONGS_TO_FEEDS, &ASK_LIST, RPC_TEXT(RELATION, "requesting"), RPC_AFTER},
    {"requested", BELONGS_TO_FEEDS, &ASK_LIST, RPC_TEXT(RELATION, "requested"), RPC_AFTER},
    {"muted", BELONGS_TO_FEEDS, &ASK_LIST, RPC_TEXT(RELATION, "muted"), RPC_AFTER},
    {"posts", BELONGS_TO_FEEDS, &ASK_WRITTEN, RPC_TEXT(EDITS, "true"), RPC_BEFORE},
    {"devices", BELONGS_TO_FEEDS, &ASK_DEVICES, RPC_INT(SESSION, -1), RPC_AFTER},
    {"notices", BELONGS_TO_FEEDS, &ASK_NOTICES, RPC_TEXT(HIDDEN, NULL), RPC_AFTER},
    {"comments", BELONGS_TO_MODERATION, &ASK_SEARCH, RPC_TEXT(STATE, NULL), RPC_AFTER},
    {"edits", BELONGS_TO_COMMENTS, &ASK_OF_USER, RPC_TEXT(EDITS, "true"), RPC_AFTER},
    {"likes", BELONGS_TO_COMMENTS, &ASK_OF_USER, RPC_TEXT(LIKES, "true"), RPC_AFTER},
    {"reports", BELONGS_TO_COMMENTS, &ASK_OF_USER, RPC_TEXT(REPORTS, "true"), RPC_AFTER},
    {"history", BELONGS_TO_SINKS, &ASK_HISTORY, RPC_INT(FROM, 0), RPC_AFTER},
};
const size_t BELONGINGS_COUNT = ARRAY_SIZE(BELONGINGS);

const struct belonging *belonging_find(const char *name) {
    for (size_t i = 0; i < BELONGINGS_COUNT; i++)
        if (strcmp(BELONGINGS[i].name, name) == 0) return &BELONGINGS[i];
    return NULL;
}

void belonging_question(struct buffer *path, const struct belonging *kind, int64_t user, int64_t limit,
                        const struct belonging_place *place) {
    char *cursor = place->cursor.size ? mem_stringn(place->cursor.data, place->cursor.size) : NULL;
    rpc_write(path, kind->question,
              RPC_VALUES(RPC_INT(PARTITION, place->partition), RPC_INT(USER, user), kind->narrowed,
                         RPC_INT(LIMIT, limit), {.arg = kind->cursor, .number = -1, .text = cursor}));
    free(cursor);
}

bool belonging_place_read(const struct belonging *kind, const struct json_bytes *text, int32_t partitions,
                          struct belonging_place *place) {
    struct belonging_place read = {.partition = 0, .cursor = *text};
    size_t digits = 0;
    if (text->size && !belonging_cursor_plain(text)) return false;
    if (kind->owner == BELONGS_TO_COMMENTS && text->size) {
        for (; digits < text->size && isdigit((unsigned char)text->data[digits]) && digits < PARTITION_DIGITS; digits++)
            read.partition = read.partition * 10 + (text->data[digits] - '0');
        bool whole = digits == text->size;
        if (!digits || read.partition >= partitions || (!whole && text->data[digits] != '.')) return false;
        if (digits + 1 == text->size) return false; // a dot, and nothing behind it
        read.cursor.data += whole ? digits : digits + 1;
        read.cursor.size -= whole ? digits : digits + 1;
    }
    *place = read;
    return true;
}

void belonging_place_put(struct buffer *out, const struct belonging *kind, int32_t partition, int32_t partitions,
                         const struct json_bytes *next) {
    bool divided = kind->owner == BELONGS_TO_COMMENTS;
    if (divided && next->size)
        buffer_format(out, "%" PRId32 ".", partition);
    else if (divided && partition + 1 < partitions)
        buffer_format(out, "%" PRId32, partition + 1);
    buffer_append(out, next->data, next->size);
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
