#include "ingest/comments/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "ids/ids.h"
#include "ingest/comments/answers.h"
#include "ingest/comments/facts.h"
#include "ingest/text_checks.h"

enum { PEER_TIMEOUT_MS = 3000 };

/* ---- outcomes ---- */

/* A question about the outcome of a command that was written some time ago. */
struct outcome_question {
    struct comment_wish wish;
    struct http_request *request;
    void (*unknown)(struct http_request *request); /* answers where the owner knows of no such command */
};

static void outcome_answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct outcome_question *question = context;
    json_t *reply = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    if (code == 0 && status == 404)
        question->unknown(question->request);
    else if (code == 0 && status == 413)
        write_problem(question->request, -EINVAL);
    else if (code == 0 && (status == 200 || status == 202))
        comment_wish_answered(&question->wish, question->request, status, reply, (struct json_bytes){text, size});
    else
        comments_owner_away(question->request);
    json_decref(reply);
    free(question);
}

static void ask_outcome(const struct comment_wish *wish, struct http_request *request, int64_t user,
                        void (*unknown)(struct http_request *request)) {
    struct comments_gateway *gateway = wish->gateway;
    struct outcome_question *question =
        MEM_NEW(&(struct outcome_question){.wish = *wish, .request = request, .unknown = unknown});
    rpc_ask(gateway->owners, &ASK_OUTCOME,
            RPC_VALUES(RPC_TEXT(SUBJECT, wish->subject), RPC_INT(USER, user), RPC_INT(COMMENT, 0),
                       RPC_TEXT(KEY, wish->key), RPC_INT(WAIT_MS, 0), RPC_INT(OFFSET, wish->offset)),
            PEER_TIMEOUT_MS, outcome_answered, question);
}

static void outcome(struct comments_gateway *gateway, const struct call *call, const char *subject) {
    const char *key = http_query(call->request, "key");
    struct comment_wish wish = {.gateway = gateway, .form = ANSWER_MADE, .offset = -1};
    snprintf(wish.subject, sizeof wish.subject, "%s", subject);
    if (!call_query_int(call, "offset", &wish.offset)) return;
    if (!key || !client_key_valid(key)) {
        http_problem(call->request, 400, "bad_query", "\"key\" must be the key of the comment", 0);
        return;
    }
    snprintf(wish.key, sizeof wish.key, "%s", key);
    ask_outcome(&wish, call->request, call->claims.user, comment_no_outcome);
}

/* ---- new comments ---- */

/* A comment from the request to the record. object: the client's JSON; the text points into it. */
struct new_comment {
    struct comment_wish *wish;
    struct http_request *request;
    json_t *object;
    struct event_text text;
    int64_t user, answers; /* answers: 0: it is a root */
    int32_t level;
    bool given; /* the client has given the key */
    bool moderates;
    struct facts facts;
};

/* After the answer, or when the wish is the command's. */
static void new_comment_free(struct new_comment *made) {
    json_decref(made->object);
    free(made->wish);
    free(made);
}

static void write_comment(struct new_comment *made, const struct text_facts *facts) {
    struct comment_wish *wish = made->wish;
    const struct comment_command command = {
        .kind = made->answers ? COMMENT_COMMAND_REPLY : COMMENT_COMMAND_POST,
        .user = made->user,
        .role = COMMENT_COMMAND_USER,
        .comment = made->answers,
        .text = made->text,
        .mentions = {.items = facts->mentions.users, .count = facts->mentions.count},
        .owner = made->facts.owner,
        .level = made->level,
        .follows = made->facts.follows,
        .friends = made->facts.friends,
        .blocked = made->facts.blocked,
        .who_may = made->facts.who_may,
        .review = COMMENT_COMMAND_SAME_REVIEW,
        .closing = COMMENT_COMMAND_SAME_CLOSING,
        .state = facts->held ? COMMENT_COMMAND_HELD : COMMENT_COMMAND_VISIBLE,
    };
    made->wish = NULL; // the command's
    comment_wish_send(wish, made->request, &command);
    new_comment_free(made);
}

static void checked(void *context, const struct text_facts *facts, bool stopping) {
    struct new_comment *made = context;
    if (!stopping) {
        write_comment(made, facts);
        return;
    }
    comments_owner_away(made->request);
    new_comment_free(made);
}

static void check_text(struct new_comment *made) {
    struct comments_gateway *gateway = made->wish->gateway;
    text_check(&(struct text_check){
        .filter = made->moderates ? NULL : gateway->filter,
        .feeds = gateway->feeds,
        .partitions = gateway->user_partitions,
        .text = {.kind = "comment", .user = made->user, .text = made->text},
        .context = made,
        .done = checked,
    });
}

static void no_subject(struct http_request *request) { comment_refused(request, "no_subject", ANSWER_MADE, 0); }

static void facts_found(void *context, enum facts_outcome outcome, const struct facts *facts) {
    struct new_comment *made = context;
    made->facts = *facts;
    if (outcome == FACTS_KNOWN) {
        check_text(made);
        return;
    }
    if (outcome == FACTS_NO_COMMENT)
        comment_refused(made->request, "no_comment", ANSWER_MADE, 0);
    else if (outcome == FACTS_NO_POST && made->given) // it may have been there when this was written first
        ask_outcome(made->wish, made->request, made->user, no_subject);
    else if (outcome == FACTS_NO_POST)
        no_subject(made->request);
    else
        comments_owner_away(made->request);
    new_comment_free(made);
}

static bool read_reply_to(const json_t *object, int64_t *answers, struct error *error) {
    const char *text;
    *answers = 0;
    if (!json_object_get(object, "reply_to")) return true;
    if (json_want_text(object, "reply_to", &text, error)) return false;
    if (ids_parse(text, strlen(text), answers)) return true;
    error_set(error, -EINVAL, "\"reply_to\" must be the id of a comment");
    return false;
}

/* NULL: the body is read. Else the code of the problem. */
static const char *read_body(const json_t *object, struct new_comment *made, const char **key, struct error *error) {
    *key = NULL;
    if (!client_text_read(object, "text", COMMENT_TEXT_POINTS_MAX, &made->text, error)) return "bad_text";
    if (!read_reply_to(object, &made->answers, error)) return "bad_reply_to";
    return client_key_read(object, key, error) ? NULL : "bad_key";
}

static void start(struct comments_gateway *gateway, const struct call *call, const char *subject,
                  const struct new_comment *read, const char *key) {
    struct comment_wish *wish = mem_alloc(sizeof *wish);
    struct new_comment *made = mem_alloc(sizeof *made);
    *wish = (struct comment_wish){.gateway = gateway, .form = ANSWER_MADE, .offset = -1};
    snprintf(wish->subject, sizeof wish->subject, "%s", subject);
    client_key_choose(&gateway->chance, key, wish->key);
    *made = *read;
    made->wish = wish;
    made->given = key;
    json_incref(made->object);
    facts_ask(gateway, &(struct facts_wish){
                           .subject = wish->subject,
                           .user = made->user,
                           .about = made->answers,
                           .context = made,
                           .done = facts_found,
                       });
}

static void new_comment(struct comments_gateway *gateway, const struct call *call, const char *subject) {
    const char *key;
    struct error error;
    json_t *object = call_body(call);
    if (!object) return;
    struct new_comment read = {.request = call->request,
                               .object = object,
                               .user = call->claims.user,
                               .level = call->claims.level,
                               .moderates = call->claims.moderator};
    const char *wrong = read_body(object, &read, &key, &error);
    if (wrong)
        http_problem(call->request, 400, wrong, error.text, 0);
    else
        start(gateway, call, subject, &read, key);
    json_decref(object);
}

static void get_outcome(void *state, const struct call *call) { comments_enter_to_act(state, call, outcome); }
static void post_comment(void *state, const struct call *call) { comments_enter_to_act(state, call, new_comment); }

static const struct endpoint ENDPOINTS[] = {
    {"POST", "/v1/comments/{type:text}/{id:text}", post_comment, NEEDS_USER},
    {"GET", "/v1/subjects/{type:text}/{id:text}/outcome", get_outcome, NEEDS_USER},
};
const struct endpoint_list COMMENT_WRITING_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
