/* The caller's followers, and who sees the caller's posts. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/topics.h"
#include "ingest/feed/follower_wish.h"
#include "ingest/user_lists.h"
#include "users/user_json.h"

enum { LIMIT_MAX = 1000, LIMIT_DEFAULT = 20, PEER_TIMEOUT_MS = 3000 };

/* ---- wishes ---- */

bool follower_state_read(const json_t *reply, struct follower_state *state) {
    const json_t *refused = json_object_get(reply, "refused");
    state->refused = json_string_value(refused);
    return (refused && (state->refused || json_is_null(refused))) &&
           json_want_bool(reply, "following", &state->following, NULL) == 0 &&
           json_want_bool(reply, "requested", &state->requested, NULL) == 0;
}

const char *follower_word(const struct follower_state *state) {
    return state->following ? "\"following\"" : state->requested ? "\"requested\"" : "null";
}

struct follower_wish {
    struct follower_command command;
    follower_decided *decided;
};

static void wish_answered(void *context, struct http_request *request, unsigned status, const json_t *reply,
                          struct json_bytes text) {
    const struct follower_wish *wish = context;
    struct follower_state state;
    bool known = status == 200 && follower_state_read(reply, &state);
    wish->decided(request, &wish->command, known ? &state : NULL);
}

static void write_wish(struct feed_gateway *gateway, struct http_request *request,
                       const struct follower_command *command, char *question,
                       void (*answer)(void *context, struct http_request *request, unsigned status, const json_t *reply,
                                      struct json_bytes text),
                       void *context) {
    struct buffer record = {0};
    struct follower_command timed = *command;
    timed.time = clock_wall_ms();
    event_encode_follower_command(&record, &timed);
    feed_write_start(gateway, &(struct command_write){
                                  .request = request,
                                  .topic = &TOPIC_FOLLOWER_COMMANDS,
                                  .user = command->author,
                                  .record = &record,
                                  .question = question,
                                  .answer = answer,
                                  .context = context,
                              });
    buffer_free(&record);
}

void follower_wish_send(struct feed_gateway *gateway, struct http_request *request,
                        const struct follower_command *command, follower_decided *decided) {
    const struct rpc_value *values = RPC_VALUES(RPC_INT(USER, command->author), RPC_INT(OTHER, command->reader));
    write_wish(gateway, request, command, rpc_path(&ASK_FOLLOWER, values), wish_answered,
               MEM_NEW(&(struct follower_wish){*command, decided}));
}

bool follower_wish_of_two(const struct call *call) {
    if (call->claims.user != call->values[0].user) return true;
    http_problem(call->request, 400, "same_user", "the two users are the same", 0);
    return false;
}

/* ---- lists ---- */

void follower_list(struct feed_gateway *gateway, const struct call *call, const char *relation) {
    const struct user_list list = {.request = call->request,
                                   .feeds = gateway->owners,
                                   .profiles = user_copies_profiles(gateway->copies),
                                   .put_user = user_json_find};
    int64_t after = -1, limit = LIMIT_DEFAULT;
    if (!call_query_int(call, "after", &after) || !call_query_range(call, "limit", 1, LIMIT_MAX, &limit)) return;
    user_list_ask(&list, gateway->owners, &ASK_LIST,
                  RPC_VALUES(RPC_INT(USER, call->claims.user), RPC_TEXT(RELATION, relation), RPC_INT(LIMIT, limit),
                             RPC_INT(AFTER, after)));
}

static void get_requests(void *state, const struct call *call) { follower_list(state, call, "requested"); }

/* ---- one of them ---- */

static void follower_is_decided(struct http_request *request, const struct follower_command *command,
                                const struct follower_state *state) {
    bool accepts = command->kind == FOLLOWER_COMMAND_ACCEPT;
    if (!state)
        http_reply_format(request, 202, "{\"user\":%" PRId64 ",\"state\":\"pending\"}", command->reader);
    else if (accepts && !state->following)
        http_problem(request, 404, "no_request", "the user has not asked to follow", 0);
    else if (accepts)
        http_reply_format(request, 200, "{\"user\":%" PRId64 ",\"follower\":true}", command->reader);
    else
        http_reply(request, 204, NULL, NULL, 0, NULL, 0);
}

static void about_follower(struct feed_gateway *gateway, const struct call *call, enum follower_command_kind kind) {
    const struct follower_command command = {.kind = kind, .author = call->claims.user, .reader = call->values[0].user};
    if (follower_wish_of_two(call)) follower_wish_send(gateway, call->request, &command, follower_is_decided);
}

static void put_follower(void *state, const struct call *call) { about_follower(state, call, FOLLOWER_COMMAND_ACCEPT); }
static void delete_follower(void *state, const struct call *call) { about_follower(state, call, FOLLOWER_COMMAND_END); }

/* ---- who sees the posts ---- */

static const char *const POSTS[] = {"everybody", "followers", NULL};

struct visibility_wish {
    const char *posts; /* static */
};

static void visibility_answered(void *context, struct http_request *request, unsigned status, const json_t *reply,
                                struct json_bytes text) {
    const struct visibility_wish *wish = context;
    const char *posts = status == 200 ? json_string_value(json_object_get(reply, "posts")) : NULL;
    if (posts)
        http_reply_format(request, 200, "{\"posts\":\"%s\"}", posts);
    else
        http_reply_format(request, 202, "{\"posts\":\"%s\",\"state\":\"pending\"}", wish->posts);
}

static void put_visibility(void *state, const struct call *call) {
    json_t *object = call_body(call);
    if (!object) return;
    const char *text = json_string_value(json_object_get(object, "posts"));
    int posts = text ? text_word(text, POSTS) : -1;
    json_decref(object);
    if (posts < 0) {
        http_problem(call->request, 400, "bad_visibility", "\"posts\" must be everybody or followers", 0);
        return;
    }
    const struct follower_command command = {.kind = posts ? FOLLOWER_COMMAND_FOLLOWERS : FOLLOWER_COMMAND_EVERYBODY,
                                             .author = call->claims.user,
                                             .reader = -1};
    write_wish(state, call->request, &command, rpc_path(&ASK_VISIBILITY, RPC_VALUES(RPC_INT(USER, command.author))),
               visibility_answered, MEM_NEW(&(struct visibility_wish){POSTS[posts]}));
}

static void get_visibility(void *state, const struct call *call) {
    const struct feed_gateway *gateway = state;
    owners_pass_on(gateway->owners, &ASK_VISIBILITY, RPC_VALUES(RPC_INT(USER, call->claims.user), RPC_INT(WAIT_MS, 0)),
                   PEER_TIMEOUT_MS, call->request);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/followers/requests", get_requests, NEEDS_USER},
    {"PUT", "/v1/followers/{user}", put_follower, NEEDS_USER},
    {"DELETE", "/v1/followers/{user}", delete_follower, NEEDS_USER},
    {"GET", "/v1/visibility", get_visibility, NEEDS_USER},
    {"PUT", "/v1/visibility", put_visibility, NEEDS_USER},
};
const struct endpoint_list FOLLOWERS_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
