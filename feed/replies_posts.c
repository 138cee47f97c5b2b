#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "edits/edits.h"
#include "feed/replies_private.h"
#include "ids/ids.h"
#include "json/json.h"

enum {
    MANY_AUTHORS = 5000,
    POST_WORK = 20, /* reading a post and its text costs as much as so many moves within the store */
    SLICE_OF_POSTS = 100,
    PASSED_MAX =
        5000, /* posts that are not there for the reader, which an answer looks at: there may be millions together */
    BODY_MAX = 1 << 20 /* bytes; it is passed by one post. Gateways take 16 MiB */
};

/* ---- posts ---- */

static void put_media(struct buffer *body, const struct event_texts *media) {
    buffer_string(body, ",\"media\":[");
    for (size_t i = 0; i < media->count; i++) {
        if (i) buffer_byte(body, ',');
        json_put_text(body, media->items[i].data, media->items[i].size);
    }
    buffer_byte(body, ']');
}

int replies_put_post(struct replies *replies, int32_t partition, const struct post_found *post, struct buffer *body,
                     struct error *error) {
    struct post_text text;
    int code = posts_text(replies->options.posts, partition, post->author, post->id, &replies->text, error);
    if (code <= 0) return code;
    code = event_decode_post_text(replies->codec, replies->text.data, replies->text.size, &text, error);
    if (code) return code;
    buffer_string(body, "{\"id\":");
    replies_put_id(body, post->id);
    buffer_format(body, ",\"user\":%" PRId64 ",\"text\":", post->author);
    json_put_text(body, text.text.data, text.text.size);
    put_media(body, &text.media);
    buffer_format(body, ",\"time\":%" PRId64 ",", ids_time_ms(post->id));
    edit_put_state(body, text.version, text.edited);
    if (post->hidden) buffer_format(body, ",\"state\":\"%s\"", post->held ? "held" : "hidden");
    buffer_byte(body, '}');
    return 1;
}

/* The text is read from another topic: it may be a moment late, or be deleted already. */
static void put_post_without_text(struct buffer *body, const struct post_found *post) {
    buffer_string(body, "{\"id\":");
    replies_put_id(body, post->id);
    buffer_format(body, ",\"user\":%" PRId64 "}", post->author);
}

/* Puts the posts of ids: null where there is none, false where another process has the partition; only the first ones, if they are very
 * long. */
static int put_posts(struct replies *replies, struct slow_reply *reply, size_t work, struct error *error) {
    struct buffer *body = &reply->body;
    int code = 0;
    for (size_t done = 0; reply->at < reply->id_count && body->size < BODY_MAX; reply->at++, done += POST_WORK) {
        int64_t id = reply->ids[reply->at];
        struct post_found post = {.found = false};
        int32_t its = ids_partition(id);
        bool served = !replies_serves(replies, its);
        if (done >= work) return 1;
        if (reply->at) buffer_byte(body, ',');
        if (served) code = posts_find(replies->options.posts, its, id, &post, error);
        bool live = !code && post.found && !post.deleted && (reply->hidden || !post.hidden);
        if (live) code = replies_put_post(replies, its, &post, body, error);
        if (code < 0) {
            reply->partition = its; // whose store failed
            return code;
        }
        if (!live)
            buffer_string(body, served ? "null" : "false");
        else if (!code)
            put_post_without_text(body, &post);
        code = 0;
    }
    buffer_string(body, "]}");
    return 0;
}

void replies_many(struct replies *replies, struct http_request *request, const struct rpc_asked *asked,
                  int (*go_on)(struct replies *replies, struct slow_reply *reply, size_t work, struct error *error)) {
    struct slow_reply reply = {
        .request = request, .partition = asked->partition, .hidden = asked->texts[RPC_HIDDEN], .go_on = go_on};
    reply.ids = mem_alloc(RPC_IDS_MAX * sizeof *reply.ids);
    if (text_numbers(asked->texts[RPC_IDS], reply.ids, RPC_IDS_MAX, &reply.id_count)) {
        buffer_string(&reply.body, "{\"items\":[");
        replies_slow(replies, &reply);
    } else {
        free(reply.ids);
        rpc_bad_query(request);
    }
}

void replies_posts(void *replies, struct http_request *request, const struct rpc_asked *asked) {
    replies_many(replies, request, asked, put_posts);
}

/* ---- posts of one author ---- */

/* Reads and puts some of the author's posts, from `before` on; `at` counts them. Very long ones fill an answer before the limit. */
static int put_written(struct replies *replies, struct slow_reply *reply, size_t work, struct error *error) {
    int64_t ids[SLICE_OF_POSTS], more;
    size_t count, want = work / POST_WORK, left = reply->limit - reply->at, most = PASSED_MAX - reply->passed;
    bool full = false;
    if (want > SLICE_OF_POSTS) want = SLICE_OF_POSTS;
    if (want > left) want = left;
    size_t may_pass = work < most ? work : most, pass = may_pass;
    int code = posts_of(replies->options.posts, reply->partition, reply->user, reply->above, reply->before,
                        reply->hidden, &pass, ids, want, &count, &more, error);
    for (size_t i = 0; code >= 0 && i < count; i++) {
        if ((full = reply->body.size >= BODY_MAX)) break;
        struct post_found post = {.found = true, .author = reply->user, .id = ids[i]};
        size_t size = reply->body.size;
        if (reply->hidden && (code = posts_find(replies->options.posts, reply->partition, ids[i], &post, error))) break;
        if (reply->any) buffer_byte(&reply->body, ',');
        code = replies_put_post(replies, reply->partition, &post, &reply->body, error);
        if (code == 1 && reply->edits && replies_put_former(replies, reply->partition, &post, &reply->body, error))
            return -EBADMSG;
        if (code == 1)
            reply->any = true;
        else
            reply->body.size = size; // its text was deleted, and the index is not read so far yet
        reply->before = ids[i];
        reply->at++;
    }
    if (code < 0) return code;
    reply->passed += may_pass - pass;
    if (more && !full) reply->before = more;
    if (more && !full && reply->at < reply->limit && reply->passed < PASSED_MAX) return 1;
    buffer_string(&reply->body, "],\"next\":");
    if (more || full)
        replies_put_id(&reply->body, reply->before);
    else
        buffer_string(&reply->body, "null");
    buffer_byte(&reply->body, '}');
    return 0;
}

void replies_written(void *replies, struct http_request *request, const struct rpc_asked *asked) {
    struct slow_reply reply = {
        .request = request,
        .partition = asked->partition,
        .user = asked->numbers[RPC_USER],
        .above = asked->numbers[RPC_ABOVE],
        .before = asked->numbers[RPC_BEFORE],
        .limit = (size_t)asked->numbers[RPC_LIMIT],
        .edits = asked->texts[RPC_EDITS],
        .hidden = asked->texts[RPC_EDITS],
        .go_on = put_written,
    };
    buffer_string(&reply.body, "{\"items\":[");
    replies_slow(replies, &reply);
}

/* ---- older posts of many authors ---- */

static int gather_older(struct replies *replies, struct slow_reply *reply, size_t work, struct error *error) {
    size_t count;
    int64_t cut;
    int code =
        newest_read(reply->newest, replies->options.posts, reply->partition, reply->ids, reply->id_count, &work, error);
    if (code) return code;
    const struct post_ref *posts = newest_posts(reply->newest, &count, &cut);
    buffer_string(&reply->body, "{\"posts\":[");
    for (size_t i = 0; i < count; i++) replies_put_ref(replies, &reply->body, posts[i].id, posts[i].author, i == 0);
    buffer_string(&reply->body, "]}");
    return 0;
}

static void keep_own(const struct replies *replies, int32_t partition, int64_t *authors, size_t *count) {
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++)
        if (hash_user_partition(authors[i], replies->options.partitions) == partition) authors[kept++] = authors[i];
    *count = kept;
}

void replies_older(void *replies, struct http_request *request, const struct rpc_asked *asked) {
    struct slow_reply reply = {.request = request, .partition = asked->partition, .go_on = gather_older};
    size_t limit = (size_t)asked->numbers[RPC_LIMIT];
    reply.ids = mem_alloc(MANY_AUTHORS * sizeof *reply.ids);
    if (!text_numbers(asked->texts[RPC_AUTHORS], reply.ids, MANY_AUTHORS, &reply.id_count)) {
        free(reply.ids);
        rpc_bad_query(request);
        return;
    }
    keep_own(replies, asked->partition, reply.ids, &reply.id_count);
    reply.newest = newest_new();
    newest_begin(reply.newest, &(struct newest_wish){.above = asked->numbers[RPC_ABOVE],
                                                     .before = asked->numbers[RPC_BEFORE],
                                                     .each = limit,
                                                     .most = limit});
    replies_slow(replies, &reply);
}
