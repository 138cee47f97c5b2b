/* Moderators decide about posts: PUT of a state. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "edits/encode.h"
#include "event/topics.h"
#include "ids/ids.h"
#include "ingest/feed/post_request.h"
#include "ingest/post_thread.h"
#include "ingest/state_wish.h"
#include "posts/post_json.h"
#include "users/user_json.h"

enum { PEER_TIMEOUT_MS = 3000 };

/* A decision, from the question whose post it is to the answer. */
struct post_decision {
    struct feed_gateway *gateway;
    struct http_request *request;
    int64_t id, author, moderator;
    struct state_wish wish; /* object: until the command is written */
};

static void put_deleted(const struct post_decision *decision, struct buffer *body) {
    buffer_format(body, "{\"id\":\"%" PRId64 "\",", decision->id);
    user_json_find(body, decision->author, user_copies_profiles(decision->gateway->copies));
    buffer_format(
        body, ",\"text\":null,\"media\":[],\"time\":%" PRId64 ",\"version\":1,\"edited\":null,\"state\":\"deleted\"}",
        ids_time_ms(decision->id));
}

/* Appends the post of the outcome whose bytes these are. False: it is none. */
static bool put_post(const struct post_decision *decision, struct json_bytes outcome, bool hidden,
                     struct buffer *body) {
    struct json_scan scan = json_scan_of(outcome.data, outcome.size);
    struct json_bytes key, value, post = {NULL, 0};
    struct post_shown shown;
    json_scan_object(&scan);
    while (json_scan_member(&scan, &key) && json_scan_value(&scan, &value))
        if (json_bytes_are(&key, "post")) post = value;
    if (scan.bad || !post_put_bytes(body, post, user_copies_profiles(decision->gateway->copies), &shown)) return false;
    body->size--; // the post's brace
    buffer_format(body, ",\"state\":\"%s\"}", hidden ? "hidden" : "visible");
    return true;
}

static void decided(void *context, struct http_request *request, unsigned status, const json_t *reply,
                    struct json_bytes text) {
    const struct post_decision *decision = context;
    const json_t *post = json_object_get(reply, "post");
    struct buffer body = {0};
    texts_forget(decision->gateway->texts, decision->id);
    shared_answers_forget(decision->gateway->shared, SHARED_POST, decision->id);
    shared_answers_forget(decision->gateway->shared, SHARED_USER, decision->author);
    if (status == 404) {
        post_none(request);
    } else if (status != 200) {
        http_reply_format(request, 202, "{\"state\":\"pending\"}");
    } else if (json_is_null(post)) {
        put_deleted(decision, &body);
        http_reply_json(request, 200, &body);
    } else if (put_post(decision, text, json_object_get(post, "state"), &body)) {
        http_reply_json(request, 200, &body);
    } else {
        feed_owner_away(request);
    }
    buffer_free(&body);
}

static void write_state(struct post_decision *decision) {
    static const enum post_command_kind KINDS[] = {[STATE_VISIBLE] = POST_COMMAND_RESTORE,
                                                   [STATE_HIDDEN] = POST_COMMAND_HIDE,
                                                   [STATE_DELETED] = POST_COMMAND_DELETE};
    struct feed_gateway *gateway = decision->gateway;
    const struct post_command command = {
        .kind = KINDS[decision->wish.state],
        .user = decision->author,
        .id = decision->id,
        .time = clock_wall_ms(),
        .editor = decision->moderator,
        .reason = decision->wish.reason,
    };
    struct buffer record = {0};
    edit_encode_post_command(&record, &command);
    const struct rpc_value *values = RPC_VALUES(RPC_INT(USER, command.user), RPC_INT(POST, command.id));
    json_decref(decision->wish.object);
    if (command.kind == POST_COMMAND_DELETE) post_thread_close(gateway->sender.writer, command.id);
    feed_write_start(gateway, &(struct command_write){
                                  .request = decision->request,
                                  .topic = &TOPIC_POST_COMMANDS,
                                  .user = command.user,
                                  .record = &record,
                                  .question = rpc_path(&ASK_MODERATED, values),
                                  .answer = decided,
                                  .context = decision,
                              });
    buffer_free(&record);
}

static void found(void *context, int code, unsigned status, const char *text, size_t size) {
    struct post_decision *decision = context;
    json_t *reply = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    const json_t *post = json_array_get(json_object_get(reply, "items"), 0);
    if (!json_want_int(post, "user", 0, INT64_MAX, &decision->author, NULL)) {
        write_state(decision);
        decision = NULL;
    } else if (json_is_null(post)) {
        post_none(decision->request);
    } else {
        feed_owner_away(decision->request);
    }
    if (decision) json_decref(decision->wish.object);
    free(decision);
    json_decref(reply);
}

static void put_state(void *state, const struct call *call) {
    struct feed_gateway *gateway = state;
    struct state_wish wish;
    if (!state_wish_read(call, &wish)) return;
    if (!post_may_be_there(gateway, call->values[0].id)) {
        post_none(call->request);
        json_decref(wish.object);
        return;
    }
    struct post_decision *decision = MEM_NEW(&(struct post_decision){.gateway = gateway,
                                                                     .request = call->request,
                                                                     .id = call->values[0].id,
                                                                     .moderator = call->claims.user,
                                                                     .wish = wish});
    rpc_ask(gateway->owners, &ASK_POSTS,
            RPC_VALUES(RPC_INT(PARTITION, ids_partition(decision->id)), RPC_INT(IDS, decision->id),
                       RPC_TEXT(HIDDEN, "true")),
            PEER_TIMEOUT_MS, found, decision);
}

static const struct endpoint ENDPOINTS[] = {{"PUT", "/v1/moderation/posts/{id:id}", put_state, NEEDS_MODERATOR}};
const struct endpoint_list POST_STATES_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
