#include "ingest/comments/answers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "base/text.h"
#include "edits/encode.h"
#include "event/topics.h"
#include "ingest/edits.h"

/* ---- refusals ---- */

static const struct refusal {
    const char *name; /* as the owner says it; no_post: as the post's owner does */
    unsigned status;
    const char *code, *detail;
} REFUSALS[] = {
    {"no_subject", 404, "no_subject", "nobody has registered this subject, and it is no post that is there"},
    {"no_post", 404, "no_post", "there is no such post"},
    {"no_comment", 404, "no_comment", "there is no such comment under this subject"},
    {"closed", 409, "subject_closed", "the subject takes no more comments"},
    {"not_allowed", 403, "not_allowed", "the user may not do this here"},
    {"level", 403, "level_too_low", "the subject wants a higher account level"},
    {"blocked", 403, "not_allowed", "the user may not do this here"}, // a block is never told
    {"not_yours", 403, "not_your_comment", "somebody else has written this comment, and owns the subject"},
    {"not_visible", 409, "comment_not_visible", "the comment is held, hidden or deleted"},
    {"no_root", 400, "not_a_root", "a reply cannot be pinned"},
    {"pins", 409, "too_many_pins", "as many comments are pinned as a subject may have"},
    {"too_fast", 429, "too_many_writes", "the user writes faster under this subject than anybody may"},
    {"old_facts", 503, "owner_unavailable", "who may comment has just been changed"},
};

void comment_refused(struct http_request *request, const char *refusal, enum answer_form form, int retry_s) {
    for (size_t i = 0; i < ARRAY_SIZE(REFUSALS); i++) {
        const struct refusal *found = &REFUSALS[i];
        if (strcmp(found->name, refusal) != 0) continue;
        bool bad = form == ANSWER_MADE && strcmp(refusal, "no_comment") == 0; // the body names it
        http_problem(request, bad ? 400 : found->status, found->code, found->detail, retry_s);
        return;
    }
    if (strcmp(refusal, "old_version") == 0 || strcmp(refusal, "edits") == 0 || strcmp(refusal, "banned") == 0)
        edit_refused(request, refusal);
    else
        http_problem(request, 403, "not_allowed", "the owner of the subject does not allow this", 0);
}

/* ---- outcomes ---- */

void comment_no_outcome(struct http_request *request) {
    http_problem(request, 404, "no_outcome", "no comment with this key was decided", 0);
}

static void reply_undecided(const struct comment_wish *wish, struct http_request *request) {
    struct buffer body = {0}, location = {0};
    if (wish->form != ANSWER_MADE) {
        http_reply_format(request, 202, "{\"state\":\"pending\"}");
        return;
    }
    buffer_string(&location, "/v1/subjects/");
    subject_put_path(&location, wish->subject);
    buffer_string(&location, "/outcome?key=");
    text_escape(&location, wish->key);
    if (wish->offset >= 0) buffer_format(&location, "&offset=%" PRId64, wish->offset);
    buffer_string(&body, "{\"key\":");
    json_put_text(&body, wish->key, strlen(wish->key));
    buffer_string(&body, ",\"location\":");
    json_put_text(&body, (const char *)location.data, location.size);
    buffer_byte(&body, '}');
    const struct http_field fields[] = {{"Cache-Control", "no-store"}, {"Location", buffer_cstring(&location)}};
    http_reply(request, 202, "application/json", body.data, body.size, fields, ARRAY_SIZE(fields));
    buffer_free(&location);
    buffer_free(&body);
}

static bool put_subject(const struct comment_wish *wish, struct buffer *body, const json_t *subject) {
    int64_t owner, level, total, version, counters;
    const char *who, *review;
    bool closed;
    size_t type = strcspn(wish->subject, ":");
    if (json_want_int(subject, "owner", 0, INT64_MAX, &owner, NULL) ||
        json_want_bool(subject, "closed", &closed, NULL) || json_want_text(subject, "who_may", &who, NULL) ||
        json_want_text(subject, "review", &review, NULL) ||
        json_want_int(subject, "level", 0, INT32_MAX, &level, NULL) ||
        json_want_int(subject, "total", 0, INT64_MAX, &total, NULL) ||
        json_want_int(subject, "version", 0, INT64_MAX, &version, NULL) ||
        json_want_int(subject, "counters", 0, INT64_MAX, &counters, NULL))
        return false;
    buffer_string(body, "{\"type\":");
    json_put_text(body, wish->subject, type);
    buffer_string(body, ",\"id\":");
    json_put_text(body, wish->subject + type + 1, strlen(wish->subject + type + 1));
    buffer_format(body, ",\"owner\":%" PRId64 ",\"closed\":%s,\"who_may\":", owner, closed ? "true" : "false");
    json_put_text(body, who, strlen(who));
    buffer_string(body, ",\"review\":");
    json_put_text(body, review, strlen(review));
    buffer_format(body, ",\"level\":%" PRId64 ",\"total\":%" PRId64 ",\"version\":%" PRId64 "}", level, total,
                  version + counters);
    return true;
}

/* Appends the comment of the outcome whose bytes these are. */
static bool put_comment(const struct comment_wish *wish, struct buffer *body, struct json_bytes outcome) {
    struct json_scan scan = json_scan_of(outcome.data, outcome.size);
    struct shown_comments shown = {.count = 0};
    struct comment_names names = comments_names(wish->gateway);
    struct json_bytes key, value, comment = {NULL, 0};
    json_scan_object(&scan);
    while (json_scan_member(&scan, &key) && json_scan_value(&scan, &value))
        if (json_bytes_are(&key, "comment")) comment = value;
    bool good = !scan.bad && shown_comment(&shown, comment, &names);
    if (good) shown_comments_put(body, &shown, &(struct shown_reader){.liked = NULL});
    shown_comments_free(&shown);
    return good;
}

/* Likes from the outcome to the answer. A user who may not see the post may take a like back all the same, and is told that there is no post. */
struct likes_answer {
    struct http_request *request;
    enum answer_form form;
    int64_t likes;
};

static void likes_seen(void *context, enum sight_answer answer) {
    struct likes_answer *liked = context;
    if (answer != SIGHT_YES)
        comments_unseen(liked->request, answer);
    else if (liked->form == ANSWER_LIKES)
        http_reply_format(liked->request, 200, "{\"likes\":%" PRId64 "}", liked->likes);
    else
        http_reply_format(liked->request, 200, "{\"likes\":%" PRId64 ",\"liked\":%s}", liked->likes,
                          liked->form == ANSWER_LIKED ? "true" : "false");
    free(liked);
}

/* False: the outcome says nothing of likes. */
static bool reply_likes(const struct comment_wish *wish, struct http_request *request, const json_t *reply) {
    bool of_comment = wish->form == ANSWER_LIKES;
    const json_t *about = json_object_get(reply, of_comment ? "comment" : "subject");
    struct likes_answer liked = {.request = request, .form = wish->form};
    bool none = !of_comment && json_is_null(about); // nobody has ever liked it
    if (!none && json_want_int(about, "likes", 0, INT64_MAX, &liked.likes, NULL)) return false;
    comments_leave(wish->gateway, wish->subject, wish->user, MEM_NEW(&liked), likes_seen);
    return true;
}

static bool is_about_likes(enum answer_form form) {
    return form == ANSWER_LIKES || form == ANSWER_LIKED || form == ANSWER_UNLIKED;
}

static bool put_outcome(const struct comment_wish *wish, struct buffer *body, const json_t *reply,
                        struct json_bytes text) {
    bool pinned;
    switch (wish->form) {
    case ANSWER_MADE:
    case ANSWER_COMMENT: return put_comment(wish, body, text);
    case ANSWER_SUBJECT: return put_subject(wish, body, json_object_get(reply, "subject"));
    case ANSWER_PINNED:
        if (json_want_bool(reply, "pinned", &pinned, NULL)) return false;
        buffer_format(body, "{\"pinned\":%s}", pinned ? "true" : "false");
        return true;
    case ANSWER_REPORTED: buffer_string(body, "{\"reported\":true}"); return true;
    case ANSWER_GONE: return true;
    case ANSWER_LIKES:
    case ANSWER_LIKED:
    case ANSWER_UNLIKED: break;
    }
    return false;
}

static unsigned status_of(enum answer_form form) {
    switch (form) {
    case ANSWER_MADE: return 201;
    case ANSWER_REPORTED: return 202;
    case ANSWER_GONE: return 204;
    case ANSWER_COMMENT:
    case ANSWER_LIKES:
    case ANSWER_LIKED:
    case ANSWER_UNLIKED:
    case ANSWER_PINNED:
    case ANSWER_SUBJECT: return 200;
    }
    return 200;
}

/* False: the owner's answer says nothing of the kind. */
static bool reply_outcome(const struct comment_wish *wish, struct http_request *request, const json_t *reply,
                          struct json_bytes text) {
    struct buffer body = {0};
    if (is_about_likes(wish->form)) return reply_likes(wish, request, reply);
    bool good = put_outcome(wish, &body, reply, text);
    if (good && wish->form == ANSWER_GONE)
        http_reply(request, 204, NULL, NULL, 0, NULL, 0);
    else if (good)
        http_reply_json(request, status_of(wish->form), &body);
    buffer_free(&body);
    return good;
}

/* If the owner remembers no refusal, the gateway may know old facts of the subject: they are asked for anew. */
static void refuse(const struct comment_wish *wish, struct http_request *request, const json_t *reply) {
    const char *refusal = json_string_value(json_object_get(reply, "refused"));
    int64_t wait_ms = 0;
    bool again = json_want_int(reply, "wait_ms", 0, INT32_MAX, &wait_ms, NULL) == 0;
    if (again) known_subjects_forget(wish->gateway->subjects, wish->subject);
    comment_refused(request, refusal, wish->form, !again ? 0 : wait_ms < 1000 ? 1 : (int)((wait_ms + 999) / 1000));
}

void comment_wish_answered(void *context, struct http_request *request, unsigned status, const json_t *reply,
                           struct json_bytes text) {
    const struct comment_wish *wish = context;
    const json_t *refused = status == 200 ? json_object_get(reply, "refused") : NULL;
    page_copies_changed(wish->gateway->pages, wish->subject);
    if (wish->form == ANSWER_SUBJECT) known_subjects_forget(wish->gateway->subjects, wish->subject);
    if (json_is_string(refused))
        refuse(wish, request, reply);
    else if (wish->form == ANSWER_MADE && json_is_null(refused) && json_is_null(json_object_get(reply, "comment")))
        comment_no_outcome(request); // the command is decided, and nothing is known of its key
    else if (!json_is_null(refused) || !reply_outcome(wish, request, reply, text))
        reply_undecided(wish, request);
}

/* ---- commands ---- */

void comment_wish_send(struct comment_wish *wish, struct http_request *request, const struct comment_command *wanted) {
    struct comment_command command = *wanted;
    struct buffer record = {0};
    wish->user = command.user;
    command.subject = (struct event_text){.data = wish->subject, .size = strlen(wish->subject)};
    command.key = (struct event_text){.data = wish->key, .size = strlen(wish->key)};
    command.time = clock_wall_ms();
    edit_encode_comment_command(&record, &command);
    const struct rpc_value *values =
        RPC_VALUES(RPC_TEXT(SUBJECT, wish->subject), RPC_INT(USER, command.user),
                   RPC_INT(COMMENT, wish->form == ANSWER_MADE ? 0 : command.comment), RPC_TEXT(KEY, wish->key));
    command_send(&wish->gateway->sender, &(struct command_write){
                                             .request = request,
                                             .topic = &TOPIC_COMMENT_COMMANDS,
                                             .subject = wish->subject,
                                             .record = &record,
                                             .question = rpc_path(&ASK_OUTCOME, values),
                                             .answer = comment_wish_answered,
                                             .context = wish,
                                             .offset = &wish->offset,
                                         });
    buffer_free(&record);
}
