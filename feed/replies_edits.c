/* The versions of a post's text, and what an edit led to. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "edits/edits.h"
#include "feed/replies_private.h"
#include "ids/ids.h"

/* Finds a version of the text, of which `newest` is the newest one. 1, 0 or a negative code. */
static int find_version(struct replies *replies, int32_t partition, const struct post_found *post, int64_t newest,
                        int64_t version, struct post_text *text, struct error *error) {
    struct posts *posts = replies->options.posts;
    int code = version == newest
                   ? posts_text(posts, partition, post->author, post->id, &replies->text, error)
                   : posts_former(posts, partition, post->author, post->id, version, &replies->text, error);
    if (code > 0 && event_decode_post_text(replies->codec, replies->text.data, replies->text.size, text, error))
        return -EBADMSG;
    return code;
}

/* The version of the newest text of a post that is shown: 1; 0: there is no such post, or its text is not read yet; or a negative code. */
static int find_newest(struct replies *replies, int32_t partition, int64_t id, struct post_found *post, int64_t *newest,
                       struct error *error) {
    struct post_text text;
    int code = posts_find(replies->options.posts, partition, id, post, error);
    if (code || !post_is_shown(post)) return code;
    code = find_version(replies, partition, post, 1, 1, &text, error);
    if (code > 0) *newest = text.version;
    return code;
}

static int put_versions(struct replies *replies, int32_t partition, const struct post_found *post, int64_t newest,
                        int64_t below, size_t limit, struct buffer *body, int64_t *next, struct error *error) {
    size_t put = 0;
    int code = 1;
    *next = 0;
    for (int64_t version = newest < below - 1 ? newest : below - 1; code >= 0 && version > 0; version--) {
        struct post_text text;
        if (put == limit) {
            *next = version + 1;
            break;
        }
        code = find_version(replies, partition, post, newest, version, &text, error);
        if (code <= 0) continue;
        if (put++) buffer_byte(body, ',');
        edit_put(body, &(struct edit_version){
                           .version = version,
                           .time = text.edited ? text.edited : ids_time_ms(post->id),
                           .user = text.editor < 0 ? post->author : text.editor,
                           .text = text.text,
                       });
    }
    return code < 0 ? code : 0;
}

int replies_put_former(struct replies *replies, int32_t partition, const struct post_found *post, struct buffer *body,
                       struct error *error) {
    struct post_text text;
    int64_t next;
    int code = find_version(replies, partition, post, 1, 1, &text, error);
    if (code <= 0 || text.version == 1) return code < 0 ? code : 0;
    body->size--; // the post's brace
    buffer_string(body, ",\"former\":[");
    code = put_versions(replies, partition, post, text.version, text.version, SIZE_MAX, body, &next, error);
    buffer_string(body, "]}");
    return code;
}

void replies_edits(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct replies *replies = context;
    int64_t after = asked->numbers[RPC_AFTER], newest, next = 0;
    struct post_found post;
    struct error error;
    int code = find_newest(replies, asked->partition, asked->numbers[RPC_POST], &post, &newest, &error);
    if (!code) {
        http_problem(request, 404, "not-found", "there is no such post", 0);
        return;
    }
    replies_start(replies, "{\"items\":[");
    if (code > 0)
        code = put_versions(replies, asked->partition, &post, newest, after < 0 ? INT64_MAX : after,
                            (size_t)asked->numbers[RPC_LIMIT], &replies->body, &next, &error);
    if (code) {
        replies_store_failed(replies, request, asked->partition, code, &error);
        return;
    }
    edit_put_next(&replies->body, next);
    buffer_format(&replies->body, ",\"user\":%" PRId64 "}", post.author);
    http_reply_json(request, 200, &replies->body);
}

/* The next version is the one that was wanted, whichever command has made it: a client may have sent several. An edit that could be made and
 * was not is one of a banned author. */
int replies_edited(struct replies *replies, int32_t partition, int64_t id, int64_t read, const char *mark,
                   struct buffer *body, struct error *error) {
    char made[EDIT_MARK_SIZE];
    struct post_found post;
    struct post_text text;
    int64_t newest;
    int code = find_newest(replies, partition, id, &post, &newest, error);
    if (code <= 0) return code;
    code = newest > read ? find_version(replies, partition, &post, newest, read + 1, &text, error) : 0;
    if (code < 0) return code;
    if (code > 0) edit_mark(text.editor, &text.text, made);
    if (code > 0 && strcmp(made, mark) == 0) {
        buffer_string(body, "{\"refused\":null,\"post\":");
        code = replies_put_post(replies, partition, &post, body, error);
    } else {
        static const char *const REFUSED[] = {
            [EDIT_OLD_VERSION] = "old_version", [EDIT_TOO_MANY] = "edits", [EDIT_DONE] = "banned"};
        buffer_format(body, "{\"refused\":\"%s\",\"post\":null", REFUSED[edit_decide(newest, read)]);
        code = 1;
    }
    buffer_byte(body, '}');
    return code;
}
