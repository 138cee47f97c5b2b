#include "ingest/comments/comment_json.h"

#include <stdlib.h>

#include "base/config.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "base/text.h"
#include "ids/ids.h"
#include "ingest/edits.h"
#include "users/user_json.h"

enum { LEVELS_MAX = 2 }; /* roots and replies */

void shown_comments_free(struct shown_comments *shown) {
    buffer_free(&shown->body);
    free(shown->places);
    free(shown->spans);
    free(shown->next);
}

static void add_place(struct shown_comments *shown, int64_t comment) {
    MEM_ROOM(shown->places, shown->count, shown->capacity);
    shown->places[shown->count++] = (struct like_place){shown->body.size, comment};
}

/* Returns the number of the span of the comment that comes next. */
static size_t begin_span(struct shown_comments *shown) {
    MEM_ROOM(shown->spans, shown->span_count, shown->span_capacity);
    shown->spans[shown->span_count] = (struct comment_span){.from = shown->body.size};
    return shown->span_count++;
}

/* ---- comments ---- */

enum part_form { FORM_ID, FORM_USER, FORM_TEXT, FORM_ROOT, FORM_NUMBER, FORM_TIME, FORM_REPLIES, FORM_STATE };

/* The members of a comment, in the order in which owners write them. */
static const struct comment_part {
    const char *name;
    enum part_form form;
} PARTS[] = {
    {"id", FORM_ID},          {"user", FORM_USER},    {"text", FORM_TEXT},          {"time", FORM_NUMBER},
    {"version", FORM_NUMBER}, {"edited", FORM_TIME},  {"floor", FORM_NUMBER},       {"root", FORM_ROOT},
    {"reply_to", FORM_TEXT},  {"likes", FORM_NUMBER}, {"reply_count", FORM_NUMBER}, {"replies", FORM_REPLIES},
    {"state", FORM_STATE},
};
/* Owners of a version before edits say nothing of them: a text that cannot be edited has the version 1. */
enum { ALL_PARTS = (1 << ARRAY_SIZE(PARTS)) - 1, EDIT_PARTS = 1 << 4 | 1 << 5 };

/* A comment on its way from the owner's answer into the body. */
struct passed_comment {
    struct shown_comments *shown;
    struct json_scan *scan;
    const struct comment_names *names;
    int levels;             /* of replies below it */
    int64_t id, user, root; /* root 0: it is one */
    bool visible;
};

static bool put_comments(struct shown_comments *shown, struct json_scan *scan, const struct comment_names *names,
                         int levels);

/* The part's number, ARRAY_SIZE(PARTS) if no part has that name. It is looked for from `expected` on. */
static size_t part_of(const struct json_bytes *key, size_t expected) {
    for (size_t i = 0; i < ARRAY_SIZE(PARTS); i++) {
        size_t number = (expected + i) % ARRAY_SIZE(PARTS);
        if (json_bytes_are(key, PARTS[number].name)) return number;
    }
    return ARRAY_SIZE(PARTS);
}

/* Appends the key as it lies in the answer, with its quotes. */
static void put_key(struct buffer *body, const struct json_bytes *key, enum part_form form) {
    if (body->data[body->size - 1] != '{') buffer_byte(body, ',');
    if (form == FORM_USER) return; // user_json_find writes its own
    buffer_append(body, key->data - 1, key->size + 2);
    buffer_byte(body, ':');
}

/* A string or null. */
static bool is_text(const struct json_bytes *value) { return value->data[0] == '"' || json_bytes_are(value, "null"); }

static bool is_number(const struct json_bytes *value) {
    int64_t number;
    return text_number(value->data, value->size, INT64_MAX, &number);
}

static bool read_state(struct passed_comment *comment, const struct json_bytes *value) {
    comment->visible = json_bytes_are(value, "\"visible\"");
    return comment->visible || json_bytes_are(value, "\"held\"") || json_bytes_are(value, "\"hidden\"") ||
           json_bytes_are(value, "\"deleted\"");
}

static bool read_id(const struct json_bytes *value, int64_t *id) {
    return value->size > 2 && value->data[0] == '"' && ids_parse(value->data + 1, value->size - 2, id);
}

/* Appends the part whose value comes next. */
static bool put_part(struct passed_comment *comment, enum part_form form) {
    struct buffer *body = &comment->shown->body;
    struct json_bytes value;
    if (form == FORM_REPLIES) return put_comments(comment->shown, comment->scan, comment->names, comment->levels);
    if (form == FORM_USER) {
        if (!json_scan_int(comment->scan, &comment->user)) return false;
        user_json_find(body, comment->user, comment->names->profiles);
        return true;
    }
    if (!json_scan_value(comment->scan, &value)) return false;
    buffer_append(body, value.data, value.size);
    switch (form) {
    case FORM_ID: return read_id(&value, &comment->id);
    case FORM_TEXT: return is_text(&value);
    case FORM_ROOT: return json_bytes_are(&value, "null") || read_id(&value, &comment->root);
    case FORM_NUMBER: return is_number(&value);
    case FORM_TIME: return is_number(&value) || json_bytes_are(&value, "null");
    case FORM_STATE: return read_state(comment, &value);
    default: return false;
    }
}

/* Members that this version does not know are left out. */
static bool put_parts(struct passed_comment *comment) {
    struct buffer *body = &comment->shown->body;
    unsigned seen = 0;
    struct json_bytes key;
    size_t expected = 0;
    json_scan_object(comment->scan);
    while (json_scan_member(comment->scan, &key)) {
        size_t number = part_of(&key, expected);
        if (number == ARRAY_SIZE(PARTS)) {
            json_scan_value(comment->scan, NULL);
            continue;
        }
        if (seen & 1u << number) return false;
        seen |= 1u << number;
        expected = number + 1;
        put_key(body, &key, PARTS[number].form);
        if (!put_part(comment, PARTS[number].form)) return false;
    }
    if (!(seen & EDIT_PARTS)) buffer_string(body, ",\"version\":1,\"edited\":null");
    return !comment->scan->bad && (seen | EDIT_PARTS) == ALL_PARTS;
}

static bool put_comment(struct shown_comments *shown, struct json_scan *scan, const struct comment_names *names,
                        int levels) {
    struct passed_comment comment = {.shown = shown, .scan = scan, .names = names, .levels = levels - 1};
    size_t span = begin_span(shown);
    if (!levels) return false;
    buffer_byte(&shown->body, '{');
    if (!put_parts(&comment)) return false;
    known_authors_put(names->authors, comment.id, comment.user, comment.root);
    if (comment.visible) add_place(shown, comment.id);
    buffer_byte(&shown->body, '}');
    shown->spans[span].comment = comment.id;
    shown->spans[span].user = comment.user;
    shown->spans[span].end = shown->body.size;
    return true;
}

static bool put_comments(struct shown_comments *shown, struct json_scan *scan, const struct comment_names *names,
                         int levels) {
    size_t start = shown->body.size;
    json_scan_array(scan);
    buffer_byte(&shown->body, '[');
    while (json_scan_element(scan)) {
        if (shown->body.size > start + 1) buffer_byte(&shown->body, ',');
        if (!put_comment(shown, scan, names, levels)) return false;
    }
    buffer_byte(&shown->body, ']');
    return !scan->bad;
}

bool shown_comment(struct shown_comments *shown, struct json_bytes comment, const struct comment_names *names) {
    struct json_scan scan = json_scan_of(comment.data, comment.size);
    return put_comment(shown, &scan, names, LEVELS_MAX);
}

static bool put_list(struct shown_comments *shown, struct json_bytes list, const struct comment_names *names) {
    struct json_scan scan = json_scan_of(list.data, list.size);
    return put_comments(shown, &scan, names, LEVELS_MAX);
}

/* ---- answers ---- */

/* The members of an answer that are not comments of a page, as the bytes that they are; size 0: it is not there. */
struct answer_parts {
    struct json_bytes next, total, version, counters, likes, closed, owner, user, root_user, item, root, around, pinned,
        complete;
};

static struct json_bytes *answer_part(struct answer_parts *parts, const struct json_bytes *key) {
    const struct {
        const char *name;
        struct json_bytes *part;
    } known[] = {
        {"next", &parts->next},           {"total", &parts->total},       {"version", &parts->version},
        {"counters", &parts->counters},   {"closed", &parts->closed},     {"owner", &parts->owner},
        {"pinned", &parts->pinned},       {"complete", &parts->complete}, {"user", &parts->user},
        {"item", &parts->item},           {"root", &parts->root},         {"around", &parts->around},
        {"root_user", &parts->root_user}, {"likes", &parts->likes},
    };
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (json_bytes_are(key, known[i].name)) return known[i].part;
    return NULL;
}

/* Reads the parts, and appends the comments of "items" if there are any. */
static bool read_answer(struct shown_comments *shown, struct json_bytes reply, const struct comment_names *names,
                        struct answer_parts *parts, bool *items) {
    struct json_scan scan = json_scan_of(reply.data, reply.size);
    struct json_bytes key;
    *parts = (struct answer_parts){.next.size = 0};
    *items = false;
    json_scan_object(&scan);
    while (json_scan_member(&scan, &key)) {
        if (!*items && json_bytes_are(&key, "items")) {
            *items = true;
            buffer_string(&shown->body, "{\"items\":");
            if (!put_comments(shown, &scan, names, LEVELS_MAX)) return false;
        } else {
            json_scan_value(&scan, answer_part(parts, &key));
        }
    }
    return !scan.bad;
}

static bool read_bool(const struct json_bytes *value, bool *flag) {
    *flag = json_bytes_are(value, "true");
    return *flag || json_bytes_are(value, "false");
}

static bool read_number(const struct json_bytes *value, int64_t *number) {
    return text_number(value->data, value->size, INT64_MAX, number);
}

static void put_bytes(struct buffer *body, const char *before, const struct json_bytes *value) {
    buffer_string(body, before);
    buffer_append(body, value->data, value->size);
}

static bool put_page(struct shown_comments *shown, struct json_bytes reply, const struct comment_names *names,
                     struct answer_parts *parts) {
    struct json_bytes next;
    bool items;
    if (!read_answer(shown, reply, names, parts, &items) || !items || !read_bool(&parts->complete, &shown->complete))
        return false;
    put_bytes(&shown->body, ",\"next\":", &parts->next);
    if (json_bytes_are(&parts->next, "null")) return true;
    struct json_scan scan = json_scan_of(parts->next.data, parts->next.size); // cursors hold no escapes
    if (!json_scan_text(&scan, &next)) return false;
    shown->next = mem_format("%.*s", (int)next.size, next.data);
    return true;
}

/* The answer is about a comment of this author. */
static bool is_about(struct shown_comments *shown, const struct json_bytes *user) {
    return read_number(user, &shown->authors[shown->author_count++]);
}

/* The same of a comment, or of null. */
static bool is_about_comment(struct shown_comments *shown, const struct json_bytes *comment) {
    struct json_scan scan = json_scan_of(comment->data, comment->size);
    struct json_bytes key, value, user = {NULL, 0};
    if (json_bytes_are(comment, "null")) return true;
    json_scan_object(&scan);
    while (json_scan_member(&scan, &key) && json_scan_value(&scan, &value))
        if (json_bytes_are(&key, "user")) user = value;
    return !scan.bad && is_about(shown, &user);
}

/* An answer about one comment and its root. */
static bool read_one(struct shown_comments *shown, struct json_bytes reply, const struct comment_names *names,
                     struct answer_parts *parts) {
    bool items;
    return read_answer(shown, reply, names, parts, &items) && !items && is_about_comment(shown, &parts->item) &&
           is_about_comment(shown, &parts->root);
}

bool shown_one(struct shown_comments *shown, struct json_bytes reply, const struct comment_names *names) {
    struct answer_parts parts;
    return read_one(shown, reply, names, &parts) && shown_comment(shown, parts.item, names);
}

bool shown_replies(struct shown_comments *shown, struct json_bytes reply, const struct comment_names *names) {
    struct answer_parts parts;
    if (!put_page(shown, reply, names, &parts) || !is_about(shown, &parts.user)) return false;
    if (parts.root_user.size && !is_about(shown, &parts.root_user)) return false;
    buffer_byte(&shown->body, '}');
    return true;
}

bool shown_page(struct shown_comments *shown, struct json_bytes reply, const struct comment_names *names) {
    struct buffer *body = &shown->body;
    struct answer_parts parts;
    bool closed;
    if (!put_page(shown, reply, names, &parts) || !is_number(&parts.total) ||
        !read_number(&parts.version, &shown->version) || !read_number(&parts.counters, &shown->counters) ||
        !is_number(&parts.likes) || !read_bool(&parts.closed, &closed) ||
        !(is_number(&parts.owner) || json_bytes_are(&parts.owner, "null")))
        return false;
    put_bytes(body, ",\"total\":", &parts.total);
    buffer_string(body, ",\"version\":");
    text_int(body, shown->version + shown->counters);
    put_bytes(body, ",\"likes\":", &parts.likes);
    put_bytes(body, ",\"closed\":", &parts.closed);
    put_bytes(body, ",\"owner\":", &parts.owner);
    buffer_string(body, ",\"pinned\":");
    if (!put_list(shown, parts.pinned, names)) return false;
    buffer_byte(body, '}');
    return true;
}

bool shown_around(struct shown_comments *shown, struct json_bytes reply, const struct comment_names *names) {
    struct buffer *body = &shown->body;
    struct answer_parts parts;
    if (!read_one(shown, reply, names, &parts) || !read_bool(&parts.complete, &shown->complete)) return false;
    buffer_string(body, "{\"item\":");
    if (!shown_comment(shown, parts.item, names)) return false;
    buffer_string(body, ",\"root\":");
    if (json_bytes_are(&parts.root, "null"))
        buffer_string(body, "null");
    else if (!shown_comment(shown, parts.root, names))
        return false;
    buffer_string(body, ",\"around\":");
    if (!put_list(shown, parts.around, names)) return false;
    buffer_byte(body, '}');
    return true;
}

bool shown_edits(struct shown_comments *shown, struct json_bytes reply, const struct comment_names *names) {
    shown->complete = true;
    return edits_put(&shown->body, reply, names->profiles, &shown->authors[shown->author_count++]);
}

bool shown_make(enum shown_form form, struct shown_comments *shown, struct json_bytes reply,
                const struct comment_names *names) {
    switch (form) {
    case SHOWN_PAGE: return shown_page(shown, reply, names);
    case SHOWN_REPLIES: return shown_replies(shown, reply, names);
    case SHOWN_ONE: return shown_one(shown, reply, names);
    case SHOWN_EDITS: return shown_edits(shown, reply, names);
    default: return shown_around(shown, reply, names);
    }
}

size_t shown_comments_bytes(const struct shown_comments *shown) {
    return shown->body.capacity + shown->capacity * sizeof *shown->places + shown->span_capacity * sizeof *shown->spans;
}

/* ---- for one reader ---- */

static bool holds(const int64_t *list, size_t count, int64_t number) {
    size_t found = sorted_below(list, count, number);
    return found < count && list[found] == number;
}

static bool is_left_out(const struct shown_reader *reader, const struct comment_span *span) {
    return holds(reader->blocked, reader->blocked_count, span->user);
}

/* How far a body is copied. */
struct put_cursor {
    size_t at, place;
};

static void put_until(struct buffer *out, const struct shown_comments *shown, const struct shown_reader *reader,
                      struct put_cursor *cursor, size_t end) {
    for (; reader->liked && cursor->place < shown->count && shown->places[cursor->place].at < end; cursor->place++) {
        const struct like_place *place = &shown->places[cursor->place];
        if (place->at < cursor->at) continue; // of a comment that was left out
        buffer_append(out, shown->body.data + cursor->at, place->at - cursor->at);
        buffer_string(out, holds(reader->liked, reader->liked_count, place->comment) ? ",\"liked\":true"
                                                                                     : ",\"liked\":false");
        cursor->at = place->at;
    }
    buffer_append(out, shown->body.data + cursor->at, end - cursor->at);
    cursor->at = end;
}

/* A comment goes with the comma behind it, or as the last of its list with that before it. */
static void leave_out(struct buffer *out, const struct shown_comments *shown, struct put_cursor *cursor, size_t end) {
    cursor->at = end;
    if (shown->body.data[cursor->at] == ',')
        cursor->at++;
    else if (out->data[out->size - 1] == ',')
        out->size--;
}

void shown_comments_put(struct buffer *out, const struct shown_comments *shown, const struct shown_reader *reader) {
    struct put_cursor cursor = {.at = 0};
    for (size_t i = 0; reader->blocked_count && i < shown->span_count; i++) {
        const struct comment_span *span = &shown->spans[i];
        if (span->from < cursor.at || !is_left_out(reader, span)) continue;
        put_until(out, shown, reader, &cursor, span->from);
        leave_out(out, shown, &cursor, span->end);
    }
    put_until(out, shown, reader, &cursor, shown->body.size);
}

uint64_t shown_left_out(const struct shown_comments *shown, const struct shown_reader *reader) {
    uint64_t sum = 0;
    for (size_t i = 0; reader->blocked_count && i < shown->span_count; i++)
        if (is_left_out(reader, &shown->spans[i])) sum = hash_u64(sum ^ (uint64_t)shown->spans[i].comment) | 1;
    return sum;
}

bool shown_is_blocked(const struct shown_comments *shown, const struct shown_reader *reader) {
    for (size_t i = 0; i < shown->author_count; i++)
        if (holds(reader->blocked, reader->blocked_count, shown->authors[i])) return true;
    return false;
}
