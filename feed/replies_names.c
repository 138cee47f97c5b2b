#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "feed/replies_private.h"

/* ---- the user of a handle ---- */

static const char *handle_of(const struct http_request *request, char handle[HANDLE_SIZE]) {
    const char *text = http_query(request, "handle");
    return text && handle_read(text, strlen(text), handle) ? handle : NULL;
}

void replies_holder(struct replies *replies, struct http_request *request, int32_t partition) {
    const struct replies_options *options = &replies->options;
    char handle[HANDLE_SIZE];
    struct name_of_handle name;
    struct error error;
    if (!handle_of(request, handle) || handle_partition(handle, options->partitions) != partition) {
        replies_bad_query(request);
        return;
    }
    if (replies_refused(replies, request, partition)) return;
    int code = name_commands_holder(feed_commands_names(options->commands), partition, handle, &name, &error);
    if (code) {
        replies_store_failed(replies, request, partition, code, &error);
    } else if (name.user < 0) {
        http_problem(request, 404, "not-found", "nobody has this handle", 0);
    } else {
        replies_start(replies, "");
        buffer_format(&replies->body, "{\"user\":%" PRId64 "}", name.user);
        replies_reply(replies, request);
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
