/* Answers who may see posts. */
#include <errno.h>
#include <inttypes.h>

#include "base/hash.h"
#include "base/text.h"
#include "json/json.h"
#include "feed/replies_private.h"
#include "ids/ids.h"

/* The author whose posts are asked about: 1; 0: there is no such post; or a negative code. *hidden: nobody may see the post, whoever may see
 * others of its author. */
static int find_author(struct replies *replies, const struct rpc_asked *asked, int64_t *author, bool *hidden,
                       struct error *error) {
    struct post_found post;
    *hidden = false;
    *author = asked->numbers[RPC_USER];
    if (*author >= 0) return 1;
    int code = posts_find(replies->options.posts, asked->partition, asked->numbers[RPC_POST], &post, error);
    if (code || !post.found) return code;
    *author = post.author;
    *hidden = post.hidden;
    return 1;
}

static void put_users(struct buffer *body, const char *name, const int64_t *users, size_t count) {
    buffer_format(body, ",\"%s\":", name);
    json_put_ints(body, users, count);
    buffer_byte(body, '}');
}

static int put_audience(struct replies *replies, int32_t partition, int64_t author, int64_t *readers, size_t count,
                        struct error *error) {
    const struct audience *audience = &replies->options.audience;
    struct buffer *body = &replies->body;
    size_t seeing = 0;
    bool open, may;
    int code = audience_is_open(audience, partition, author, &open, &replies->but, error);
    if (code) return code;
    buffer_format(body, ",\"age_ms\":%" PRId64 ",\"everybody\":%s",
                  owner_age_ms(tasks_owner(replies->options.tasks), partition), open ? "true" : "false");
    if (open) {
        put_users(body, "but", replies->but.items, replies->but.count);
        return 0;
    }
    for (size_t i = 0; !code && i < count; i++) {
        code = audience_may_see(audience, partition, author, readers[i], &may, error);
        if (!code && may) readers[seeing++] = readers[i];
    }
    if (!code) put_users(body, "may", readers, seeing);
    return code;
}

/* Of a post whose author has moved to another partition, the owner that its id names only says who the author is: the author's owner has the
 * post, too. */
void replies_may(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct replies *replies = context;
    const char *text = asked->texts[RPC_READERS];
    int64_t readers[RPC_READERS_MAX], author;
    size_t count = 0;
    bool hidden;
    struct error error;
    if ((text && *text && !text_numbers(text, readers, RPC_READERS_MAX, &count)) ||
        (asked->numbers[RPC_USER] < 0) == (asked->numbers[RPC_POST] == 0)) {
        rpc_bad_query(request);
        return;
    }
    int code = find_author(replies, asked, &author, &hidden, &error);
    if (!code) {
        http_problem(request, 404, "not-found", "there is no such post", 0);
        return;
    }
    replies_start(replies, "");
    if (code > 0 && hidden) {
        code = 0;
        buffer_string(&replies->body, "{\"hidden\":true}");
    } else if (code > 0) {
        code = 0;
        buffer_format(&replies->body, "{\"user\":%" PRId64, author);
        if (hash_user_partition(author, replies->options.partitions) == asked->partition)
            code = put_audience(replies, asked->partition, author, readers, count, &error);
        else
            buffer_byte(&replies->body, '}');
    }
    if (code)
        replies_store_failed(replies, request, asked->partition, code, &error);
    else
        http_reply_json(request, 200, &replies->body);
}
