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
#include "ids/ids.h"
#include "subjects/words.h"

void comment_replies_bad_query(struct http_request *request) {
    http_problem(request, 400, "bad-query", "a value is missing or out of range", 0);
}

void comment_replies_no_comment(struct http_request *request) {
    http_problem(request, 404, "no-comment", "there is no such comment under this subject", 0);
}

bool comment_replies_serve(struct comment_replies *replies, struct http_request *request, int32_t partition) {
    int code = tasks_serves(replies->options.tasks, partition);
    if (code == -ESTALE)
        http_problem(request, 421, "not-the-owner", "another process owns this subject", 0);
    else if (code)
        http_problem(request, 503, "restoring", "this subject's state is being restored", 1);
    return !code;
}

void comment_replies_failed(const struct comment_question *question, int code, const struct error *error) {
    if (code == -EBADMSG) {
        tasks_damaged(question->replies->options.tasks, question->partition, code, error);
        http_problem(question->request, 503, "restoring", "this subject's state is being restored", 1);
    } else {
        http_problem(question->request, 500, "store", error->text, 0);
    }
}

/* ---- subjects ---- */

void comment_replies_put_subject(struct buffer *body, const struct subject_state *state) {
    buffer_format(
        body,
        "{\"owner\":%" PRId64 ",\"closed\":%s,\"who_may\":\"%s\",\"review\":\"%s\",\"level\":%d,\"total\":%" PRId64
        ",\"roots\":%d,\"held\":%" PRId64 ",\"version\":%" PRId64 ",\"counters\":%" PRId64 "}",
        state->owner, state->closed ? "true" : "false", SUBJECT_WHO_MAY[state->who_may], SUBJECT_REVIEWS[state->review],
        (int)state->level, state->visible, (int)state->roots, state->held, state->structure, state->counters);
}

static void subject_answer(struct comment_question *question) {
    struct buffer *body = &question->replies->body;
    struct subject_state state;
    struct error error;
    int code =
        threads_subject(question->replies->options.threads, question->partition, &question->subject, &state, &error);
    if (code < 0) {
        comment_replies_failed(question, code, &error);
        return;
    }
    if (!code) {
        http_problem(question->request, 404, "no-subject", "nobody has registered this subject", 0);
        return;
    }
    comment_replies_put_subject(body, &state);
    http_reply_json(question->request, 200, body);
}

/* ---- counts of many subjects ---- */

static int put_counts(struct comment_question *question, struct error *error) {
    struct comment_replies *replies = question->replies;
    struct subject_state state;
    question->partition = hash_partition(question->subject.data, question->subject.size, replies->options.partitions);
    if (tasks_serves(replies->options.tasks, question->partition)) {
        buffer_string(&replies->body, "false");
        return 0;
    }
    int code = threads_subject(replies->options.threads, question->partition, &question->subject, &state, error);
    if (code == 1)
        buffer_format(&replies->body, "{\"total\":%" PRId64 ",\"version\":%" PRId64 "}", state.visible,
                      state.structure);
    else if (!code)
        buffer_string(&replies->body, "null");
    return code < 0 ? code : 0;
}

static void counts(struct comment_replies *replies, struct http_request *request, const char *path) {
    struct comment_question question = {.replies = replies, .request = request};
    const char *at = http_query(request, "subjects");
    int64_t partition;
    struct error error;
    if (!at || !http_path_number(&path, &partition) || *path || partition > INT32_MAX) {
        comment_replies_bad_query(request);
        return;
    }
    if (!comment_replies_serve(replies, request, (int32_t)partition)) return;
    buffer_clear(&replies->body);
    buffer_string(&replies->body, "{\"items\":[");
    for (size_t i = 0; *at || !i; at += *at == ',', i++) {
        question.subject = (struct event_text){at, strcspn(at, ",")};
        if (i == REPLIES_IDS_MAX || !subject_valid(at, question.subject.size)) {
            comment_replies_bad_query(request);
            return;
        }
        if (i) buffer_byte(&replies->body, ',');
        int code = put_counts(&question, &error);
        if (code) {
            comment_replies_failed(&question, code, &error);
            return;
        }
        at += question.subject.size;
    }
    buffer_string(&replies->body, "]}");
    http_reply_json(request, 200, &replies->body);
}

/* ---- paths ---- */

static const struct {
    const char *start;
    bool of_comment;
    void (*answer)(struct comment_question *question);
} PATHS[] = {
    {"/peer/comments/page/", false, comment_replies_page}, {"/peer/comments/replies/", true, comment_replies_under},
    {"/peer/comments/one/", true, comment_replies_one},    {"/peer/comments/likes/", false, comment_replies_likes},
    {"/peer/comments/subject/", false, subject_answer},    {"/peer/comments/outcome/", false, comment_replies_outcome},
};

static bool read_path(struct comment_question *question, const char *at, bool of_comment) {
    if (!subject_of_path(&at, question->name)) return false;
    question->subject = (struct event_text){question->name, strlen(question->name)};
    if (!of_comment) return !*at;
    return *at == '/' && ids_parse(at + 1, strlen(at + 1), &question->comment);
}

static bool of_subject(struct comment_replies *replies, struct http_request *request) {
    struct comment_question question = {.replies = replies, .request = request, .complete = true};
    for (size_t i = 0; i < ARRAY_SIZE(PATHS); i++) {
        const char *at = http_path_behind(request, PATHS[i].start);
        if (!at || !read_path(&question, at, PATHS[i].of_comment)) continue;
        question.partition = hash_partition(question.subject.data, question.subject.size, replies->options.partitions);
        buffer_clear(&replies->body);
        if (comment_replies_serve(replies, request, question.partition)) PATHS[i].answer(&question);
        return true;
    }
    return false;
}

void comment_replies_handle(struct comment_replies *replies, struct http_request *request) {
    const char *at = http_path_behind(request, "/peer/comments/counts/");
    const char *of = http_path_behind(request, "/peer/comments/of/");
    if (strcmp(http_method(request), "GET"))
        http_problem(request, 405, "method", "only GET is answered here", 0);
    else if (at)
        counts(replies, request, at);
    else if (of)
        comment_replies_of_user(replies, request, of);
    else if (!of_subject(replies, request))
        http_problem(request, 404, "not-found", "there is no such question", 0);
}

struct comment_replies *comment_replies_new(const struct comment_replies_options *options) {
    struct comment_replies *replies = mem_alloc(sizeof *replies);
    *replies = (struct comment_replies){.options = *options};
    return replies;
}

void comment_replies_free(struct comment_replies *replies) {
    if (!replies) return;
    comment_replies_waiting_free(replies);
    buffer_free(&replies->body);
    free(replies);
}
