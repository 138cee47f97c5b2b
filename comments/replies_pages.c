#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "comments/heat.h"
#include "comments/places.h"
#include "comments/replies_private.h"
#include "ids/ids.h"
#include "json/json.h"
#include "subjects/words.h"

enum { FIRST_REPLIES = 3 /* of a comment that is asked for alone */ };
enum { TOGETHER = 20 /* comments that are found at once */ };

/* ---- comments ---- */

static void put_number(struct buffer *body, const char *before, int64_t number) {
    buffer_string(body, before);
    json_put_int(body, number);
}

static void put_id(struct buffer *body, int64_t id) {
    if (id) {
        put_number(body, "\"", id);
        buffer_byte(body, '"');
    } else {
        buffer_string(body, "null");
    }
}

/* The text of a comment that is shown, or of somebody's own held one; where it is missing, the topics are read one ahead of the other. */
static void put_text(struct comment_question *question, const struct event_text *text, bool shown) {
    struct buffer *body = &question->replies->body;
    if (shown && text->size) {
        json_put_text(body, text->data, text->size);
    } else {
        buffer_string(body, "null");
        question->complete = question->complete && !shown;
    }
}

static void put_begin(struct comment_question *question, int64_t id, const struct comment *comment,
                      const struct event_text *text, bool shown) {
    struct buffer *body = &question->replies->body;
    question->put++;
    buffer_string(body, "{\"id\":");
    put_id(body, id);
    put_number(body, ",\"user\":", comment->user);
    buffer_string(body, ",\"text\":");
    put_text(question, text, shown);
    put_number(body, ",\"time\":", comment_time(id, comment));
    buffer_byte(body, ',');
    edit_put_state(body, comment->version, comment->edited);
    put_number(body, ",\"floor\":", comment->floor);
    buffer_string(body, ",\"root\":");
    put_id(body, comment->root);
    buffer_string(body, ",\"reply_to\":");
    put_id(body, comment->answers);
    put_number(body, ",\"likes\":", comment->likes);
    put_number(body, ",\"reply_count\":", comment->replies);
    buffer_string(body, ",\"replies\":[");
}

static void put_end(struct buffer *body, const struct comment *comment) {
    buffer_string(body, "],\"state\":\"");
    buffer_string(body, COMMENT_STATES[comment->state]);
    buffer_string(body, "\"}");
}

/* Its replies, if it has some, are the next to be appended. */
static void put_row(struct comment_question *question, const struct threads_row *row) {
    put_begin(question, row->id, &row->comment, &row->text, row->comment.state == COMMENT_VISIBLE);
}

/* All that an index names is there. */
static int find_rows(struct comment_question *question, struct threads_row *rows, size_t count, struct error *error) {
    int code =
        threads_many(question->replies->options.threads, question->partition, &question->subject, rows, count, error);
    for (size_t i = 0; !code && i < count; i++) {
        if (rows[i].there) continue;
        threads_many_release(rows, count);
        code = error_set(error, -EBADMSG, "an index names a comment that is not there");
    }
    return code;
}

/* Finds the first replies of some roots. The caller frees *replies, and releases *count of them. */
static int find_replies(struct comment_question *question, struct threads_row *roots, size_t root_count, size_t first,
                        struct threads_row **replies, size_t *count, struct error *error) {
    *replies = mem_zero(root_count * first + 1, sizeof **replies);
    int code = threads_first_replies(question->replies->options.threads, question->partition, &question->subject, roots,
                                     root_count, first, *replies, count, error);
    if (!code) code = find_rows(question, *replies, *count, error);
    if (code) *count = 0;
    return code;
}

static void put_replies(struct comment_question *question, const struct threads_row *root,
                        const struct threads_row *replies) {
    for (size_t i = 0; i < root->reply_count; i++) {
        const struct threads_row *reply = &replies[root->replies + i];
        if (i) buffer_byte(&question->replies->body, ',');
        put_row(question, reply);
        put_end(&question->replies->body, &reply->comment);
    }
}

/* Appends a root with its first replies, or a reply. */
int comment_replies_put(struct comment_question *question, int64_t id, const struct comment *comment, int64_t viewer,
                        size_t first_replies, struct error *error) {
    struct threads *threads = question->replies->options.threads;
    bool shown = comment->state == COMMENT_VISIBLE || (comment->state == COMMENT_HELD && comment->user == viewer);
    struct threads_row root = {.id = id, .there = true, .comment = *comment}, *replies = NULL;
    struct comment_text text = {.text = {.data = "", .size = 0}};
    size_t count = 0;
    int code = shown ? threads_text(threads, question->partition, &question->subject, id, &text, error) : 0;
    if (code < 0) return code;
    if (text.version < comment->version) text.text.size = 0; // it is not read yet
    put_begin(question, id, comment, &text.text, shown);
    code =
        comment->root || !first_replies ? 0 : find_replies(question, &root, 1, first_replies, &replies, &count, error);
    if (!code) put_replies(question, &root, replies);
    put_end(&question->replies->body, comment);
    threads_many_release(replies, count);
    free(replies);
    return code;
}

/* Appends the comment of an id. It is in an index, so it is there. */
static int put_of_id(struct comment_question *question, int64_t id, struct comment *comment, struct error *error) {
    int code = threads_comment(question->replies->options.threads, question->partition, &question->subject, id, comment,
                               error);
    if (!code) return error_set(error, -EBADMSG, "an index names a comment that is not there");
    return code < 0 ? code : comment_replies_put(question, id, comment, -1, 0, error);
}

static struct threads_place place_behind(enum threads_sort sort, int64_t id, const struct comment *comment) {
    bool heat = sort == THREADS_HEAT;
    return (struct threads_place){.sort = sort,
                                  .begun = true,
                                  .at = heat ? heat_of(comment->likes, comment_time(id, comment)) : comment->floor,
                                  .id = id};
}

/* Whether the answer is long enough. The first replies of a root are not cut short for their number. */
static bool is_full(const struct comment_question *question, int64_t root) {
    return question->replies->body.size > REPLIES_BODY_MAX || (!root && question->put >= REPLIES_PUT_MAX);
}

/* Appends comments of one list, of roots with their first replies. *put: how many, as the answer may be full before. */
static int put_ids(struct comment_question *question, int64_t root, const int64_t *ids, size_t count,
                   size_t first_replies, size_t *put, struct comment *last, struct error *error) {
    struct threads_row rows[TOGETHER] = {{.id = 0}}, *replies = NULL;
    size_t reply_count = 0;
    for (size_t i = 0; i < count; i++) rows[i].id = ids[i];
    int code = find_rows(question, rows, count, error);
    if (code) return code;
    if (!root && first_replies)
        code = find_replies(question, rows, count, first_replies, &replies, &reply_count, error);
    for (*put = 0; !code && *put < count && !(*put && is_full(question, root)); ++*put) {
        const struct threads_row *row = &rows[*put];
        if (*put) buffer_byte(&question->replies->body, ',');
        put_row(question, row);
        put_replies(question, row, replies);
        put_end(&question->replies->body, &row->comment);
        *last = row->comment;
    }
    threads_many_release(rows, count);
    threads_many_release(replies, reply_count);
    free(replies);
    return code;
}

/* Appends comments behind the place, and moves it: fewer than the limit if they are very long, or many. */
static int put_some(struct comment_question *question, int64_t under, struct threads_place *place, size_t limit,
                    size_t first_replies, bool *more, struct error *error) {
    struct comment_replies *replies = question->replies;
    size_t count, put = 0;
    struct comment last;
    int code = threads_list(replies->options.threads, question->partition, &question->subject, under, place, limit,
                            replies->ids, &count, more, error);
    for (size_t at = 0; !code && at < count; at += put) {
        if (at) buffer_byte(&replies->body, ',');
        size_t some = count - at < TOGETHER ? count - at : TOGETHER;
        code = put_ids(question, under, replies->ids + at, some, first_replies, &put, &last, error);
        if (!code && at + put < count && is_full(question, under)) {
            *place = place_behind(place->sort, replies->ids[at + put - 1], &last);
            *more = true;
            break;
        }
    }
    return code;
}

/* ---- pages ---- */

static void put_next(struct buffer *body, const struct threads_place *place, bool more) {
    char text[PLACE_TEXT_SIZE];
    place_write(place, text);
    if (more)
        buffer_format(body, "],\"next\":\"%s\"", text);
    else
        buffer_string(body, "],\"next\":null");
}

/* False: the request was answered. */
static bool read_place(struct http_request *request, const struct rpc_asked *asked, enum threads_sort order,
                       struct threads_place *place) {
    if (place_read(asked->texts[RPC_AFTER], order, place)) return true;
    http_problem(request, 400, "wrong-cursor", "this cursor is of another sorting, or none at all", 0);
    return false;
}

static void finish(struct comment_question *question, int code, const struct error *error) {
    if (code)
        comment_replies_failed(question, code, error);
    else
        http_reply_json(question->request, 200, &question->replies->body);
}

/* Appends the page's members about its subject; registered false: nobody has registered it. */
static int put_about(struct comment_question *question, const struct subject_state *state, bool registered,
                     struct error *error) {
    struct buffer *body = &question->replies->body;
    struct comment comment;
    int code = 0;
    buffer_format(body,
                  ",\"total\":%" PRId64 ",\"version\":%" PRId64 ",\"counters\":%" PRId64 ",\"likes\":%" PRId64
                  ",\"closed\":%s,\"owner\":",
                  state->visible, state->structure, state->counters, state->likes, state->closed ? "true" : "false");
    if (registered)
        buffer_format(body, "%" PRId64, state->owner);
    else
        buffer_string(body, "null");
    buffer_string(body, ",\"pinned\":[");
    for (size_t i = 0; !code && i < state->pins; i++) {
        if (i) buffer_byte(body, ',');
        code = put_of_id(question, state->pinned[i], &comment, error);
    }
    buffer_format(body, "],\"complete\":%s}", question->complete ? "true" : "false");
    return code;
}

void comment_replies_page(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct comment_question begun, *question = &begun;
    struct comment_replies *replies = context;
    struct buffer *body = &replies->body;
    struct subject_state state = {.owner = 0};
    struct threads_place place;
    enum threads_sort order;
    const char *sort = asked->texts[RPC_SORT];
    size_t limit = (size_t)asked->numbers[RPC_LIMIT], first = (size_t)asked->numbers[RPC_FIRST];
    bool more;
    struct error error;
    comment_question_begin(question, context, request, asked);
    if (!place_sort_of(sort ? sort : "floor", &order)) {
        rpc_bad_query(request);
        return;
    }
    if (!read_place(request, asked, order, &place)) return;
    buffer_string(body, "{\"items\":[");
    int registered = threads_subject(replies->options.threads, question->partition, &question->subject, &state, &error);
    int code = registered < 0 ? registered : put_some(question, 0, &place, limit, first, &more, &error);
    if (!code) {
        put_next(body, &place, more);
        code = put_about(question, &state, registered, &error);
    }
    finish(question, code, &error);
}

/* ---- one comment, and replies ---- */

/* 1: found; 0: there is none, and the request is answered; or a negative code. */
static int find_comment(struct comment_question *question, int64_t id, struct comment *comment, struct error *error) {
    int code = threads_comment(question->replies->options.threads, question->partition, &question->subject, id, comment,
                               error);
    if (!code) comment_replies_no_comment(question->request);
    return code;
}

/* Appends the author of the comment that is asked about, and of its root, if it is a reply. */
static int put_authors(struct comment_question *question, const struct comment *comment, struct error *error) {
    struct comment root;
    put_number(&question->replies->body, ",\"user\":", comment->user);
    if (!comment->root) return 0;
    int code = threads_comment(question->replies->options.threads, question->partition, &question->subject,
                               comment->root, &root, error);
    if (!code) return error_set(error, -EBADMSG, "a reply names a root that is not there");
    if (code > 0) put_number(&question->replies->body, ",\"root_user\":", root.user);
    return code < 0 ? code : 0;
}

void comment_replies_under(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct comment_question begun, *question = &begun;
    struct comment_replies *replies = context;
    struct buffer *body = &replies->body;
    struct subject_state state = {.owner = 0};
    struct threads_place place;
    struct comment comment;
    size_t limit = (size_t)asked->numbers[RPC_LIMIT];
    bool more;
    struct error error;
    comment_question_begin(question, context, request, asked);
    int code = find_comment(question, question->comment, &comment, &error);
    if (!code) return;
    if (code > 0 && !read_place(request, asked, comment.root ? THREADS_ANSWERS : THREADS_FLOOR, &place)) return;
    buffer_string(body, "{\"items\":[");
    if (code > 0)
        code = threads_subject(replies->options.threads, question->partition, &question->subject, &state, &error);
    if (code >= 0) code = put_some(question, question->comment, &place, limit, 0, &more, &error);
    if (!code) {
        put_next(body, &place, more);
        code = put_authors(question, &comment, &error);
        buffer_format(body, ",\"version\":%" PRId64 ",\"complete\":%s}", state.structure,
                      question->complete ? "true" : "false");
    }
    finish(question, code, &error);
}

/* The neighbours by floor: so many before the comment, itself not among them, and so many behind it. */
static int put_around(struct comment_question *question, const struct comment *comment, size_t around,
                      struct error *error) {
    struct comment_replies *replies = question->replies;
    int64_t before = comment->floor - 1 < (int64_t)around ? comment->floor - 1 : (int64_t)around;
    struct threads_place place = {.sort = THREADS_FLOOR, .begun = true, .at = comment->floor - 1 - before};
    struct comment other;
    size_t count, put = 0;
    bool more;
    if (!around) return 0;
    int code = threads_list(replies->options.threads, question->partition, &question->subject, comment->root, &place,
                            (size_t)before + 1 + around, replies->ids, &count, &more, error);
    for (size_t i = 0; !code && i < count && replies->body.size <= REPLIES_BODY_MAX; i++) {
        if (replies->ids[i] == question->comment) continue;
        if (put++) buffer_byte(&replies->body, ',');
        code = put_of_id(question, replies->ids[i], &other, error);
    }
    return code;
}

void comment_replies_one(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct comment_question begun, *question = &begun;
    struct comment_replies *replies = context;
    struct buffer *body = &replies->body;
    struct comment comment, root;
    int64_t viewer = asked->numbers[RPC_USER];
    struct error error;
    comment_question_begin(question, context, request, asked);
    int code = find_comment(question, question->comment, &comment, &error);
    if (!code) return;
    buffer_string(body, "{\"item\":");
    if (code > 0) code = comment_replies_put(question, question->comment, &comment, viewer, FIRST_REPLIES, &error);
    buffer_string(body, ",\"root\":");
    if (!code && comment.root)
        code = put_of_id(question, comment.root, &root, &error);
    else
        buffer_string(body, "null");
    buffer_string(body, ",\"around\":[");
    if (!code) code = put_around(question, &comment, (size_t)asked->numbers[RPC_AROUND], &error);
    buffer_format(body, "],\"complete\":%s}", question->complete ? "true" : "false");
    finish(question, code, &error);
}

/* ---- likes ---- */

void comment_replies_likes(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct comment_replies *replies = context;
    struct comment_question question;
    const char *at = asked->texts[RPC_IDS];
    struct comment_reaction reaction;
    int64_t user = asked->numbers[RPC_USER], id;
    struct error error;
    size_t put = 0;
    bool good = at;
    comment_question_begin(&question, context, request, asked);
    buffer_string(&replies->body, "{\"liked\":[");
    for (size_t i = 0; good && *at; at += *at == ',', i++) {
        size_t size = strcspn(at, ",");
        good = i < RPC_IDS_MAX && ids_parse(at, size, &id);
        if (!good) break;
        int code = decisions_reaction(comment_commands_decisions(replies->options.commands), question.partition,
                                      &question.subject, id, user, &reaction, &error);
        if (code < 0) {
            comment_replies_failed(&question, code, &error);
            return;
        }
        if (code && reaction.likes) {
            if (put++) buffer_byte(&replies->body, ',');
            put_id(&replies->body, id);
        }
        at += size;
    }
    buffer_string(&replies->body, "]}");
    if (good)
        http_reply_json(request, 200, &replies->body);
    else
        rpc_bad_query(request);
}
