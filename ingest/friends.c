/* Friend commands: onto Kafka, keyed by the lower user of the pair, whose owner then says what came of it; and the
 * lists, which their owner reads out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "ingest/gateway.h"

enum { PEER_TIMEOUT_MS = 3000, PATH_MAX_BYTES = 256, LIMIT_MAX = 1000 };

/* ---- commands ---- */

struct outcome { /* what the answer to a command needs when it is known */
    struct http_request *request;
    int64_t from, to;
};

static void reply_state(struct outcome *outcome, unsigned status, const char *state, int64_t since) {
    struct buffer body = {0};
    buffer_string(&body, "{\"user\":");
    json_put_int(&body, outcome->to);
    buffer_string(&body, ",\"state\":");
    json_put_text(&body, state, strlen(state));
    if (since) {
        buffer_string(&body, ",\"since\":");
        json_put_int(&body, since);
    }
    buffer_byte(&body, '}');
    http_reply_json(outcome->request, status, &body);
    buffer_free(&body);
}

/* Whatever keeps the owner from answering, the command itself is safe on Kafka: 202. */
static void answered(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct outcome *outcome = context;
    const char *state = "pending";
    int64_t since = 0;
    json_t *object = code == 0 && status == 200 ? json_parse(reply, size, NULL) : NULL;
    bool known = object && json_want_text(object, "state", &state, NULL) == 0;
    if (known) json_want_int(object, "since", 0, INT64_MAX, &since, NULL);
    reply_state(outcome, known ? 200 : 202, state, since);
    json_decref(object);
    free(outcome);
}

static void ask_outcome(struct gateway *gateway, struct http_request *request, void *context, int code,
                        int32_t partition, int64_t offset) {
    struct outcome *outcome = context;
    char path[PATH_MAX_BYTES];
    (void)partition;
    if (code) {
        write_problem(request, code);
        free(outcome);
        return;
    }
    gateway->commands->value++;
    snprintf(path, sizeof path, "/peer/friendship/%" PRId64 "/%" PRId64 "?offset=%" PRId64 "&wait_ms=%" PRId64,
             outcome->from, outcome->to, offset, gateway->settings.outcome_wait_ms);
    int64_t lower = outcome->from < outcome->to ? outcome->from : outcome->to;
    peers_fetch(gateway->routers, lower, path, (int)gateway->settings.outcome_wait_ms + 500, answered, outcome);
}

static void command(const struct call *call, enum friend_command_kind kind, int64_t from, int64_t to) {
    struct gateway *gateway = call->gateway;
    if (from == to) {
        http_problem(call->request, 400, "same_user", "the two users are the same", 0);
        return;
    }
    struct friend_command record = {.kind = kind, .from = from, .to = to, .time = clock_wall_ms()};
    struct outcome *outcome = mem_alloc(sizeof *outcome);
    *outcome = (struct outcome){.request = call->request, .from = from, .to = to};
    buffer_clear(&gateway->record);
    event_encode_friend_command(&gateway->record, &record);
    struct write *write = write_new(gateway, call->request, outcome, ask_outcome);
    write_send(write, &TOPIC_FRIEND_COMMANDS, from < to ? from : to);
    write_end(write);
}

static void own_command(const struct call *call, enum friend_command_kind kind) {
    int64_t user = call_user(call);
    if (user >= 0) command(call, kind, user, call->parameter);
}

void put_friend(const struct call *call) { own_command(call, FRIEND_COMMAND_REQUEST); }
void delete_friend(const struct call *call) { own_command(call, FRIEND_COMMAND_REMOVE); }
void put_block(const struct call *call) { own_command(call, FRIEND_COMMAND_BLOCK); }
void delete_block(const struct call *call) { own_command(call, FRIEND_COMMAND_UNBLOCK); }

void post_friendship(const struct call *call) {
    if (!call->claims.gateway) {
        http_problem(call->request, 403, "gateways_only", "only a token with scope gateway may set both consents", 0);
        return;
    }
    json_t *object = call_body(call);
    if (!object) return;
    int64_t a, b;
    struct error error;
    if (json_want_int(object, "a", 0, INT64_MAX, &a, &error) || json_want_int(object, "b", 0, INT64_MAX, &b, &error))
        http_problem(call->request, 400, "bad_user", error.text, 0);
    else
        command(call, FRIEND_COMMAND_BEFRIEND, a, b);
    json_decref(object);
}

/* ---- lists ---- */

static bool known_state(const char *state) {
    static const char *const STATES[] = {"friends", "requested", "invited", "blocked", "all"};
    for (size_t i = 0; i < ARRAY_SIZE(STATES); i++) {
        if (strcmp(state, STATES[i]) == 0) return true;
    }
    return false;
}

static void pass_on(void *context, int code, unsigned status, const char *reply, size_t size) {
    call_pass_on(context, code, status, reply, size);
}

void get_friends(const struct call *call) {
    int64_t user = call_user(call), after = -1, limit = 100;
    const char *state = http_query(call->request, "state");
    char path[PATH_MAX_BYTES], from[32] = "";
    if (user < 0) return;
    if (!call_query_int(call, "after", &after) || !call_query_int(call, "limit", &limit)) return;
    if (!state) state = "friends";
    if (!known_state(state) || limit < 1 || limit > LIMIT_MAX) {
        http_problem(call->request, 400, "bad_query",
                     "state is one of friends, requested, invited, blocked, all; limit is 1 to 1000", 0);
        return;
    }
    if (after >= 0) snprintf(from, sizeof from, "&after=%" PRId64, after);
    snprintf(path, sizeof path, "/peer/friends/%" PRId64 "?state=%s&limit=%" PRId64 "%s", user, state, limit, from);
    peers_fetch(call->gateway->routers, user, path, PEER_TIMEOUT_MS, pass_on, call->request);
}
