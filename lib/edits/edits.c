#include "edits/edits.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"

enum edit_verdict edit_decide(int64_t now, int64_t read) {
    if (read != now) return EDIT_OLD_VERSION;
    return now < EDIT_VERSIONS_MAX ? EDIT_DONE : EDIT_TOO_MANY;
}

static void note(struct edit_mentions *all, const struct event_longs *users) {
    for (size_t i = 0; i < users->count; i++) {
        size_t at = 0;
        while (at < all->count && all->users[at] != users->items[i]) at++;
        if (at == all->count && at < EDIT_TOLD_MAX) all->users[all->count++] = users->items[i];
    }
}

void edit_mentions_of(struct edit_mentions *all, const struct event_longs *before, const struct event_longs *now) {
    *all = (struct edit_mentions){.count = 0};
    note(all, before);
    all->told = all->count;
    note(all, now);
}

void edit_mark(int64_t editor, const struct event_text *text, char mark[EDIT_MARK_SIZE]) {
    static const uint8_t SAME[16] = {'e', 'd', 'i', 't'}; // in all processes
    uint64_t hash = hash_u64(hash_sip(SAME, text->data, text->size) + (uint64_t)editor);
    snprintf(mark, EDIT_MARK_SIZE, "%016" PRIx64, hash);
}

void edit_put(struct buffer *body, const struct edit_version *version) {
    buffer_format(body, "{\"version\":%" PRId64 ",\"text\":", version->version);
    json_put_text(body, version->text.data, version->text.size);
    buffer_format(body, ",\"time\":%" PRId64 ",\"user\":%" PRId64 "}", version->time, version->user);
}

void edit_put_next(struct buffer *body, int64_t version) {
    if (version)
        buffer_format(body, "],\"next\":\"%" PRId64 "\"", version);
    else
        buffer_string(body, "],\"next\":null");
}

void edit_put_state(struct buffer *body, int64_t version, int64_t edited) {
    buffer_string(body, "\"version\":");
    json_put_int(body, version);
    buffer_string(body, ",\"edited\":");
    if (edited)
        json_put_int(body, edited);
    else
        buffer_string(body, "null");
}

bool edit_read_state(const json_t *item, int64_t *version, int64_t *edited) {
    const json_t *time = json_object_get(item, "edited");
    *version = 1;
    *edited = 0;
    if (!json_object_get(item, "version")) return true;
    return !json_want_int(item, "version", 1, INT64_MAX, version, NULL) &&
           (json_is_null(time) || !json_want_int(item, "edited", 0, INT64_MAX, edited, NULL));
}
