#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/topics.h"
#include "feed/replies_private.h"
#include "ids/ids.h"
#include "json/json.h"

bool replies_serves(const struct replies *replies, int32_t partition) {
    return !tasks_serves(replies->options.tasks, partition);
}

int replies_refused(struct replies *replies, struct http_request *request, int32_t partition) {
    int code = tasks_serves(replies->options.tasks, partition);
    if (code == -ESTALE)
        http_problem(request, 421, "not-the-owner", "another process owns this key", 0);
    else if (code)
        http_problem(request, 503, "restoring", "this key's state is being restored", 1);
    return code;
}

void replies_bad_query(struct http_request *request) {
    http_problem(request, 400, "bad-query", "a value is missing or out of range", 0);
}

void replies_store_failed(struct replies *replies, struct http_request *request, int32_t partition, int code,
                          const struct error *error) {
    if (code == -EBADMSG) {
        tasks_damaged(replies->options.tasks, partition, code, error);
        http_problem(request, 503, "restoring", "this key's state is being restored", 1);
        return;
    }
    http_problem(request, 500, "store", error->text, 0);
}

int32_t replies_partition(const struct replies *replies, int64_t user) {
    return hash_user_partition(user, replies->options.partitions);
}

bool replies_limit(const struct http_request *request, int64_t *limit) {
    return http_query_number(request, "limit", REPLIES_LIMIT_DEFAULT, REPLIES_LIMIT_MAX, limit) && *limit >= 1;
}

void replies_reply(struct replies *replies, struct http_request *request) {
    http_reply_json(request, 200, &replies->body);
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

void replies_put_ref(struct buffer *body, int64_t id, int64_t author, bool first) {
    buffer_string(body, first ? "{\"id\":" : ",{\"id\":");
    replies_put_id(body, id);
    buffer_string(body, ",\"user\":");
    text_int(body, author);
    buffer_byte(body, '}');
}

void replies_put_refs(struct buffer *body, const struct inbox_post *posts, size_t count) {
    buffer_string(body, "\"posts\":[");
    for (size_t i = 0; i < count; i++) replies_put_ref(body, posts[i].id, posts[i].author, i == 0);
    buffer_byte(body, ']');
}

/* ---- users ---- */

static void user_counts(struct replies *replies, struct http_request *request, int64_t user) {
    const struct replies_options *options = &replies->options;
    int32_t partition = replies_partition(replies, user);
    size_t followers, following;
    int64_t count;
    struct error error;
    if (replies_refused(replies, request, partition)) return;
    int code = relation_lists_count(options->relations, partition, user, RELATION_FOLLOWER, &followers, &error);
    if (!code) code = relation_lists_count(options->relations, partition, user, RELATION_FOLLOWING, &following, &error);
    if (!code) code = posts_count(options->posts, partition, user, &count, &error);
    replies_start(replies, "");
    if (!code) {
        buffer_format(&replies->body, "{\"followers\":%zu,\"following\":%zu,\"posts\":%" PRId64, followers, following,
                      count);
        code = replies_put_handle(replies, partition, user, &replies->body, &error);
    }
    if (code) {
        replies_store_failed(replies, request, partition, code, &error);
        return;
    }
    buffer_byte(&replies->body, '}');
    replies_reply(replies, request);
}

static bool relation_of(const struct http_request *request, enum relation *relation) {
    static const char *const NAMES[] = {"", "following", "followers", "muted"};
    const char *name = http_query(request, "relation");
    for (int i = RELATION_FOLLOWING; name && i <= RELATION_MUTED; i++) {
        if (strcmp(name, NAMES[i])) continue;
        *relation = (enum relation)i;
        return true;
    }
    return false;
}

/* Ids lie together in slices: a page may need several, and the end of one is no end of the list. */
static int list_items(struct replies *replies, int32_t partition, int64_t user, enum relation relation, int64_t after,
                      size_t limit, int64_t *next, struct error *error) {
    struct id_list *ids = &replies->ids;
    size_t put = 0;
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

static void list(struct replies *replies, struct http_request *request, int64_t user) {
    int32_t partition = replies_partition(replies, user);
    enum relation relation;
    int64_t after, limit, next;
    size_t total;
    struct error error;
    if (!relation_of(request, &relation) || !replies_limit(request, &limit) ||
        !http_query_number(request, "after", -1, INT64_MAX, &after)) {
        replies_bad_query(request);
        return;
    }
    if (replies_refused(replies, request, partition)) return;
    replies_start(replies, "{\"items\":[");
    int code = list_items(replies, partition, user, relation, after, (size_t)limit, &next, &error);
    if (!code) code = relation_lists_count(replies->options.relations, partition, user, relation, &total, &error);
    if (code) {
        replies_store_failed(replies, request, partition, code, &error);
        return;
    }
    buffer_string(&replies->body, "],\"next\":");
    if (next < 0)
        buffer_string(&replies->body, "null");
    else
        buffer_format(&replies->body, "%" PRId64, next);
    buffer_format(&replies->body, ",\"total\":%zu}", total);
    replies_reply(replies, request);
}

/* ---- paths ---- */

struct question_path {
    const char *start;
    void (*of_user)(struct replies *replies, struct http_request *request, int64_t user);
    void (*of_partition)(struct replies *replies, struct http_request *request, int32_t partition);
};

static const struct question_path PATHS[] = {
    {"/peer/feed/", replies_feed, NULL},     {"/peer/older/", NULL, replies_older},
    {"/peer/posts/", NULL, replies_posts},   {"/peer/written/", replies_written, NULL},
    {"/peer/user/", user_counts, NULL},      {"/peer/list/", list, NULL},
    {"/peer/handle/", NULL, replies_holder}, {"/peer/notices/", replies_notices, NULL},
};

static bool simple_question(struct replies *replies, struct http_request *request) {
    for (size_t i = 0; i < ARRAY_SIZE(PATHS); i++) {
        const char *at = http_path_behind(request, PATHS[i].start);
        int64_t number;
        if (!at || !http_path_number(&at, &number) || *at) continue;
        if (PATHS[i].of_user)
            PATHS[i].of_user(replies, request, number);
        else
            PATHS[i].of_partition(replies, request, number < INT32_MAX ? (int32_t)number : INT32_MAX);
        return true;
    }
    return false;
}

void replies_handle(struct replies *replies, struct http_request *request) {
    if (strcmp(http_method(request), "GET"))
        http_problem(request, 405, "method", "only GET is answered here", 0);
    else if (!simple_question(replies, request) && !replies_outcome(replies, request))
        http_problem(request, 404, "not-found", "there is no such question", 0);
}

struct replies *replies_new(const struct replies_options *options) {
    struct replies *replies = mem_alloc(sizeof *replies);
    *replies = (struct replies){
        .options = *options,
        .codec = codec_new(),
    };
    replies_slow_new(replies);
    return replies;
}

void replies_free(struct replies *replies) {
    if (!replies) return;
    replies_waiting_free(replies);
    replies_slow_free(replies);
    id_list_free(&replies->ids);
    codec_free(replies->codec);
    buffer_free(&replies->text);
    buffer_free(&replies->body);
    free(replies);
}
