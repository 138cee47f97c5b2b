#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "feed/replies_private.h"

enum { HANDLE_WORK = 10 /* reading a handle costs as much as so many moves within the store */ };

/* ---- the user of a handle ---- */

void replies_holder(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct replies *replies = context;
    const struct replies_options *options = &replies->options;
    const char *text = asked->texts[RPC_HANDLE];
    char handle[HANDLE_SIZE];
    struct name_of_handle name;
    struct error error;
    if (!handle_read(text, strlen(text), handle) || handle_partition(handle, options->partitions) != asked->partition) {
        rpc_bad_query(request);
        return;
    }
    int code = name_commands_holder(feed_commands_names(options->commands), asked->partition, handle, &name, &error);
    if (code) {
        replies_store_failed(replies, request, asked->partition, code, &error);
    } else if (name.user < 0) {
        http_problem(request, 404, "not-found", "nobody has this handle", 0);
    } else {
        replies_start(replies, "");
        buffer_format(&replies->body, "{\"user\":%" PRId64 "}", name.user);
        http_reply_json(request, 200, &replies->body);
    }
}

/* ---- a user's own ---- */

int replies_put_handle(struct replies *replies, int32_t partition, int64_t user, struct buffer *body,
                       struct error *error) {
    struct name_of_user name;
    int code = names_of_user(replies->options.names, partition, user, &name, error);
    if (!code && name.handle[0]) buffer_format(body, ",\"handle\":\"%s\"", name.handle);
    return code;
}

/* Puts the handles of users: null where there is none, false where another process has the partition. */
static int put_handles(struct replies *replies, struct slow_reply *reply, size_t work, struct error *error) {
    struct buffer *body = &reply->body;
    for (size_t done = 0; reply->at < reply->id_count; reply->at++, done += HANDLE_WORK) {
        int64_t user = reply->ids[reply->at];
        int32_t its = hash_user_partition(user, replies->options.partitions);
        bool served = !replies_serves(replies, its);
        struct name_of_user name = {.handle = ""};
        if (done >= work) return 1;
        int code = served ? names_of_user(replies->options.names, its, user, &name, error) : 0;
        if (code) {
            reply->partition = its; // whose store failed
            return code;
        }
        if (reply->at) buffer_byte(body, ',');
        if (name.handle[0])
            buffer_format(body, "\"%s\"", name.handle);
        else
            buffer_string(body, served ? "null" : "false");
    }
    buffer_string(body, "]}");
    return 0;
}

void replies_handles(void *replies, struct http_request *request, const struct rpc_asked *asked) {
    replies_many(replies, request, asked, put_handles);
}

int replies_wish(struct replies *replies, int32_t partition, int64_t user, const char *handle, struct buffer *body,
                 struct error *error) {
    struct name_of_user name;
    int code = names_of_user(replies->options.names, partition, user, &name, error);
    if (code) return code;
    if (strcmp(name.wish, handle) == 0) return -EAGAIN;
    const char *state = strcmp(name.handle, handle) == 0    ? "granted"
                        : strcmp(name.refused, handle) == 0 ? "taken"
                                                            : "overtaken";
    buffer_format(body, "{\"state\":\"%s\"}", state);
    return 1;
}
