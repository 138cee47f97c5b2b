#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "event/topics.h"
#include "feed/edited.h"
#include "feed/replies_private.h"
#include "json/json.h"
#include "users/notice.h"

int replies_serves(const void *of, int32_t partition) {
    const struct replies *replies = of;
    return tasks_serves(replies->options.tasks, partition);
}

void replies_store_failed(struct replies *replies, struct http_request *request, int32_t partition, int code,
                          const struct error *error) {
    if (code == -EBADMSG) tasks_damaged(replies->options.tasks, partition, code, error);
    rpc_failed(request, code, error);
}

void replies_start(struct replies *replies, const char *text) {
    buffer_clear(&replies->body);
    buffer_string(&replies->body, text);
}

void replies_put_id(struct buffer *body, int64_t id) {
    buffer_byte(body, '"');
    text_int(body, id);
    buffer_byte(body, '"');
}

void replies_put_ref(const struct replies *replies, struct buffer *body, int64_t id, int64_t author, bool first) {
    int64_t version = edited_version(replies->options.edited, id);
    buffer_string(body, first ? "{\"id\":" : ",{\"id\":");
    replies_put_id(body, id);
    buffer_string(body, ",\"user\":");
    text_int(body, author);
    if (version > 1) buffer_format(body, ",\"version\":%" PRId64, version);
    buffer_byte(body, '}');
}

void replies_put_refs(struct replies *replies, const struct inbox_post *posts, size_t count) {
    struct buffer *body = &replies->body;
    buffer_string(body, "\"posts\":[");
    for (size_t i = 0; i < count; i++) replies_put_ref(replies, body, posts[i].id, posts[i].author, i == 0);
    buffer_byte(body, ']');
}

/* ---- users ---- */

static void user_counts(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct replies *replies = context;
    const struct replies_options *options = &replies->options;
    int32_t partition = asked->partition;
    size_t followers, following, requesting;
    int64_t count, user = asked->numbers[RPC_USER];
    struct error error;
    int code = relation_lists_count(options->relations, partition, user, RELATION_FOLLOWER, &followers, &error);
    if (!code) code = relation_lists_count(options->relations, partition, user, RELATION_FOLLOWING, &following, &error);
    if (!code)
        code = relation_lists_count(options->relations, partition, user, RELATION_REQUESTING, &requesting, &error);
    if (!code) code = posts_count(options->posts, partition, user, &count, &error);
    replies_start(replies, "");
    if (!code) {
        struct notice_settings settings;
        bool for_followers;
        buffer_format(&replies->body, "{\"followers\":%zu,\"following\":%zu,\"requesting\":%zu,\"posts\":%" PRId64,
                      followers, following, requesting, count);
        code = visibility_is_for_followers(options->audience.visibility, partition, user, &for_followers, &error);
        if (!code) buffer_format(&replies->body, ",\"visibility\":\"%s\"", for_followers ? "followers" : "everybody");
        if (!code) code = notice_settings_of(options->notices->settings, partition, user, &settings, &error);
        if (!code) buffer_string(&replies->body, ",\"notices\":{");
        if (!code) notice_settings_put(&replies->body, &settings);
        if (!code) buffer_byte(&replies->body, '}');
        if (!code) code = replies_put_handle(replies, partition, user, &replies->body, &error);
    }
    if (code) {
        replies_store_failed(replies, request, partition, code, &error);
        return;
    }
    buffer_byte(&replies->body, '}');
    http_reply_json(request, 200, &replies->body);
}

/* Ids lie together in slices: a page may need several, and the end of one is no end of the list. */
static int list_items(struct replies *replies, const struct rpc_asked *asked, enum relation relation, int64_t *next,
                      struct error *error) {
    struct id_list *ids = &replies->ids;
    int64_t user = asked->numbers[RPC_USER], after = asked->numbers[RPC_AFTER];
    size_t put = 0, limit = (size_t)asked->numbers[RPC_LIMIT];
    int32_t partition = asked->partition;
    *next = -1;
    while (put < limit) {
        int code = relation_lists_slice(replies->options.relations, partition, user, relation, after, ids, error);
        if (code || !ids->count) return code;
        for (size_t i = 0; i < ids->count && put < limit; i++) {
            after = ids->items[i];
            buffer_format(&replies->body, "%s{\"user\":%" PRId64 "}", put++ ? "," : "", after);
        }
    }
    int code = relation_lists_slice(replies->options.relations, partition, user, relation, after, ids, error);
    if (!code && ids->count) *next = after;
    return code;
}

static int list_page(struct replies *replies, const struct rpc_asked *asked, enum relation relation,
                     struct error *error) {
    int64_t next;
    size_t total;
    int code = list_items(replies, asked, relation, &next, error);
    if (!code)
        code = relation_lists_count(replies->options.relations, asked->partition, asked->numbers[RPC_USER], relation,
                                    &total, error);
    if (code) return code;
    buffer_string(&replies->body, "],\"next\":");
    if (next < 0)
        buffer_string(&replies->body, "null");
    else
        buffer_format(&replies->body, "%" PRId64, next);
    buffer_format(&replies->body, ",\"total\":%zu}", total);
    return 0;
}

/* Of these ids, which rise, those that the list has: each of its chunks is read once at most. */
static int list_known(struct replies *replies, const struct rpc_asked *asked, enum relation relation,
                      const int64_t *known, size_t count, struct error *error) {
    struct id_list *ids = &replies->ids;
    size_t put = 0, at;
    ids->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!i || (ids->count && ids->items[ids->count - 1] < known[i])) {
            int code = relation_lists_slice(replies->options.relations, asked->partition, asked->numbers[RPC_USER],
                                            relation, known[i] - 1, ids, error);
            if (code) return code;
        }
        if (id_list_find(ids, known[i], &at))
            buffer_format(&replies->body, "%s{\"user\":%" PRId64 "}", put++ ? "," : "", known[i]);
    }
    buffer_string(&replies->body, "]}");
    return 0;
}

static void list(void *context, struct http_request *request, const struct rpc_asked *asked) {
    static const char *const RELATIONS[] = {"",          "following",  "followers", "muted",
                                            "requested", "requesting", NULL}; // of enum relation
    struct replies *replies = context;
    int relation = text_word(asked->texts[RPC_RELATION], RELATIONS);
    const char *text = asked->texts[RPC_IDS];
    int64_t known[RPC_KNOWN_MAX];
    size_t count;
    struct error error;
    if (relation < 0 || (text && *text && !text_numbers(text, known, RPC_KNOWN_MAX, &count))) {
        rpc_bad_query(request);
        return;
    }
    replies_start(replies, "{\"items\":[");
    int code = text && *text ? list_known(replies, asked, (enum relation)relation, known, count, &error)
                             : list_page(replies, asked, (enum relation)relation, &error);
    if (code)
        replies_store_failed(replies, request, asked->partition, code, &error);
    else
        http_reply_json(request, 200, &replies->body);
}

/* ---- devices ---- */

static void put_device(struct buffer *body, const struct device_row *row, bool with_run, bool current) {
    buffer_string(body, "{\"id\":");
    replies_put_id(body, row->session);
    buffer_string(body, ",\"device\":");
    if (row->size)
        json_put_text(body, row->name, row->size);
    else
        buffer_string(body, "null");
    json_member_int(body, ",\"since\":", row->since);
    if (with_run) buffer_string(body, ",\"run\":");
    if (with_run) replies_put_id(body, row->run);
    buffer_string(body, current ? ",\"current\":true}" : "}");
}

static void devices_page(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct replies *replies = context;
    bool all = asked->texts[RPC_HIDDEN] != NULL;
    struct device_row rows[DEVICES_SHOWN];
    size_t count;
    struct error error;
    int code = device_store_of(replies->options.devices, asked->partition, asked->numbers[RPC_USER], all, rows, &count,
                               &error);
    if (code) {
        replies_store_failed(replies, request, asked->partition, code, &error);
        return;
    }
    replies_start(replies, "{\"items\":[");
    for (size_t i = 0; i < count; i++) {
        if (i) buffer_byte(&replies->body, ',');
        put_device(&replies->body, &rows[i], all, rows[i].session == asked->numbers[RPC_SESSION]);
    }
    buffer_string(&replies->body, "],\"next\":null}");
    http_reply_json(request, 200, &replies->body);
}

/* ---- questions ---- */

static const struct rpc_handler HANDLERS[] = {
    {&ASK_FEED, replies_feed, false},        {&ASK_OLDER, replies_older, false},
    {&ASK_POSTS, replies_posts, false},      {&ASK_WRITTEN, replies_written, false},
    {&ASK_USER, user_counts, false},         {&ASK_LIST, list, false},
    {&ASK_HANDLE, replies_holder, false},    {&ASK_HANDLES, replies_handles, false},
    {&ASK_NOTICES, replies_notices, false},  {&ASK_RELATION, replies_outcome, false},
    {&ASK_POSTED, replies_outcome, false},   {&ASK_GONE, replies_outcome, false},
    {&ASK_FOLLOWER, replies_outcome, false}, {&ASK_VISIBILITY, replies_outcome, false},
    {&ASK_MAY, replies_may, false},          {&ASK_EDITED, replies_outcome, false},
    {&ASK_POST_EDITS, replies_edits, false}, {&ASK_WISH, replies_outcome, false},
    {&ASK_UNNAMED, replies_outcome, false},  {&ASK_MODERATED, replies_outcome, false},
    {&ASK_NOTICED, replies_outcome, false},  {&ASK_SIGNED_IN, replies_signed_in, false},
    {&ASK_EXTERNAL, replies_outcome, false}, {&ASK_DEVICES, devices_page, false},
};

void replies_handle(struct replies *replies, struct http_request *request) {
    static const struct rpc_server SERVER = {HANDLERS, ARRAY_SIZE(HANDLERS), replies_serves};
    rpc_serve(&SERVER, replies, replies->options.partitions, request);
}

struct replies *replies_new(const struct replies_options *options) {
    struct replies *replies = MEM_NEW(&(struct replies){
        .options = *options,
        .codec = codec_new(),
    });
    replies_slow_new(replies);
    return replies;
}

void replies_free(struct replies *replies) {
    if (!replies) return;
    replies_waiting_free(replies);
    replies_slow_free(replies);
    id_list_free(&replies->ids);
    id_list_free(&replies->but);
    codec_free(replies->codec);
    buffer_free(&replies->text);
    buffer_free(&replies->body);
    free(replies);
}
