#include "comments/replies.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "comments/replies_private.h"
#include "subjects/words.h"

void comment_replies_no_comment(struct http_request *request) {
    http_problem(request, 404, "no-comment", "there is no such comment under this subject", 0);
}

void comment_replies_failed(const struct comment_question *question, int code, const struct error *error) {
    if (code == -EBADMSG) tasks_damaged(question->replies->options.tasks, question->partition, code, error);
    rpc_failed(question->request, code, error);
}

void comment_question_begin(struct comment_question *question, void *context, struct http_request *request,
                            const struct rpc_asked *asked) {
    *question = (struct comment_question){
        .replies = context,
        .request = request,
        .partition = asked->partition,
        .comment = asked->numbers[RPC_COMMENT],
        .complete = true,
    };
    memcpy(question->name, asked->subject, sizeof question->name);
    question->subject = (struct event_text){question->name, strlen(question->name)};
    buffer_clear(&question->replies->body);
}

/* ---- subjects ---- */

void comment_replies_put_subject(struct buffer *body, const struct subject_state *state) {
    buffer_format(
        body,
        "{\"owner\":%" PRId64 ",\"closed\":%s,\"who_may\":\"%s\",\"review\":\"%s\",\"level\":%d,\"total\":%" PRId64
        ",\"roots\":%d,\"held\":%" PRId64 ",\"likes\":%" PRId64 ",\"version\":%" PRId64 ",\"counters\":%" PRId64 "}",
        state->owner, state->closed ? "true" : "false", SUBJECT_WHO_MAY[state->who_may], SUBJECT_REVIEWS[state->review],
        (int)state->level, state->visible, (int)state->roots, state->held, state->likes, state->structure,
        state->counters);
}

static void subject_answer(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct comment_replies *replies = context;
    struct comment_question question;
    struct subject_state state;
    struct error error;
    comment_question_begin(&question, context, request, asked);
    int code = threads_subject(replies->options.threads, question.partition, &question.subject, &state, &error);
    if (code < 0) {
        comment_replies_failed(&question, code, &error);
    } else if (!code) {
        http_problem(request, 404, "no-subject", "nobody has registered this subject", 0);
    } else {
        comment_replies_put_subject(&replies->body, &state);
        http_reply_json(request, 200, &replies->body);
    }
}

/* ---- counts of many subjects ---- */

/* user: who may like it; -1: nobody in particular. Most subjects are liked by nobody, and then this user's like is not looked up. */
static int put_counts(struct comment_question *question, int64_t user, struct error *error) {
    struct comment_replies *replies = question->replies;
    struct comment_reaction reaction = {.likes = false};
    struct subject_state state;
    question->partition = hash_partition(question->subject.data, question->subject.size, replies->options.partitions);
    if (tasks_serves(replies->options.tasks, question->partition)) {
        buffer_string(&replies->body, "false");
        return 0;
    }
    int code = threads_subject(replies->options.threads, question->partition, &question->subject, &state, error);
    if (!code) buffer_string(&replies->body, "null");
    if (code != 1) return code;
    buffer_format(&replies->body, "{\"total\":%" PRId64 ",\"version\":%" PRId64 ",\"likes\":%" PRId64, state.visible,
                  state.structure, state.likes);
    if (user >= 0 && state.likes)
        code = threads_reaction(replies->options.threads, question->partition, &question->subject, 0, user, &reaction,
                                error);
    if (user >= 0) buffer_format(&replies->body, ",\"liked\":%s", reaction.likes ? "true" : "false");
    buffer_byte(&replies->body, '}');
    return code < 0 ? code : 0;
}

/* Reads "TYPE:ID" or "TYPE:ID:USER" up to a comma or the end. */
static bool read_counted(struct comment_question *question, const char *at, size_t size, int64_t *user) {
    const char *colon = memchr(at, ':', size);
    const char *second = colon ? memchr(colon + 1, ':', size - (size_t)(colon + 1 - at)) : NULL;
    question->subject = (struct event_text){at, second ? (size_t)(second - at) : size};
    *user = -1;
    return subject_valid(at, question->subject.size) &&
           (!second || text_number(second + 1, size - question->subject.size - 1, INT64_MAX, user));
}

static void counts(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct comment_replies *replies = context;
    struct comment_question question;
    const char *at = asked->texts[RPC_SUBJECTS];
    int64_t user;
    struct error error;
    comment_question_begin(&question, context, request, asked);
    buffer_string(&replies->body, "{\"items\":[");
    for (size_t i = 0; *at; at += *at == ',', i++) {
        size_t size = strcspn(at, ",");
        if (i == RPC_IDS_MAX || !read_counted(&question, at, size, &user)) {
            rpc_bad_query(request);
            return;
        }
        if (i) buffer_byte(&replies->body, ',');
        int code = put_counts(&question, user, &error);
        if (code) {
            comment_replies_failed(&question, code, &error);
            return;
        }
        at += size;
    }
    buffer_string(&replies->body, "]}");
    http_reply_json(request, 200, &replies->body);
}

/* ---- who likes a subject ---- */

static void likers(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct comment_replies *replies = context;
    struct comment_question question;
    int64_t after = asked->numbers[RPC_AFTER];
    size_t count;
    bool more;
    struct error error;
    comment_question_begin(&question, context, request, asked);
    int code = threads_likers(replies->options.threads, question.partition, &question.subject, &after,
                              (size_t)asked->numbers[RPC_LIMIT], replies->ids, &count, &more, &error);
    if (code) {
        comment_replies_failed(&question, code, &error);
        return;
    }
    buffer_string(&replies->body, "{\"items\":[");
    for (size_t i = 0; i < count; i++)
        buffer_format(&replies->body, "%s{\"user\":%" PRId64 "}", i ? "," : "", replies->ids[i]);
    if (more)
        buffer_format(&replies->body, "],\"next\":%" PRId64 "}", after);
    else
        buffer_string(&replies->body, "],\"next\":null}");
    http_reply_json(request, 200, &replies->body);
}

/* ---- questions ---- */

static const struct rpc_handler HANDLERS[] = {
    {&ASK_COMMENTS, comment_replies_page, false},
    {&ASK_REPLIES, comment_replies_under, false},
    {&ASK_COMMENT, comment_replies_one, false},
    {&ASK_LIKES, comment_replies_likes, false},
    {&ASK_LIKERS, likers, false},
    {&ASK_SUBJECT, subject_answer, false},
    {&ASK_OUTCOME, comment_replies_outcome, false},
    {&ASK_COUNTS, counts, false},
    {&ASK_OF_USER, comment_replies_of_user, false},
    {&ASK_EDITS, comment_replies_edits, false},
};

int comment_replies_serves(const void *of, int32_t partition) {
    const struct comment_replies *replies = of;
    return tasks_serves(replies->options.tasks, partition);
}

void comment_replies_handle(struct comment_replies *replies, struct http_request *request) {
    static const struct rpc_server SERVER = {HANDLERS, ARRAY_SIZE(HANDLERS), comment_replies_serves};
    rpc_serve(&SERVER, replies, replies->options.partitions, request);
}

struct comment_replies *comment_replies_new(const struct comment_replies_options *options) {
    struct comment_replies *replies = MEM_NEW(&(struct comment_replies){.options = *options});
    return replies;
}

void comment_replies_free(struct comment_replies *replies) {
    if (!replies) return;
    comment_replies_waiting_free(replies);
    buffer_free(&replies->body);
    free(replies);
}
