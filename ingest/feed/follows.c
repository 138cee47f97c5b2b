/* Whom the caller follows and mutes. The author's owner decides follows, the caller's owner mutes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "event/codec.h"
#include "event/topics.h"
#include "ingest/feed/follower_wish.h"

enum { PEER_TIMEOUT_MS = 3000 };

/* ---- follows ---- */

static void follow_decided(struct http_request *request, const struct follower_command *command,
                           const struct follower_state *state) {
    if (!state)
        http_reply_format(request, 202, "{\"user\":%" PRId64 ",\"state\":\"pending\"}", command->author);
    else if (!state->refused)
        http_reply_format(request, 200, "{\"user\":%" PRId64 ",\"following\":%s,\"state\":%s}", command->author,
                          state->following ? "true" : "false", follower_word(state));
    else if (strcmp(state->refused, "blocked") == 0)
        http_problem(request, 403, "not_allowed", "the user may not do this here", 0); // a block is never told
    else if (strcmp(state->refused, "requests") == 0)
        http_problem(request, 409, "requests_limit", "the user has as many requests as anybody may", 0);
    else
        http_problem(request, 409, "following_limit", "the user follows as many others as anybody may", 0);
}

/* A wish to follow, until it is known how many the user follows already. */
struct new_follow {
    struct feed_gateway *gateway;
    struct http_request *request;
    struct follower_command command;
};

static void counted(void *context, int code, unsigned status, const char *text, size_t size) {
    struct new_follow *follow = context;
    json_t *counts = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    int64_t following, requesting;
    if (json_want_int(counts, "following", 0, INT64_MAX / 2, &following, NULL) ||
        json_want_int(counts, "requesting", 0, INT64_MAX / 2, &requesting, NULL)) {
        feed_owner_away(follow->request);
    } else {
        follow->command.following = following + requesting;
        follower_wish_send(follow->gateway, follow->request, &follow->command, follow_decided);
    }
    json_decref(counts);
    free(follow);
}

static void put_follow(void *state, const struct call *call) {
    struct feed_gateway *gateway = state;
    if (!follower_wish_of_two(call)) return;
    struct new_follow *follow = MEM_NEW(&(struct new_follow){
        .gateway = gateway,
        .request = call->request,
        .command = {.kind = FOLLOWER_COMMAND_ASK, .author = call->values[0].user, .reader = call->claims.user}});
    rpc_ask(gateway->owners, &ASK_USER, RPC_VALUES(RPC_INT(USER, call->claims.user)), PEER_TIMEOUT_MS, counted, follow);
}

static void delete_follow(void *state, const struct call *call) {
    const struct follower_command command = {
        .kind = FOLLOWER_COMMAND_END, .author = call->values[0].user, .reader = call->claims.user};
    if (follower_wish_of_two(call)) follower_wish_send(state, call->request, &command, follow_decided);
}

static void get_requests(void *state, const struct call *call) { follower_list(state, call, "requesting"); }

/* ---- mutes ---- */

/* A request's wish, and about whom. */
struct mute_wish {
    int64_t other;
    bool set;
};

static void mute_answer(void *context, struct http_request *request, unsigned status, const json_t *reply,
                        struct json_bytes text) {
    const struct mute_wish *wish = context;
    if (status == 200)
        http_reply_format(request, 200, "{\"user\":%" PRId64 ",\"muted\":%s}", wish->other,
                          wish->set ? "true" : "false");
    else
        http_reply_format(request, 202, "{\"user\":%" PRId64 ",\"state\":\"pending\"}", wish->other);
}

static void mute(struct feed_gateway *gateway, const struct call *call, bool set) {
    int64_t user = call->claims.user, other = call->values[0].user;
    if (!follower_wish_of_two(call)) return;
    const struct follow_command command = {.kind = set ? FOLLOW_COMMAND_MUTE : FOLLOW_COMMAND_UNMUTE,
                                           .user = user,
                                           .other = other,
                                           .time = clock_wall_ms()};
    struct buffer record = {0};
    event_encode_follow_command(&record, &command);
    const struct rpc_value *values =
        RPC_VALUES(RPC_INT(USER, user), RPC_INT(OTHER, other), RPC_TEXT(RELATION, "muted"));
    feed_write_start(gateway, &(struct command_write){
                                  .request = call->request,
                                  .topic = &TOPIC_FOLLOW_COMMANDS,
                                  .user = user,
                                  .record = &record,
                                  .question = rpc_path(&ASK_RELATION, values),
                                  .answer = mute_answer,
                                  .context = MEM_NEW(&(struct mute_wish){other, set}),
                              });
    buffer_free(&record);
}

static void put_mute(void *state, const struct call *call) { mute(state, call, true); }
static void delete_mute(void *state, const struct call *call) { mute(state, call, false); }

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/follows/requests", get_requests, NEEDS_USER},   {"PUT", "/v1/follows/{user}", put_follow, NEEDS_USER},
    {"DELETE", "/v1/follows/{user}", delete_follow, NEEDS_USER}, {"PUT", "/v1/mutes/{user}", put_mute, NEEDS_USER},
    {"DELETE", "/v1/mutes/{user}", delete_mute, NEEDS_USER},
};
const struct endpoint_list FOLLOWS_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
