#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/topics.h"
#include "feed/answers_private.h"
#include "ids/ids.h"
#include "json/json.h"

int answers_refused(struct answers *answers, struct http_request *request, int32_t partition) {
    int code = partition < answers->options.partitions ? owner_serves(answers->options.owner, partition) : -ESTALE;
    if (code == -ESTALE)
        http_problem(request, 421, "not-the-owner", "another process owns this key", 0);
    else if (code)
        http_problem(request, 503, "restoring", "this key's state is being restored", 1);
    return code;
}

void answers_bad_query(struct http_request *request) {
    http_problem(request, 400, "bad-query", "a value is missing or out of range", 0);
}

void answers_store_failed(struct http_request *request, const struct error *error) {
    http_problem(request, 500, "store", error->text, 0);
}

int32_t answers_partition(const struct answers *answers, int64_t user) {
    return hash_user_partition(user, answers->options.partitions);
}

bool answers_limit(const struct http_request *request, int64_t *limit) {
    return http_query_number(request, "limit", ANSWERS_LIMIT_DEFAULT, ANSWERS_LIMIT_MAX, limit) && *limit >= 1;
}

void answers_reply(struct answers *answers, struct http_request *request) {
    http_reply_json(request, 200, &answers->body);
}

void answers_start(struct answers *answers, const char *text) {
    buffer_clear(&answers->body);
    buffer_string(&answers->body, text);
}

void answers_put_id(struct buffer *body, int64_t id) { buffer_format(body, "\"%" PRId64 "\"", id); }

void answers_put_refs(struct buffer *body, const struct inbox_post *posts, size_t count) {
    buffer_string(body, "\"posts\":[");
    for (size_t i = 0; i < count; i++) {
        buffer_string(body, i ? ",{\"id\":" : "{\"id\":");
        answers_put_id(body, posts[i].id);
        buffer_format(body, ",\"user\":%" PRId64 "}", posts[i].author);
    }
    buffer_byte(body, ']');
}

/* ---- users ---- */

static void user_counts(struct answers *answers, struct http_request *request, int64_t user) {
    const struct answers_options *options = &answers->options;
    int32_t partition = answers_partition(answers, user);
    size_t followers, following;
    int64_t count;
    struct error error;
    if (answers_refused(answers, request, partition)) return;
    int code = relation_lists_count(options->relations, partition, user, RELATION_FOLLOWER, &followers, &error);
    if (!code) code = relation_lists_count(options->relations, partition, user, RELATION_FOLLOWING, &following, &error);
    if (!code) code = posts_count(options->posts, partition, user, &count, &error);
    if (code) {
        answers_store_failed(request, &error);
        return;
    }
    answers_start(answers, "");
    buffer_format(&answers->body, "{\"followers\":%zu,\"following\":%zu,\"posts\":%" PRId64 "}", followers, following,
                  count);
    answers_reply(answers, request);
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
static int list_items(struct answers *answers, int32_t partition, int64_t user, enum relation relation, int64_t after,
                      size_t limit, int64_t *next, struct error *error) {
    struct id_list *ids = &answers->following;
    size_t put = 0;
    *next = -1;
    while (put < limit) {
        int code = relation_lists_slice(answers->options.relations, partition, user, relation, after, ids, error);
        if (code || !ids->count) return code;
        for (size_t i = 0; i < ids->count && put < limit; i++) {
            after = ids->items[i];
            buffer_format(&answers->body, "%s{\"user\":%" PRId64 "}", put++ ? "," : "", after);
        }
    }
    int code = relation_lists_slice(answers->options.relations, partition, user, relation, after, ids, error);
    if (!code && ids->count) *next = after;
    return code;
}

static void list(struct answers *answers, struct http_request *request, int64_t user) {
    int32_t partition = answers_partition(answers, user);
    enum relation relation;
    int64_t after, limit, next;
    size_t total;
    struct error error;
    if (!relation_of(request, &relation) || !answers_limit(request, &limit) ||
        !http_query_number(request, "after", -1, INT64_MAX, &after)) {
        answers_bad_query(request);
        return;
    }
    if (answers_refused(answers, request, partition)) return;
    answers_start(answers, "{\"items\":[");
    int code = list_items(answers, partition, user, relation, after, (size_t)limit, &next, &error);
    if (!code) code = relation_lists_count(answers->options.relations, partition, user, relation, &total, &error);
    if (code) {
        answers_store_failed(request, &error);
        return;
    }
    buffer_string(&answers->body, "],\"next\":");
    if (next < 0)
        buffer_string(&answers->body, "null");
    else
        buffer_format(&answers->body, "%" PRId64, next);
    buffer_format(&answers->body, ",\"total\":%zu}", total);
    answers_reply(answers, request);
}

/* ---- paths ---- */

struct question_path {
    const char *start;
    void (*of_user)(struct answers *answers, struct http_request *request, int64_t user);
    void (*of_partition)(struct answers *answers, struct http_request *request, int32_t partition);
};

static const struct question_path PATHS[] = {
    {"/peer/feed/", answers_feed, NULL},   {"/peer/older/", NULL, answers_older},
    {"/peer/posts/", NULL, answers_posts}, {"/peer/written/", answers_written, NULL},
    {"/peer/user/", user_counts, NULL},    {"/peer/list/", list, NULL},
};

static bool simple_question(struct answers *answers, struct http_request *request) {
    for (size_t i = 0; i < ARRAY_SIZE(PATHS); i++) {
        const char *at = http_path_behind(request, PATHS[i].start);
        int64_t number;
        if (!at || !http_path_number(&at, &number) || *at) continue;
        if (PATHS[i].of_user)
            PATHS[i].of_user(answers, request, number);
        else
            PATHS[i].of_partition(answers, request, number < INT32_MAX ? (int32_t)number : INT32_MAX);
        return true;
    }
    return false;
}

void answers_handle(struct answers *answers, struct http_request *request) {
    if (strcmp(http_method(request), "GET"))
        http_problem(request, 405, "method", "only GET is answered here", 0);
    else if (!simple_question(answers, request) && !answers_outcome(answers, request))
        http_problem(request, 404, "not-found", "there is no such question", 0);
}

struct answers *answers_new(const struct answers_options *options) {
    struct answers *answers = mem_alloc(sizeof *answers);
    *answers = (struct answers){
        .options = *options,
        .scratch = page_scratch_new(),
        .inbox = {.request = -1},
        .codec = codec_new(),
        .begun = map_new(),
    };
    return answers;
}

void answers_free(struct answers *answers) {
    if (!answers) return;
    answers_waiting_free(answers);
    page_scratch_free(answers->scratch);
    page_free(&answers->page);
    inbox_free(&answers->inbox);
    id_list_free(&answers->following);
    id_list_free(&answers->muted);
    codec_free(answers->codec);
    buffer_free(&answers->text);
    buffer_free(&answers->body);
    map_free(answers->begun);
    free(answers);
}
