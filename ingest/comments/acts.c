#include "ingest/comments/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "base/text.h"
#include "ingest/comments/answers.h"
#include "ingest/comments/facts.h"
#include "ingest/edits.h"
#include "ingest/state_wish.h"
#include "subjects/words.h"

/* ---- commands ---- */

static struct comment_wish *new_wish(struct comments_gateway *gateway, const char *subject, enum answer_form form) {
    struct comment_wish *wish = MEM_NEW(&(struct comment_wish){.gateway = gateway, .form = form, .offset = -1});
    strcpy(wish->subject, subject);
    client_key_choose(&gateway->chance, NULL, wish->key);
    return wish;
}

/* Writes the command, without subject, key and time as yet, and answers in that form. */
static void act(struct comments_gateway *gateway, const struct call *call, const char *subject,
                const struct comment_command *wanted, enum answer_form form) {
    comment_wish_send(new_wish(gateway, subject, form), call->request, wanted);
}

/* A command that changes no settings of the subject, and knows nothing about its owner. */
static struct comment_command plain_command(const struct call *call, enum comment_command_kind kind) {
    return (struct comment_command){
        .kind = kind,
        .user = call->claims.user,
        .role = call->claims.moderator ? COMMENT_COMMAND_MODERATOR : COMMENT_COMMAND_USER,
        .owner = -1,
        .level = call->claims.level,
        .who_may = COMMENT_COMMAND_SAME_WHO,
        .review = COMMENT_COMMAND_SAME_REVIEW,
        .closing = COMMENT_COMMAND_SAME_CLOSING,
    };
}

/* ---- of users ---- */

static void act_on_comment(struct comments_gateway *gateway, const struct call *call, const char *subject,
                           enum comment_command_kind kind, struct event_text reason, enum answer_form form) {
    struct comment_command command = plain_command(call, kind);
    command.comment = call->values[2].id;
    command.text = reason;
    act(gateway, call, subject, &command, form);
}

static const struct event_text NO_REASON = {.data = "", .size = 0};

/* A like, its end, or the report of a post, until the facts are known. */
struct new_like {
    json_t *object; /* of a report, into which the command points; else NULL */
    struct comment_wish *wish;
    struct http_request *request;
    struct comment_command command;
};

static void like_facts_found(void *context, enum facts_outcome outcome, const struct facts *facts) {
    struct new_like *like = context;
    like->command.owner = facts->owner;
    like->command.blocked = facts->blocked;
    if (outcome == FACTS_KNOWN) {
        comment_wish_send(like->wish, like->request, &like->command);
        like->wish = NULL; // the command's
    } else if (outcome == FACTS_NO_COMMENT) {
        comment_refused(like->request, "no_comment", ANSWER_LIKES, 0);
    } else if (outcome == FACTS_NO_POST) {
        comment_refused(like->request, "no_post", ANSWER_LIKES, 0);
    } else {
        comments_owner_away(like->request);
    }
    json_decref(like->object);
    free(like->wish);
    free(like);
}

/* comment: 0: the subject itself, which is a post. */
static void find_like_facts(struct comments_gateway *gateway, const struct call *call, const char *subject,
                            int64_t comment, enum comment_command_kind kind, enum answer_form form, json_t *object,
                            struct event_text reason) {
    struct new_like *like = MEM_NEW(&(struct new_like){.object = object,
                                                       .wish = new_wish(gateway, subject, form),
                                                       .request = call->request,
                                                       .command = plain_command(call, kind)});
    like->command.comment = comment;
    like->command.text = reason;
    facts_ask(gateway, &(struct facts_wish){.subject = subject,
                                            .user = call->claims.user,
                                            .about = comment,
                                            .authors_only = true,
                                            .there_only = kind != COMMENT_COMMAND_LIKE,
                                            .context = like,
                                            .done = like_facts_found});
}

static void like(struct comments_gateway *gateway, const struct call *call, const char *subject) {
    find_like_facts(gateway, call, subject, call->values[2].id, COMMENT_COMMAND_LIKE, ANSWER_LIKES, NULL, NO_REASON);
}

static void like_post(struct comments_gateway *gateway, const struct call *call, const char *subject) {
    find_like_facts(gateway, call, subject, 0, COMMENT_COMMAND_LIKE, ANSWER_LIKED, NULL, NO_REASON);
}

static void unlike_post(struct comments_gateway *gateway, const struct call *call, const char *subject) {
    find_like_facts(gateway, call, subject, 0, COMMENT_COMMAND_UNLIKE, ANSWER_UNLIKED, NULL, NO_REASON);
}

static void unlike(struct comments_gateway *gateway, const struct call *call, const char *subject) {
    act_on_comment(gateway, call, subject, COMMENT_COMMAND_UNLIKE, NO_REASON, ANSWER_LIKES);
}

static void pin(struct comments_gateway *gateway, const struct call *call, const char *subject) {
    act_on_comment(gateway, call, subject, COMMENT_COMMAND_PIN, NO_REASON, ANSWER_PINNED);
}

static void unpin(struct comments_gateway *gateway, const struct call *call, const char *subject) {
    act_on_comment(gateway, call, subject, COMMENT_COMMAND_UNPIN, NO_REASON, ANSWER_PINNED);
}

static void delete (struct comments_gateway *gateway, const struct call *call, const char *subject) {
    act_on_comment(gateway, call, subject, COMMENT_COMMAND_DELETE, NO_REASON, ANSWER_GONE);
}

/* The body, into which the reason points. NULL: the request is answered. */
static json_t *read_report(const struct call *call, struct event_text *reason) {
    struct error error;
    json_t *object = call_body(call);
    if (!object || client_text_read(object, "reason", COMMENT_REASON_POINTS_MAX, reason, &error)) return object;
    http_problem(call->request, 400, "bad_reason", error.text, 0);
    json_decref(object);
    return NULL;
}

static void report(struct comments_gateway *gateway, const struct call *call, const char *subject) {
    struct event_text reason;
    json_t *object = read_report(call, &reason);
    if (object) act_on_comment(gateway, call, subject, COMMENT_COMMAND_REPORT, reason, ANSWER_REPORTED);
    json_decref(object);
}

static void report_post(struct comments_gateway *gateway, const struct call *call, const char *subject) {
    struct event_text reason;
    json_t *object = read_report(call, &reason);
    if (object) find_like_facts(gateway, call, subject, 0, COMMENT_COMMAND_REPORT, ANSWER_REPORTED, object, reason);
}

static void report_user(struct comments_gateway *gateway, const struct call *call, const char *subject) {
    struct event_text reason;
    json_t *object = read_report(call, &reason);
    if (!object) return;
    struct comment_command command = plain_command(call, COMMENT_COMMAND_REPORT);
    command.owner = call->values[0].user;
    command.text = reason;
    act(gateway, call, subject, &command, ANSWER_REPORTED);
    json_decref(object);
}

/* An edit until it is known whom it mentions. */
struct new_edit {
    struct comment_wish *wish;
    struct http_request *request;
    struct comment_command command;
};

static void edit_is_read(void *context, const struct edit_wish *wish) {
    struct new_edit *edit = context;
    if (wish) {
        edit->command.text = wish->text;
        edit->command.reason = wish->reason;
        edit->command.version = wish->version;
        edit->command.mentions = (struct event_longs){.items = wish->mentions.users, .count = wish->mentions.count};
        comment_wish_send(edit->wish, edit->request, &edit->command);
        edit->wish = NULL; // the command's
    }
    free(edit->wish);
    free(edit);
}

static void edit(struct comments_gateway *gateway, const struct call *call, const char *subject) {
    struct new_edit *made = MEM_NEW(&(struct new_edit){.wish = new_wish(gateway, subject, ANSWER_COMMENT),
                                                       .request = call->request,
                                                       .command = plain_command(call, COMMENT_COMMAND_EDIT)});
    made->command.comment = call->values[2].id;
    edit_read(call->request, &(struct edit_reader){.points_max = COMMENT_TEXT_POINTS_MAX,
                                                   .reason_max = COMMENT_REASON_POINTS_MAX,
                                                   .user = call->claims.user,
                                                   .filter = call->claims.moderator ? NULL : gateway->filter,
                                                   .feeds = gateway->feeds,
                                                   .partitions = gateway->user_partitions,
                                                   .context = made,
                                                   .done = edit_is_read});
}

/* ---- of moderators ---- */

static void moderate(struct comments_gateway *gateway, const struct call *call, const char *subject) {
    static const enum comment_command_kind KINDS[] = {
        [STATE_VISIBLE] = COMMENT_COMMAND_RESTORE, // which approves a held one, too
        [STATE_HIDDEN] = COMMENT_COMMAND_HIDE,
        [STATE_DELETED] = COMMENT_COMMAND_DELETE,
    };
    struct state_wish wish;
    if (!state_wish_read(call, &wish)) return;
    act_on_comment(gateway, call, subject, KINDS[wish.state], wish.reason, ANSWER_COMMENT);
    json_decref(wish.object);
}

/* ---- of gateways ---- */

/* The number of the word in the list, `none` if the member is absent. False: it is another word. */
static bool read_choice(const json_t *object, const char *member, const char *const *words, int none, int *choice,
                        struct error *error) {
    const char *text;
    *choice = none;
    if (!json_object_get(object, member)) return true;
    if (json_want_text(object, member, &text, error)) return false;
    *choice = text_word(text, words);
    if (*choice < 0) error_set(error, -EINVAL, "\"%s\" has an unknown value", member);
    return *choice >= 0;
}

static bool read_closed(const json_t *object, struct comment_command *command, struct error *error) {
    bool closed;
    command->closing = COMMENT_COMMAND_SAME_CLOSING;
    if (!json_object_get(object, "closed")) return true;
    if (json_want_bool(object, "closed", &closed, error)) return false;
    command->closing = closed ? COMMENT_COMMAND_CLOSED : COMMENT_COMMAND_OPENED;
    return true;
}

static bool read_number(const json_t *object, const char *member, int64_t max, int64_t *number, struct error *error) {
    *number = -1;
    return !json_object_get(object, member) || json_want_int(object, member, 0, max, number, error) == 0;
}

/* NULL: the settings are read. Else the code of the problem. */
static const char *read_settings(const json_t *object, struct comment_command *command, struct error *error) {
    int who, review;
    int64_t level;
    if (!read_number(object, "owner", INT64_MAX, &command->owner, error)) return "bad_user";
    if (!read_choice(object, "who_may", SUBJECT_WHO_MAY, COMMENT_COMMAND_SAME_WHO, &who, error) ||
        !read_choice(object, "review", SUBJECT_REVIEWS, COMMENT_COMMAND_SAME_REVIEW, &review, error) ||
        !read_number(object, "level", INT32_MAX, &level, error) || !read_closed(object, command, error))
        return "bad_subject";
    command->who_may = (enum comment_command_who)who;
    command->review = (enum comment_command_review)review;
    command->level = (int32_t)level;
    return NULL;
}

static void settings(struct comments_gateway *gateway, const struct call *call, const char *subject) {
    struct comment_command command = plain_command(call, COMMENT_COMMAND_REGISTER);
    struct error error;
    json_t *object = call_body(call);
    if (!object) return;
    command.user = 0;
    command.role = COMMENT_COMMAND_SERVICE;
    const char *wrong = read_settings(object, &command, &error);
    if (wrong)
        http_problem(call->request, 400, wrong, error.text, 0);
    else
        act(gateway, call, subject, &command, ANSWER_SUBJECT);
    json_decref(object);
}

/* ---- endpoints ---- */

/* Moderators act as such, whoever may see the post. */
static void enter_to_rule(struct comments_gateway *gateway, const struct call *call, comments_handler *handler) {
    (call->claims.moderator ? comments_enter_unseen : comments_enter_to_act)(gateway, call, handler);
}

static void put_comment(void *state, const struct call *call) { enter_to_rule(state, call, edit); }
static void put_like(void *state, const struct call *call) { comments_enter_to_act(state, call, like); }
static void delete_like(void *state, const struct call *call) { comments_enter_unseen(state, call, unlike); }
static void put_post_like(void *state, const struct call *call) { comments_enter_post_to_act(state, call, like_post); }
static void put_pin(void *state, const struct call *call) { enter_to_rule(state, call, pin); }
static void delete_pin(void *state, const struct call *call) { enter_to_rule(state, call, unpin); }
static void post_report(void *state, const struct call *call) { comments_enter_to_act(state, call, report); }
static void delete_comment(void *state, const struct call *call) { comments_enter_unseen(state, call, delete); }
static void put_state(void *state, const struct call *call) { comments_enter_unseen(state, call, moderate); }
static void put_subject(void *state, const struct call *call) { comments_enter_unseen(state, call, settings); }

static void post_post_report(void *state, const struct call *call) {
    comments_enter_post_to_act(state, call, report_post);
}

static void post_user_report(void *state, const struct call *call) { comments_enter_user(state, call, report_user); }

static void delete_post_like(void *state, const struct call *call) {
    comments_enter_post_unseen(state, call, unlike_post);
}

static const struct endpoint ENDPOINTS[] = {
    {"PUT", "/v1/comments/{type:text}/{id:text}/{comment:id}", put_comment, NEEDS_USER},
    {"DELETE", "/v1/comments/{type:text}/{id:text}/{comment:id}", delete_comment, NEEDS_USER},
    {"PUT", "/v1/comments/{type:text}/{id:text}/{comment:id}/like", put_like, NEEDS_USER},
    {"DELETE", "/v1/comments/{type:text}/{id:text}/{comment:id}/like", delete_like, NEEDS_USER},
    {"PUT", "/v1/posts/{id:id}/like", put_post_like, NEEDS_USER},
    {"DELETE", "/v1/posts/{id:id}/like", delete_post_like, NEEDS_USER},
    {"POST", "/v1/posts/{id:id}/report", post_post_report, NEEDS_USER},
    {"POST", "/v1/users/{user}/report", post_user_report, NEEDS_USER},
    {"PUT", "/v1/comments/{type:text}/{id:text}/{comment:id}/pin", put_pin, NEEDS_USER},
    {"DELETE", "/v1/comments/{type:text}/{id:text}/{comment:id}/pin", delete_pin, NEEDS_USER},
    {"POST", "/v1/comments/{type:text}/{id:text}/{comment:id}/report", post_report, NEEDS_USER},
    {"PUT", "/v1/moderation/comments/{type:text}/{id:text}/{comment:id}", put_state, NEEDS_MODERATOR},
    {"PUT", "/v1/subjects/{type:text}/{id:text}", put_subject, NEEDS_GATEWAY},
};
const struct endpoint_list COMMENT_ACTS_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
