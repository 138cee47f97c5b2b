#include "ingest/feed/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "event/codec.h"
#include "event/topics.h"

/* A request's wish, and about whom. */
struct follow_wish {
    enum follow_command_kind kind;
    int64_t other;
};

static bool is_about_mutes(enum follow_command_kind kind) {
    return kind == FOLLOW_COMMAND_MUTE || kind == FOLLOW_COMMAND_UNMUTE;
}

/* The owner tells what became of the command: it was refused, or it is as was wished. */
static void answer(void *context, struct http_request *request, unsigned status, const json_t *reply,
                   struct json_bytes text) {
    const struct follow_wish *wish = context;
    const json_t *refused = status == 200 ? json_object_get(reply, "refused") : NULL;
    bool set = wish->kind == FOLLOW_COMMAND_FOLLOW || wish->kind == FOLLOW_COMMAND_MUTE;
    if (json_is_null(refused))
        http_reply_format(request, 200, "{\"user\":%" PRId64 ",\"%s\":%s}", wish->other,
                          is_about_mutes(wish->kind) ? "muted" : "following", set ? "true" : "false");
    else if (!json_is_string(refused))
        http_reply_format(request, 202, "{\"user\":%" PRId64 ",\"state\":\"pending\"}", wish->other);
    else if (strcmp(json_string_value(refused), "blocked") == 0)
        http_problem(request, 403, "not_allowed", "the user may not do this here", 0); // a block is never told
    else
        http_problem(request, 409, "following_limit", "the user follows as many others as anybody may", 0);
}

static void command(struct feed_gateway *gateway, const struct call *call, enum follow_command_kind kind) {
    int64_t user = call->claims.user, other = call->values[0].user;
    if (user == other) {
        http_problem(call->request, 400, "same_user", "the two users are the same", 0);
        return;
    }
    struct follow_command command = {.kind = kind, .user = user, .other = other, .time = clock_wall_ms()};
    struct follow_wish *wish = MEM_NEW(&(struct follow_wish){.kind = kind, .other = other});
    struct buffer record = {0};
    event_encode_follow_command(&record, &command);
    const struct rpc_value *values = RPC_VALUES(RPC_INT(USER, user), RPC_INT(OTHER, other),
                                                RPC_TEXT(RELATION, is_about_mutes(kind) ? "muted" : "following"));
    feed_write_start(gateway, &(struct command_write){
                                  .request = call->request,
                                  .topic = &TOPIC_FOLLOW_COMMANDS,
                                  .user = user,
                                  .record = &record,
                                  .question = rpc_path(&ASK_RELATION, values),
                                  .answer = answer,
                                  .context = wish,
                              });
    buffer_free(&record);
}

static void put_follow(void *state, const struct call *call) { command(state, call, FOLLOW_COMMAND_FOLLOW); }
static void delete_follow(void *state, const struct call *call) { command(state, call, FOLLOW_COMMAND_UNFOLLOW); }
static void put_mute(void *state, const struct call *call) { command(state, call, FOLLOW_COMMAND_MUTE); }
static void delete_mute(void *state, const struct call *call) { command(state, call, FOLLOW_COMMAND_UNMUTE); }

static const struct endpoint ENDPOINTS[] = {
    {"PUT", "/v1/follows/{user}", put_follow, NEEDS_USER},
    {"DELETE", "/v1/follows/{user}", delete_follow, NEEDS_USER},
    {"PUT", "/v1/mutes/{user}", put_mute, NEEDS_USER},
    {"DELETE", "/v1/mutes/{user}", delete_mute, NEEDS_USER},
};
const struct endpoint_list FOLLOWS_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
