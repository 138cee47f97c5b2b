#include "ingest/feed/users.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "base/text.h"
#include "ids/ids.h"
#include "ingest/feed/follower_wish.h"
#include "posts/post_json.h"
#include "ingest/limits.h"
#include "ingest/user_lists.h"
#include "json/json.h"
#include "users/handle.h"
#include "users/user_json.h"

enum { PEER_TIMEOUT_MS = 3000, FOLLOW_WAIT_MS = 500, LIMIT_MAX = 1000, LIMIT_DEFAULT = 20, IDS_MAX = 100 };

/* ---- profile and counts ---- */

/* A request about a user, while the user's owner is asked; about posts, then also how many comments and likes they have. */
struct user_request {
    struct feed_gateway *gateway;
    struct http_request *request;
    int64_t user;
    char handle[HANDLE_SIZE]; /* by which the user was found; empty: by the id */
    int64_t reader;           /* -1: a token of nobody in particular */
    size_t waiting;           /* for answers about a user */
    json_t *counts;           /* of a user, and how the reader follows him; NULL: not known */
    const char *follow;       /* as JSON */
    struct id_range range;    /* of posts */
    int64_t limit;
    json_t *page; /* of posts */
};

static void put_counts(struct buffer *body, const json_t *counts) {
    int64_t followers, following, posts;
    if (json_want_int(counts, "followers", 0, INT64_MAX, &followers, NULL) ||
        json_want_int(counts, "following", 0, INT64_MAX, &following, NULL) ||
        json_want_int(counts, "posts", 0, INT64_MAX, &posts, NULL))
        return;
    buffer_format(body, ",\"followers\":%" PRId64 ",\"following\":%" PRId64 ",\"posts\":%" PRId64, followers, following,
                  posts);
}

static const char *handle_of(const json_t *counts) {
    const char *handle = json_string_value(json_object_get(counts, "handle"));
    return handle ? handle : "";
}

static void put_handle(struct buffer *body, const json_t *counts) {
    const char *handle = handle_of(counts);
    if (!*handle) return;
    buffer_string(body, ",\"handle\":");
    json_put_text(body, handle, strlen(handle));
}

static void reply_user(const struct user_request *asked) {
    const json_t *counts = asked->counts;
    struct buffer body = {0};
    buffer_byte(&body, '{');
    user_json_find_whole(&body, asked->user, user_copies_profiles(asked->gateway->copies));
    if (counts) {
        put_handle(&body, counts);
        put_counts(&body, counts);
    }
    if (asked->follow) buffer_format(&body, ",\"follow\":%s", asked->follow);
    buffer_byte(&body, '}');
    http_reply_tagged(asked->request, &body);
    buffer_free(&body);
}

void users_none(struct http_request *request) { http_problem(request, 404, "no_handle", "nobody has this handle", 0); }

static void settle_user(struct user_request *asked) {
    if (--asked->waiting) return;
    if (asked->handle[0] && !asked->counts)
        feed_owner_away(asked->request);
    else if (asked->handle[0] && strcmp(asked->handle, handle_of(asked->counts)) != 0)
        users_none(asked->request);
    else
        reply_user(asked);
    json_decref(asked->counts);
    free(asked);
}

static void counted(void *context, int code, unsigned status, const char *text, size_t size) {
    struct user_request *asked = context;
    asked->counts = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    settle_user(asked);
}

static void follow_answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct user_request *asked = context;
    json_t *reply = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    struct follower_state state;
    if (follower_state_read(reply, &state)) asked->follow = follower_word(&state);
    json_decref(reply);
    settle_user(asked);
}

/* The user's owner knows the user's followers, and no copy does. */
static void ask_follow(struct user_request *asked) {
    if (asked->reader < 0 || asked->reader == asked->user) return;
    asked->waiting++;
    rpc_ask(asked->gateway->owners, &ASK_FOLLOWER,
            RPC_VALUES(RPC_INT(USER, asked->user), RPC_INT(OTHER, asked->reader), RPC_INT(WAIT_MS, FOLLOW_WAIT_MS)),
            PEER_TIMEOUT_MS, follow_answered, asked);
}

static struct user_request *asked_new(struct feed_gateway *gateway, struct http_request *request, int64_t user) {
    struct user_request *asked = mem_alloc(sizeof *asked);
    *asked = (struct user_request){.gateway = gateway, .request = request, .user = user};
    return asked;
}

void users_show(struct feed_gateway *gateway, struct http_request *request, int64_t reader, int64_t user,
                const char *handle) {
    struct user_request *asked = asked_new(gateway, request, user);
    const struct rpc_value *values = RPC_VALUES(RPC_INT(USER, user));
    asked->reader = reader;
    asked->waiting = 1;
    ask_follow(asked);
    if (!handle) {
        shared_answers_ask(gateway->shared, SHARED_USER, user, &ASK_USER, values, counted, asked);
        return;
    }
    snprintf(asked->handle, sizeof asked->handle, "%s", handle);
    rpc_ask(gateway->owners, &ASK_USER, values, PEER_TIMEOUT_MS, counted, asked);
}

static void get_user(void *state, const struct call *call) {
    users_show(state, call->request, call->claims.user, call->values[0].user, NULL);
}

/* ---- posts ---- */

static bool put_posts(struct buffer *body, const json_t *page, const struct feed_gateway *gateway, int64_t reader) {
    const json_t *items = json_object_get(page, "items");
    if (!json_is_array(items)) return false;
    buffer_string(body, "{\"items\":[");
    for (size_t i = 0; i < json_array_size(items); i++) {
        if (i) buffer_byte(body, ',');
        const json_t *post = json_array_get(items, i);
        if (!post_put(body, post, gateway->sights, reader, user_copies_profiles(gateway->copies))) return false;
        comment_counts_put(gateway->counts, post_id(post), reader, body);
    }
    buffer_byte(body, ']');
    bool good = json_copy_text(body, page, "next");
    buffer_byte(body, '}');
    return good;
}

static void refuse_posts(struct http_request *request, enum sight_answer answer) {
    if (answer == SIGHT_AWAY)
        feed_owner_away(request);
    else // a block is never told: it looks as if only followers saw the posts
        http_problem(request, 403, "followers_only", "only followers see the posts of this user", 0);
}

/* The permission that the reader had at first may be over by now. */
static void posts_seen_at_last(void *context, enum sight_answer answer) {
    struct user_request *asked = context;
    struct buffer body = {0};
    if (answer != SIGHT_YES)
        refuse_posts(asked->request, answer);
    else if (asked->page && put_posts(&body, asked->page, asked->gateway, asked->reader))
        http_reply_json(asked->request, 200, &body);
    else
        feed_owner_away(asked->request);
    buffer_free(&body);
    json_decref(asked->page);
    free(asked);
}

static void ask_posts_sight(struct user_request *asked, void (*done)(void *context, enum sight_answer answer)) {
    sights_ask(asked->gateway->sights,
               &(struct sights_wish){.reader = asked->reader, .author = asked->user, .context = asked, .done = done});
}

static void posts_counted(void *context) { ask_posts_sight(context, posts_seen_at_last); }

static void listed(void *context, int code, unsigned status, const char *text, size_t size) {
    struct user_request *asked = context;
    asked->page = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    const json_t *items = json_object_get(asked->page, "items");
    int64_t *ids = mem_alloc((json_array_size(items) + 1) * sizeof *ids);
    for (size_t i = 0; i < json_array_size(items); i++) ids[i] = post_id(json_array_get(items, i));
    comment_counts_ask(asked->gateway->counts, ids, json_array_size(items), asked->reader, asked, posts_counted);
    free(ids);
}

static void reply_no_posts(struct http_request *request) {
    struct buffer body = {0};
    buffer_string(&body, "{\"items\":[],\"next\":null}");
    http_reply_json(request, 200, &body);
    buffer_free(&body);
}

static void posts_sight_answered(void *context, enum sight_answer answer) {
    struct user_request *asked = context;
    if (answer == SIGHT_YES) {
        shared_answers_ask(asked->gateway->shared, SHARED_USER, asked->user, &ASK_WRITTEN,
                           RPC_VALUES(RPC_INT(USER, asked->user), RPC_INT(ABOVE, asked->range.above),
                                      RPC_INT(BEFORE, asked->range.before), RPC_INT(LIMIT, asked->limit)),
                           listed, asked);
        return;
    }
    refuse_posts(asked->request, answer);
    free(asked);
}

static void get_posts(void *state, const struct call *call) {
    struct feed_gateway *gateway = state;
    int64_t user = call->values[0].user, limit = LIMIT_DEFAULT;
    struct id_range range;
    if (!call_query_ids_of_times(call, &range) || !call_query_range(call, "limit", 1, LIMIT_MAX, &limit)) return;
    if (range.above + 1 >= range.before) {
        reply_no_posts(call->request);
        return;
    }
    struct user_request *asked = asked_new(gateway, call->request, user);
    asked->reader = call->claims.user;
    asked->range = range;
    asked->limit = limit;
    ask_posts_sight(asked, posts_sight_answered);
}

/* ---- users by their ids, followers, and who is followed ---- */

static struct user_list list_of(const struct feed_gateway *gateway, const struct call *call) {
    return (struct user_list){.request = call->request,
                              .feeds = gateway->owners,
                              .profiles = user_copies_profiles(gateway->copies),
                              .put_user = user_json_find};
}

static void get_users(void *state, const struct call *call) {
    const struct user_list list = list_of(state, call);
    const char *text = http_query(call->request, "ids");
    int64_t ids[IDS_MAX];
    size_t count;
    if (text && text_numbers(text, ids, IDS_MAX, &count))
        user_list_show(&list, ids, count);
    else
        http_problem(call->request, 400, "bad_query", "\"ids\" must be 1 to 100 user ids with commas between them", 0);
}

static void list(struct feed_gateway *gateway, const struct call *call, const char *relation) {
    const struct user_list list = list_of(gateway, call);
    int64_t user = call->values[0].user, after = -1, limit = LIMIT_DEFAULT;
    if (!call_query_int(call, "after", &after) || !call_query_range(call, "limit", 1, LIMIT_MAX, &limit)) return;
    user_list_ask(
        &list, gateway->owners, &ASK_LIST,
        RPC_VALUES(RPC_INT(USER, user), RPC_TEXT(RELATION, relation), RPC_INT(LIMIT, limit), RPC_INT(AFTER, after)));
}

static void get_followers(void *state, const struct call *call) { list(state, call, "followers"); }
static void get_following(void *state, const struct call *call) { list(state, call, "following"); }

/* ---- those whom the caller follows and who follow a user ---- */

/* A page is of so many whom the caller follows, however few of them follow the user: of other lists it tells nothing that is not public. */
struct known_request {
    struct user_list list;
    const struct feed_gateway *gateway;
    int64_t user;
    json_t *following; /* the page of the caller's list; NULL: not known yet */
};

static void known_free(struct known_request *known) {
    json_decref(known->following);
    free(known);
}

static void known_listed(void *context, int code, unsigned status, const char *text, size_t size) {
    struct known_request *known = context;
    if (owners_answered(known->list.request, code, status)) {
        json_t *page = json_parse(text, size, NULL);
        if (page) json_object_set(page, "next", json_object_get(known->following, "next"));
        user_list_show_page(&known->list, page);
    }
    known_free(known);
}

/* The ids of a page of users, with commas; nothing if there are none. */
static void put_ids(struct buffer *ids, const json_t *page) {
    const json_t *items = json_object_get(page, "items");
    for (size_t i = 0; i < json_array_size(items); i++) {
        int64_t user;
        if (json_want_int(json_array_get(items, i), "user", 0, INT64_MAX, &user, NULL)) continue;
        if (ids->size) buffer_byte(ids, ',');
        text_int(ids, user);
    }
}

static void known_following(void *context, int code, unsigned status, const char *text, size_t size) {
    struct known_request *known = context;
    struct buffer ids = {0};
    bool answered = owners_answered(known->list.request, code, status);
    if (answered) known->following = json_parse(text, size, NULL);
    json_object_del(known->following, "total"); // of all whom the caller follows
    put_ids(&ids, known->following);
    if (ids.size) {
        rpc_ask(known->gateway->owners, &ASK_LIST,
                RPC_VALUES(RPC_INT(USER, known->user), RPC_TEXT(RELATION, "followers"),
                           RPC_TEXT(IDS, buffer_cstring(&ids))),
                PEER_TIMEOUT_MS, known_listed, known);
    } else {
        if (answered) user_list_show_page(&known->list, json_incref(known->following));
        known_free(known);
    }
    buffer_free(&ids);
}

static void get_known_followers(void *state, const struct call *call) {
    const struct feed_gateway *gateway = state;
    int64_t after = -1, limit = RPC_KNOWN_MAX;
    if (!call_query_int(call, "after", &after) || !call_query_range(call, "limit", 1, RPC_KNOWN_MAX, &limit)) return;
    struct known_request *known = MEM_NEW(
        &(struct known_request){.list = list_of(gateway, call), .gateway = gateway, .user = call->values[0].user});
    http_add_work(call->request, 1 + 2 * limit / LIMITS_ROWS);
    rpc_ask(gateway->owners, &ASK_LIST,
            RPC_VALUES(RPC_INT(USER, call->claims.user), RPC_TEXT(RELATION, "following"), RPC_INT(LIMIT, limit),
                       RPC_INT(AFTER, after)),
            PEER_TIMEOUT_MS, known_following, known);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/users", get_users, NEEDS_TOKEN},
    {"GET", "/v1/users/{user}", get_user, NEEDS_TOKEN},
    {"GET", "/v1/users/{user}/posts", get_posts, NEEDS_TOKEN},
    {"GET", "/v1/users/{user}/followers", get_followers, NEEDS_TOKEN},
    {"GET", "/v1/users/{user}/followers/known", get_known_followers, NEEDS_USER},
    {"GET", "/v1/users/{user}/following", get_following, NEEDS_TOKEN},
};
const struct endpoint_list USERS_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
