#include "ingest/feed/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "event/codec.h"
#include "event/topics.h"
#include "ingest/feed/users.h"
#include "users/handle.h"

enum { PEER_TIMEOUT_MS = 3000 };

/* ---- the caller's own ---- */

struct handle_wish {
    int64_t user;
    char handle[HANDLE_SIZE]; /* empty: it is given up */
};

static void reply_pending(struct http_request *request, const struct handle_wish *wish) {
    http_reply_format(request, 202, "{\"user\":%" PRId64 ",\"state\":\"pending\"}", wish->user);
}

static void wished(void *context, struct http_request *request, unsigned status, const json_t *reply,
                   struct json_bytes text) {
    const struct handle_wish *wish = context;
    const char *state = "";
    if (status == 200) json_want_text(reply, "state", &state, NULL);
    if (strcmp(state, "granted") == 0)
        http_reply_format(request, 200, "{\"user\":%" PRId64 ",\"handle\":\"%s\"}", wish->user, wish->handle);
    else if (strcmp(state, "taken") == 0)
        http_problem(request, 409, "handle_taken", "somebody else has this handle", 0);
    else if (strcmp(state, "overtaken") == 0)
        http_problem(request, 409, "handle_overtaken", "the user has wanted something else since", 0);
    else
        reply_pending(request, wish);
}

static void given_up(void *context, struct http_request *request, unsigned status, const json_t *reply,
                     struct json_bytes text) {
    if (status == 200)
        http_reply(request, 204, NULL, NULL, 0, NULL, 0);
    else
        reply_pending(request, context);
}

static void command(struct feed_gateway *gateway, const struct call *call, const struct handle_wish *wanted) {
    struct handle_wish *wish = MEM_NEW(wanted);
    wish->user = call->claims.user;
    bool wants = wish->handle[0];
    struct name_command command = {
        .kind = wants ? NAME_COMMAND_WISH : NAME_COMMAND_GIVE_UP,
        .user = wish->user,
        .handle = {.data = wish->handle, .size = strlen(wish->handle)},
        .time = clock_wall_ms(),
    };
    struct buffer record = {0};
    const struct rpc_value *values =
        RPC_VALUES(RPC_INT(USER, command.user), RPC_TEXT(HANDLE, wants ? wish->handle : NULL));
    event_encode_name_command(&record, &command);
    feed_write_start(gateway, &(struct command_write){
                                  .request = call->request,
                                  .topic = &TOPIC_NAME_COMMANDS,
                                  .user = command.user,
                                  .record = &record,
                                  .question = rpc_path(wants ? &ASK_WISH : &ASK_UNNAMED, values),
                                  .answer = wants ? wished : given_up,
                                  .context = wish,
                              });
    buffer_free(&record);
}

static void put_handle(void *state, const struct call *call) {
    json_t *object = call_body(call);
    if (!object) return;
    struct handle_wish wish;
    const char *text;
    struct error error;
    if (json_want_text(object, "handle", &text, &error))
        http_problem(call->request, 400, "bad_handle", error.text, 0);
    else if (!handle_read(text, strlen(text), wish.handle))
        http_problem(call->request, 400, "bad_handle", "\"handle\" must have 3 to 30 of a-z, 0-9 and _", 0);
    else
        command(state, call, &wish);
    json_decref(object);
}

static void delete_handle(void *state, const struct call *call) {
    command(state, call, &(struct handle_wish){.handle = ""});
}

/* ---- the user of a handle ---- */

struct handle_request {
    struct feed_gateway *gateway;
    struct http_request *request;
    int64_t reader;
    char handle[HANDLE_SIZE];
};

static void found(void *context, int code, unsigned status, const char *text, size_t size) {
    struct handle_request *asked = context;
    json_t *reply = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    int64_t user;
    if (code == 0 && status == 404)
        users_none(asked->request);
    else if (!reply || json_want_int(reply, "user", 0, INT64_MAX, &user, NULL))
        feed_owner_away(asked->request);
    else
        users_show(asked->gateway, asked->request, asked->reader, user, asked->handle);
    json_decref(reply);
    free(asked);
}

static void get_handle(void *state, const struct call *call) {
    struct feed_gateway *gateway = state;
    const struct path_value *value = &call->values[0];
    struct handle_request *asked =
        MEM_NEW(&(struct handle_request){.gateway = gateway, .request = call->request, .reader = call->claims.user});
    if (!handle_read(value->text, value->size, asked->handle)) {
        free(asked);
        http_problem(call->request, 400, "bad_path", "a handle has 3 to 30 of a-z, 0-9 and _", 0);
        return;
    }
    int32_t partition = handle_partition(asked->handle, gateway->partitions);
    rpc_ask(gateway->owners, &ASK_HANDLE, RPC_VALUES(RPC_INT(PARTITION, partition), RPC_TEXT(HANDLE, asked->handle)),
            PEER_TIMEOUT_MS, found, asked);
}

static const struct endpoint ENDPOINTS[] = {
    {"PUT", "/v1/handle", put_handle, NEEDS_USER},
    {"DELETE", "/v1/handle", delete_handle, NEEDS_USER},
    {"GET", "/v1/handles/{handle:text}", get_handle, NEEDS_TOKEN},
};
const struct endpoint_list HANDLES_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
