#include "ingest/feed/home.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "ids/ids.h"
#include "ingest/gather.h"
#include "ingest/feed/older.h"
#include "ingest/feed/parts.h"
#include "posts/post_json.h"
#include "ingest/feed/refs.h"

enum { HOME_TIMEOUT_MS = 950, OLDER_TIMEOUT_MS = 700, POSTS_TIMEOUT_MS = 500 };
enum { LIMIT_MAX = 1000, LIMIT_DEFAULT = 20, SPARE = 5 };

struct home_request {
    struct feed_gateway *gateway;
    struct http_request *request;
    int64_t user, before;     /* before: INT64_MAX: the first page */
    size_t limit, wanted;     /* wanted: ids */
    size_t questions;         /* for posts so far */
    bool complete, elsewhere; /* elsewhere: some posts must be asked for once more */
    char version[33];         /* of the newest page, as the owner says it */
    struct page_refs refs;
};

static void home_free(struct home_request *home) {
    page_refs_free(&home->refs);
    free(home);
}

/* ---- the page ---- */

static size_t refs_shown(const struct home_request *home) {
    size_t most = home->limit + SPARE;
    return home->refs.count < most ? home->refs.count : most;
}

/* Appends the item, unless the post is gone. */
static bool put_item(const struct home_request *home, const struct page_ref *ref, bool first, struct buffer *body) {
    if (ref->state == REF_GONE) return false;
    if (!first) buffer_byte(body, ',');
    if (ref->state == REF_UNKNOWN || !post_put(body, ref->post, user_copies_profiles(home->gateway->copies)))
        post_put_unavailable(body, ref->id, ref->user);
    return true;
}

/* Whether posts may lie behind those that were looked at. */
static bool may_be_more(const struct home_request *home, size_t looked_at) {
    for (size_t i = looked_at; i < home->refs.count; i++) {
        if (home->refs.items[i].state != REF_GONE) return true;
    }
    return home->refs.count >= home->wanted || !home->complete;
}

static void put_next(const struct home_request *home, size_t looked_at, struct buffer *body) {
    buffer_string(body, "],\"next\":");
    int64_t last = looked_at ? home->refs.items[looked_at - 1].id : home->before;
    if (may_be_more(home, looked_at) && last < INT64_MAX)
        buffer_format(body, "\"%" PRId64 "\"", last);
    else
        buffer_string(body, "null");
}

static void reply_page(const struct home_request *home) {
    struct buffer body = {0};
    size_t put = 0, looked_at = 0;
    buffer_string(&body, "{\"items\":[");
    while (looked_at < refs_shown(home) && put < home->limit && home->refs.items[looked_at].state != REF_LATER)
        put += put_item(home, &home->refs.items[looked_at++], !put, &body);
    put_next(home, looked_at, &body);
    buffer_format(&body, ",\"complete\":%s,\"version\":\"%s\"}", home->complete ? "true" : "false", home->version);
    http_reply_json(home->request, 200, &body);
    buffer_free(&body);
}

/* ---- posts ---- */

static void posts_answered(void *context, size_t tag, const json_t *reply) {
    struct home_request *home = context;
    if (page_refs_answer(&home->refs, tag, json_object_get(reply, "items"))) home->elsewhere = true;
}

static void ask_for_posts(struct home_request *home);

static void posts_done(void *context, bool stopping) {
    struct home_request *home = context;
    if (home->elsewhere && !stopping) { // a partition has another owner than the gateway believed
        ask_for_posts(home);
        return;
    }
    reply_page(home);
    home_free(home);
}

static void ask_for_posts(struct home_request *home) {
    struct gather *gather = gather_new(&(struct gather_options){
        .owners = home->gateway->owners,
        .timeout_ms = POSTS_TIMEOUT_MS,
        .context = home,
        .answer = posts_answered,
        .done = posts_done,
    });
    struct buffer ids = {0};
    const int32_t *lowest = peers_lowest(home->gateway->owners);
    int32_t partition;
    home->elsewhere = false;
    while (page_refs_ask(&home->refs, refs_shown(home), home->questions + 1, home->gateway->partitions, lowest,
                         &partition, &ids)) {
        char *path = mem_format("/peer/posts/%d?ids=%s", (int)partition, buffer_cstring(&ids));
        gather_ask(gather, partition, path, ++home->questions);
        free(path);
        buffer_clear(&ids);
    }
    buffer_free(&ids);
    gather_end(gather);
}

/* ---- older ids ---- */

static void older_answered(void *context, size_t tag, const json_t *reply) {
    struct home_request *home = context;
    (void)tag;
    if (page_refs_read(&home->refs, json_object_get(reply, "posts")))
        page_refs_merge(&home->refs, home->wanted);
    else
        home->complete = false;
}

static void older_done(void *context, bool stopping) {
    struct home_request *home = context;
    if (!stopping) {
        ask_for_posts(home);
        return;
    }
    feed_owner_away(home->request);
    home_free(home);
}

/* The first answer has everything above the horizon. */
static void ask_for_older(struct home_request *home, int64_t horizon, const json_t *following) {
    struct older_questions questions;
    int64_t before = horizon < home->before ? horizon + 1 : home->before;
    struct gather *gather = gather_new(&(struct gather_options){
        .owners = home->gateway->owners,
        .timeout_ms = OLDER_TIMEOUT_MS,
        .context = home,
        .answer = older_answered,
        .done = older_done,
    });
    older_questions_new(&questions, following, home->gateway->partitions, before, home->wanted - home->refs.count);
    for (size_t i = 0; i < questions.count; i++)
        gather_ask(gather, questions.items[i].partition, questions.items[i].path, i);
    older_questions_free(&questions);
    gather_end(gather);
}

/* ---- the reader's owner ---- */

/* Only the newest page has a version. */
static bool read_version(struct home_request *home, const json_t *reply) {
    const char *text;
    if (home->before != INT64_MAX) return true;
    if (json_want_text(reply, "version", &text, NULL) || strlen(text) >= sizeof home->version) return false;
    strcpy(home->version, text);
    return true;
}

static bool read_answer(struct home_request *home, const json_t *reply, int64_t *horizon) {
    const char *text;
    if (json_want_bool(reply, "complete", &home->complete, NULL) ||
        !page_refs_read(&home->refs, json_object_get(reply, "posts")) || !read_version(home, reply) ||
        json_want_text(reply, "horizon", &text, NULL))
        return false;
    *horizon = 0;
    page_refs_merge(&home->refs, home->wanted);
    return strcmp(text, "0") == 0 || ids_parse(text, strlen(text), horizon);
}

static void answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct home_request *home = context;
    int64_t horizon;
    json_t *reply = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    if (!reply || !read_answer(home, reply, &horizon)) {
        feed_owner_away(home->request);
        home_free(home);
    } else if (home->complete && json_array_size(json_object_get(reply, "following")) &&
               home->refs.count < home->wanted) {
        ask_for_older(home, horizon, json_object_get(reply, "following"));
    } else {
        ask_for_posts(home);
    }
    json_decref(reply);
}

static void get_feed(void *state, const struct call *call) {
    struct feed_gateway *gateway = state;
    int64_t after = INT64_MAX, limit = LIMIT_DEFAULT;
    if (!call_query_id(call, "after", &after) || !call_query_range(call, "limit", 1, LIMIT_MAX, &limit)) return;
    struct home_request *home = mem_alloc(sizeof *home);
    *home = (struct home_request){
        .gateway = gateway,
        .request = call->request,
        .user = call->claims.user,
        .before = after,
        .limit = (size_t)limit,
        .wanted = (size_t)limit + SPARE,
    };
    char *path = mem_format("/peer/feed/%" PRId64 "?before=%" PRId64 "&limit=%zu", home->user, after, home->wanted);
    peers_fetch(gateway->owners, peers_of_user(gateway->owners, home->user), path, HOME_TIMEOUT_MS, answered, home);
    free(path);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/feed", get_feed, NEEDS_USER},
};
const struct endpoint_list HOME_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
