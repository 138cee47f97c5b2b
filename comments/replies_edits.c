/* The versions of a comment's text, the newest first. */
#include <inttypes.h>

#include "comments/replies_private.h"

static void put_version(struct comment_question *question, const struct comment *comment,
                        const struct comment_text *text) {
    struct buffer *body = &question->replies->body;
    if (question->put++) buffer_byte(body, ',');
    edit_put(body, &(struct edit_version){
                       .version = text->version,
                       .time = text->edited ? text->edited : comment_time(question->comment, comment),
                       .user = text->editor < 0 ? comment->user : text->editor,
                       .text = text->text,
                   });
}

/* Appends the versions below `below`. *next: the last one, if others follow; 0: none do. */
static int put_versions(struct comment_question *question, const struct comment *comment, int64_t below, size_t limit,
                        int64_t *next, struct error *error) {
    struct threads *threads = question->replies->options.threads;
    int32_t partition = question->partition;
    struct comment_text text;
    int code = 1;
    *next = 0;
    for (int64_t version = comment->version < below - 1 ? comment->version : below - 1; code >= 0 && version > 0;
         version--) {
        if (question->put == limit || question->replies->body.size > REPLIES_BODY_MAX) {
            *next = version + 1;
            break;
        }
        if (version == comment->version)
            code = threads_text(threads, partition, &question->subject, question->comment, &text, error);
        else
            code = threads_former(threads, partition, &question->subject, question->comment, version, &text, error);
        if (code == 1 && text.version == version)
            put_version(question, comment, &text);
        else if (code >= 0)
            question->complete = false; // its topic is not read so far yet
    }
    return code < 0 ? code : 0;
}

void comment_replies_edits(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct comment_question begun, *question = &begun;
    struct comment_replies *replies = context;
    struct buffer *body = &replies->body;
    int64_t viewer = asked->numbers[RPC_USER], after = asked->numbers[RPC_AFTER], next = 0;
    struct comment comment;
    struct error error;
    comment_question_begin(question, context, request, asked);
    int code = threads_comment(replies->options.threads, question->partition, &question->subject, question->comment,
                               &comment, &error);
    bool shown =
        code == 1 && (comment.state == COMMENT_VISIBLE || (comment.state == COMMENT_HELD && comment.user == viewer));
    if (code >= 0 && !shown) {
        comment_replies_no_comment(request);
        return;
    }
    buffer_string(body, "{\"items\":[");
    if (code > 0)
        code = put_versions(question, &comment, after < 0 ? INT64_MAX : after, (size_t)asked->numbers[RPC_LIMIT], &next,
                            &error);
    if (code) {
        comment_replies_failed(question, code, &error);
        return;
    }
    edit_put_next(body, next);
    buffer_format(body, ",\"user\":%" PRId64 ",\"complete\":%s}", comment.user, question->complete ? "true" : "false");
    http_reply_json(request, 200, body);
}
