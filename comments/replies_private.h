/* Between comments/replies*.c. */
#pragma once

#include "comments/replies.h"
#include "rpc/serve.h"

enum { REPLIES_BODY_MAX = 1 << 20 };
enum { REPLIES_PUT_MAX = 2000 /* comments in a page of roots, their first replies among them, or a few more */ };

struct comment_wait;

struct comment_replies {
    struct comment_replies_options options;
    struct buffer body;
    struct comment_wait *waiting; /* questions that wait for their command's outcome, in no order */
    int64_t ids[RPC_IDS_MAX];
};

/* A question about a subject that is served here. */
struct comment_question {
    struct comment_replies *replies;
    struct http_request *request;
    char name[SUBJECT_MAX + 1];
    struct event_text subject;
    int32_t partition;
    int64_t comment; /* 0: the path names none */
    bool complete;   /* so far */
    size_t put;      /* comments in the answer, so far */
};

int comment_replies_serves(const void *replies, int32_t partition); /* as tasks_serves */
/* Begins the answer, too. */
void comment_question_begin(struct comment_question *question, void *replies, struct http_request *request,
                            const struct rpc_asked *asked);
void comment_replies_no_comment(struct http_request *request);
/* -EBADMSG: the partition is read anew, and the question may be asked again. */
void comment_replies_failed(const struct comment_question *question, int code, const struct error *error);

/* Appends a comment as the API has it, but for names. viewer: sees his own held text; -1: nobody. first_replies: 0: none. 0 or a code. */
int comment_replies_put(struct comment_question *question, int64_t id, const struct comment *comment, int64_t viewer,
                        size_t first_replies, struct error *error);
void comment_replies_put_subject(struct buffer *body, const struct subject_state *state);

/* Each answers the question of its name. */
typedef void comment_replies_answer(void *replies, struct http_request *request, const struct rpc_asked *asked);
comment_replies_answer comment_replies_page, comment_replies_under, comment_replies_one, comment_replies_likes,
    comment_replies_outcome, comment_replies_of_user, comment_replies_edits;

void comment_replies_waiting_free(struct comment_replies *replies);
