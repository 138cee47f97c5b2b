/* Answers to commands about comments: what their owner says became of them (comments/replies.h). Loop's thread. */
#pragma once

#include "ingest/client_text.h"
#include "ingest/comments/parts.h"

enum answer_form {
    ANSWER_MADE,     /* POST, REPLY: 201 with the comment */
    ANSWER_COMMENT,  /* 200 with the comment */
    ANSWER_LIKES,    /* 200 {likes} */
    ANSWER_LIKED,    /* 200 {likes, liked: true}: of the subject itself */
    ANSWER_UNLIKED,  /* 200 {likes, liked: false} */
    ANSWER_PINNED,   /* 200 {pinned} */
    ANSWER_REPORTED, /* 202 {reported} */
    ANSWER_GONE,     /* 204 */
    ANSWER_SUBJECT   /* 200 with the subject */
};

/* A command from its record to its answer. */
struct comment_wish {
    struct comments_gateway *gateway;
    enum answer_form form;
    int64_t user; /* who wishes it */
    char subject[SUBJECT_MAX + 1];
    char key[CLIENT_KEY_MAX + 1];
    int64_t offset;
};

/* Writes the command, to which this adds subject, key and time, and answers when its outcome is known, or 202. The wish is freed. */
void comment_wish_send(struct comment_wish *wish, struct http_request *request, const struct comment_command *wanted);

/* Answers with the outcome, as the owner says it. A status of 0 is answered 202, with the key and the outcome's address. A comment whose
 * key the owner does not know, although the command is decided, is answered 404. */
void comment_wish_answered(void *context, struct http_request *request, unsigned status, const json_t *reply,
                           struct json_bytes text);

void comment_no_outcome(struct http_request *request); /* 404 */

/* Answers with the problem of that refusal, or of one that this version does not know. A comment that is not there is 400 for a new
 * reply, which names it in the body, and else 404. retry_s: after which the command may be sent again; 0: it may not. */
void comment_refused(struct http_request *request, const char *refusal, enum answer_form form, int retry_s);
