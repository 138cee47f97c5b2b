#include "ingest/comments/comment_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "ids/ids.h"
#include "posts/post_json.h"

enum { LEVELS_MAX = 2 }; /* roots and replies */

void shown_comments_free(struct shown_comments *shown) {
    buffer_free(&shown->body);
    free(shown->places);
    free(shown->spans);
    free(shown->next);
}

static void add_place(struct shown_comments *shown, int64_t comment) {
    if (shown->count == shown->capacity) {
        shown->capacity = shown->capacity ? 2 * shown->capacity : 32;
        shown->places = mem_resize(shown->places, shown->capacity, sizeof *shown->places);
    }
    shown->places[shown->count++] = (struct like_place){shown->body.size, comment};
}

/* Returns the span's number. */
static size_t begin_span(struct shown_comments *shown, int64_t comment, int64_t user) {
    if (shown->span_count == shown->span_capacity) {
        shown->span_capacity = shown->span_capacity ? 2 * shown->span_capacity : 32;
        shown->spans = mem_resize(shown->spans, shown->span_capacity, sizeof *shown->spans);
    }
    shown->spans[shown->span_count] = (struct comment_span){.from = shown->body.size, .comment = comment, .user = user};
    return shown->span_count++;
}

static bool want_id(const json_t *object, const char *member, int64_t *id) {
    const char *text;
    return json_want_text(object, member, &text, NULL) == 0 && ids_parse(text, strlen(text), id);
}

static bool known_state(const char *state) {
    return strcmp(state, "visible") == 0 || strcmp(state, "held") == 0 || strcmp(state, "hidden") == 0 ||
           strcmp(state, "deleted") == 0;
}

static bool put_comments(struct shown_comments *shown, const json_t *list, const struct comment_names *names,
                         int levels);

static bool put_comment(struct shown_comments *shown, const json_t *comment, const struct comment_names *names,
                        int levels) {
    struct buffer *body = &shown->body;
    int64_t id, user;
    const char *state;
    if (!levels || !want_id(comment, "id", &id) || json_want_int(comment, "user", 0, INT64_MAX, &user, NULL) ||
        json_want_text(comment, "state", &state, NULL) || !known_state(state))
        return false;
    known_authors_put(names->authors, id, user);
    size_t span = begin_span(shown, id, user);
    buffer_format(body, "{\"id\":\"%" PRId64 "\",", id);
    post_put_user(body, user, names->profiles);
    if (!json_copy_text(body, comment, "text") || !json_copy_int(body, comment, "time") ||
        !json_copy_int(body, comment, "floor") || !json_copy_text(body, comment, "root") ||
        !json_copy_text(body, comment, "reply_to") || !json_copy_int(body, comment, "likes") ||
        !json_copy_int(body, comment, "reply_count"))
        return false;
    buffer_string(body, ",\"replies\":");
    if (!put_comments(shown, json_object_get(comment, "replies"), names, levels - 1)) return false;
    buffer_format(body, ",\"state\":\"%s\"", state);
    if (strcmp(state, "visible") == 0) add_place(shown, id);
    buffer_byte(body, '}');
    shown->spans[span].end = body->size;
    return true;
}

static bool put_comments(struct shown_comments *shown, const json_t *list, const struct comment_names *names,
                         int levels) {
    if (!json_is_array(list)) return false;
    buffer_byte(&shown->body, '[');
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (i) buffer_byte(&shown->body, ',');
        if (!put_comment(shown, json_array_get(list, i), names, levels)) return false;
    }
    buffer_byte(&shown->body, ']');
    return true;
}

bool shown_comment(struct shown_comments *shown, const json_t *comment, const struct comment_names *names) {
    return put_comment(shown, comment, names, LEVELS_MAX);
}

static bool put_items(struct shown_comments *shown, const json_t *reply, const struct comment_names *names) {
    shown->next = mem_string(json_string_value(json_object_get(reply, "next")));
    buffer_string(&shown->body, "{\"items\":");
    return json_want_bool(reply, "complete", &shown->complete, NULL) == 0 &&
           put_comments(shown, json_object_get(reply, "items"), names, LEVELS_MAX) &&
           json_copy_text(&shown->body, reply, "next");
}

/* The answer is about a comment of this author. */
static void is_about(struct shown_comments *shown, const json_t *comment) {
    int64_t user;
    if (json_want_int(comment, "user", 0, INT64_MAX, &user, NULL)) return;
    shown->authors[shown->author_count++] = user;
}

bool shown_one(struct shown_comments *shown, const json_t *reply, const struct comment_names *names) {
    is_about(shown, json_object_get(reply, "item"));
    is_about(shown, json_object_get(reply, "root"));
    return shown_comment(shown, json_object_get(reply, "item"), names);
}

bool shown_replies(struct shown_comments *shown, const json_t *reply, const struct comment_names *names) {
    is_about(shown, reply);
    if (!put_items(shown, reply, names)) return false;
    buffer_byte(&shown->body, '}');
    return true;
}

bool shown_page(struct shown_comments *shown, const json_t *reply, const struct comment_names *names) {
    struct buffer *body = &shown->body;
    bool closed;
    if (!put_items(shown, reply, names) || !json_copy_int(body, reply, "total") ||
        json_want_int(reply, "version", 0, INT64_MAX, &shown->version, NULL) ||
        json_want_int(reply, "counters", 0, INT64_MAX, &shown->counters, NULL) ||
        json_want_bool(reply, "closed", &closed, NULL))
        return false;
    buffer_format(body, ",\"version\":%" PRId64 ",\"closed\":%s", shown->version + shown->counters,
                  closed ? "true" : "false");
    if (json_is_null(json_object_get(reply, "owner")))
        buffer_string(body, ",\"owner\":null");
    else if (!json_copy_int(body, reply, "owner"))
        return false;
    buffer_string(body, ",\"pinned\":");
    if (!put_comments(shown, json_object_get(reply, "pinned"), names, LEVELS_MAX)) return false;
    buffer_byte(body, '}');
    return true;
}

bool shown_around(struct shown_comments *shown, const json_t *reply, const struct comment_names *names) {
    const json_t *root = json_object_get(reply, "root");
    struct buffer *body = &shown->body;
    if (json_want_bool(reply, "complete", &shown->complete, NULL)) return false;
    is_about(shown, json_object_get(reply, "item"));
    is_about(shown, root);
    buffer_string(body, "{\"item\":");
    if (!put_comment(shown, json_object_get(reply, "item"), names, LEVELS_MAX)) return false;
    buffer_string(body, ",\"root\":");
    if (json_is_null(root))
        buffer_string(body, "null");
    else if (!put_comment(shown, root, names, LEVELS_MAX))
        return false;
    buffer_string(body, ",\"around\":");
    if (!put_comments(shown, json_object_get(reply, "around"), names, LEVELS_MAX)) return false;
    buffer_byte(body, '}');
    return true;
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
        buffer_format(out, ",\"liked\":%s",
                      holds(reader->liked, reader->liked_count, place->comment) ? "true" : "false");
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
