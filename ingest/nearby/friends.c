#include "ingest/nearby/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/codec.h"
#include "event/topics.h"
#include "ingest/gather.h"
#include "ingest/limits.h"
#include "ingest/nearby/mutual.h"
#include "ingest/user_lists.h"
#include "users/half.h"
#include "users/user_json.h"

enum { COUNT_TIMEOUT_MS = 500, IDS_TIMEOUT_MS = 3000, LIMIT_MAX = 1000, LIMIT_DEFAULT = 20 };

/* ---- commands ---- */

struct outcome { /* what the answer to a command needs when it is known */
    struct nearby_gateway *nearby;
    struct http_request *request;
    int64_t from, to;
    bool block; /* the command blocks somebody, or ends that */
    bool round; /* it chooses how the other sees the user */
};

/* A half as its owner shows it. */
struct shown_half {
    const char *state;
    int64_t since;
    bool rounded;
};

static bool read_half(const json_t *object, struct shown_half *half) {
    half->rounded = json_is_true(json_object_get(object, "rounded"));
    return !json_want_text(object, "state", &half->state, NULL) &&
           !json_want_int(object, "since", 0, INT64_MAX, &half->since, NULL);
}

static void put_rounded(struct buffer *body, bool rounded) {
    buffer_string(body, rounded ? ",\"rounded\":true" : ",\"rounded\":false");
}

/* half: NULL if it is not known. */
static void reply_state(struct outcome *outcome, unsigned status, const struct shown_half *half) {
    const char *state = half ? half->state : "pending";
    struct buffer body = {0};
    buffer_string(&body, "{\"user\":");
    json_put_int(&body, outcome->to);
    buffer_string(&body, ",\"state\":");
    json_put_text(&body, state, strlen(state));
    if (half && half->since) {
        buffer_string(&body, ",\"since\":");
        json_put_int(&body, half->since);
    }
    if (half) put_rounded(&body, half->rounded);
    buffer_byte(&body, '}');
    http_reply_json(outcome->request, status, &body);
    buffer_free(&body);
}

static bool may_round(const struct shown_half *half) {
    static const char *const STATES[] = {"friends", "requested", "invited", NULL};
    return text_word(half->state, STATES) >= 0;
}

/* The command is safe on Kafka, also when something keeps the owner from answering: 202. */
static void answered(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct outcome *outcome = context;
    struct shown_half half;
    json_t *object = code == 0 && status == 200 ? json_parse(reply, size, NULL) : NULL;
    bool known = object && read_half(object, &half);
    if (outcome->block) outcome->nearby->core.blocks_changed(outcome->nearby->core.gateway, outcome->from);
    if (known && outcome->round && !may_round(&half))
        http_problem(outcome->request, 409, "not_friends", "there is neither a friendship nor a request", 0);
    else
        reply_state(outcome, known ? 200 : 202, known ? &half : NULL);
    json_decref(object);
    free(outcome);
}

static void ask_outcome(void *context, struct http_request *request, int code, int32_t partition, int64_t offset) {
    struct outcome *outcome = context;
    struct nearby_gateway *nearby = outcome->nearby;
    if (code) {
        write_problem(request, code);
        free(outcome);
        return;
    }
    nearby->friend_commands->value++;
    rpc_ask(nearby->routers, &ASK_FRIENDSHIP,
            RPC_VALUES(RPC_INT(ONE, outcome->from), RPC_INT(OTHER, outcome->to), RPC_INT(OFFSET, offset),
                       RPC_INT(WAIT_MS, nearby->core.outcome_wait_ms)),
            (int)nearby->core.outcome_wait_ms + 500, answered, outcome);
}

static void write_command(struct nearby_gateway *nearby, struct http_request *request, enum friend_command_kind kind,
                          int64_t from, int64_t to) {
    struct friend_command command = {.kind = kind, .from = from, .to = to, .time = clock_wall_ms()};
    struct outcome *outcome = mem_alloc(sizeof *outcome);
    bool block = kind == FRIEND_COMMAND_BLOCK || kind == FRIEND_COMMAND_UNBLOCK;
    bool round = kind == FRIEND_COMMAND_ROUND || kind == FRIEND_COMMAND_EXACT;
    *outcome =
        (struct outcome){.nearby = nearby, .request = request, .from = from, .to = to, .block = block, .round = round};
    struct buffer record = {0};
    half_encode_command(&record, &command);
    struct write *write = write_new(nearby->core.writer, request, ask_outcome, outcome);
    write_user(write, &TOPIC_FRIEND_COMMANDS, from < to ? from : to, &record);
    write_end(write);
    buffer_free(&record);
}

static bool are_two(const struct call *call, int64_t from, int64_t to) {
    if (from == to) http_problem(call->request, 400, "same_user", "the two users are the same", 0);
    return from != to;
}

static void command(struct nearby_gateway *nearby, const struct call *call, enum friend_command_kind kind, int64_t from,
                    int64_t to) {
    if (are_two(call, from, to)) write_command(nearby, call->request, kind, from, to);
}

/* A request for friendship, until it is known how many each of the two has. Owners that do not answer hold up nobody. */
struct new_request {
    struct nearby_gateway *nearby;
    struct http_request *request;
    int64_t from, to;
    bool new, many; /* new: the two have neither a request nor a friendship */
};

enum { ASKED_STATE, ASKED_REQUESTS };

static void counted(void *context, size_t tag, struct json_bytes reply) {
    struct new_request *made = context;
    json_t *object = reply.size ? json_parse(reply.data, reply.size, NULL) : NULL;
    const char *state;
    int64_t requests;
    if (tag == ASKED_STATE)
        made->new = json_want_text(object, "state", &state, NULL) == 0 && strcmp(state, "none") == 0;
    else if (json_want_int(object, "requests", 0, INT64_MAX, &requests, NULL) == 0)
        made->many = made->many || requests >= made->nearby->settings.requests_max;
    json_decref(object);
}

static void all_counted(void *context, bool stopping) {
    struct new_request *made = context;
    if (stopping)
        write_problem(made->request, -ECANCELED);
    else if (made->new && made->many)
        http_problem(made->request, 409, "requests_limit", "one of the two has as many requests as anybody may", 0);
    else
        write_command(made->nearby, made->request, FRIEND_COMMAND_REQUEST, made->from, made->to);
    free(made);
}

static void put_friend(void *state, const struct call *call) {
    struct nearby_gateway *nearby = state;
    int64_t from = call->claims.user, to = call->values[0].user;
    if (!are_two(call, from, to)) return;
    if (!nearby->settings.requests_max) {
        write_command(nearby, call->request, FRIEND_COMMAND_REQUEST, from, to);
        return;
    }
    struct new_request *made = mem_alloc(sizeof *made);
    *made = (struct new_request){.nearby = nearby, .request = call->request, .from = from, .to = to};
    struct gather *gather = gather_new(&(struct gather_options){.owners = nearby->routers,
                                                                .timeout_ms = COUNT_TIMEOUT_MS,
                                                                .context = made,
                                                                .answer = counted,
                                                                .done = all_counted});
    gather_ask(gather, &ASK_FRIENDSHIP, RPC_VALUES(RPC_INT(ONE, from), RPC_INT(OTHER, to)), ASKED_STATE);
    gather_ask(gather, &ASK_REQUESTS, RPC_VALUES(RPC_INT(USER, from)), ASKED_REQUESTS);
    gather_ask(gather, &ASK_REQUESTS, RPC_VALUES(RPC_INT(USER, to)), ASKED_REQUESTS);
    gather_end(gather);
}

static void own_command(struct nearby_gateway *nearby, const struct call *call, enum friend_command_kind kind) {
    command(nearby, call, kind, call->claims.user, call->values[0].user);
}

static void delete_friend(void *state, const struct call *call) { own_command(state, call, FRIEND_COMMAND_REMOVE); }
static void put_block(void *state, const struct call *call) { own_command(state, call, FRIEND_COMMAND_BLOCK); }
static void delete_block(void *state, const struct call *call) { own_command(state, call, FRIEND_COMMAND_UNBLOCK); }
static void put_rounding(void *state, const struct call *call) { own_command(state, call, FRIEND_COMMAND_ROUND); }
static void delete_rounding(void *state, const struct call *call) { own_command(state, call, FRIEND_COMMAND_EXACT); }

static void post_friendship(void *state, const struct call *call) {
    json_t *object = call_body(call);
    if (!object) return;
    int64_t a, b;
    struct error error;
    if (json_want_int(object, "a", 0, INT64_MAX, &a, &error) || json_want_int(object, "b", 0, INT64_MAX, &b, &error))
        http_problem(call->request, 400, "bad_user", error.text, 0);
    else
        command(state, call, FRIEND_COMMAND_BEFRIEND, a, b);
    json_decref(object);
}

/* ---- lists ---- */

static bool known_state(const char *state) {
    static const char *const STATES[] = {"friends", "requested", "invited", "blocked", "all", NULL};
    return text_word(state, STATES) >= 0;
}

/* Appends what the router's item says besides the user. False: it is no item. */
static bool put_half(struct buffer *body, const json_t *item) {
    struct shown_half half;
    if (!read_half(item, &half)) return false;
    buffer_string(body, ",\"state\":");
    json_put_text(body, half.state, strlen(half.state));
    buffer_string(body, ",\"since\":");
    json_put_int(body, half.since);
    put_rounded(body, half.rounded);
    return true;
}

static void get_friends(void *state, const struct call *call) {
    struct nearby_gateway *nearby = state;
    int64_t user = call->claims.user, after = -1, limit = LIMIT_DEFAULT;
    const char *wanted = http_query(call->request, "state");
    if (!call_query_int(call, "after", &after) || !call_query_range(call, "limit", 1, LIMIT_MAX, &limit)) return;
    if (!wanted) wanted = "friends";
    if (!known_state(wanted)) {
        http_problem(call->request, 400, "bad_query", "\"state\" must be friends, requested, invited, blocked or all",
                     0);
        return;
    }
    user_list_ask(
        &(struct user_list){.request = call->request,
                            .feeds = nearby->feeds,
                            .profiles = user_copies_profiles(nearby->copies),
                            .put_user = user_json_find_texts,
                            .put_more = put_half},
        nearby->routers, &ASK_FRIENDS,
        RPC_VALUES(RPC_INT(USER, user), RPC_TEXT(STATE, wanted), RPC_INT(LIMIT, limit), RPC_INT(AFTER, after)));
}

/* ---- friends of both ---- */

/* Both owners' lists go to this gateway: owners do not ask each other. The caller pays for their bytes as for those of an answer, as they
 * are as long as friends.cap lets them be. */
struct mutual_request {
    struct user_list list;
    int64_t after, limit;
    struct buffer ids[2]; /* as the owners have answered: of the caller, of the user */
};

static void mutual_answered(void *context, size_t tag, struct json_bytes reply) {
    buffer_append(&((struct mutual_request *)context)->ids[tag], reply.data, reply.size);
}

static void mutual_gathered(void *context, bool stopping) {
    struct mutual_request *mutual = context;
    struct json_bytes answers[2];
    size_t size = 0;
    (void)stopping; // an owner who was not asked has not answered
    for (size_t i = 0; i < 2; i++) {
        answers[i] = (struct json_bytes){(const char *)mutual->ids[i].data, mutual->ids[i].size};
        size += mutual->ids[i].size;
    }
    http_add_work(mutual->list.request, (int64_t)(size / LIMITS_BYTES));
    user_list_show_page(&mutual->list, mutual_page(answers, mutual->after, (size_t)mutual->limit));
    for (size_t i = 0; i < 2; i++) buffer_free(&mutual->ids[i]);
    free(mutual);
}

static void get_mutual_friends(void *state, const struct call *call) {
    struct nearby_gateway *nearby = state;
    int64_t me = call->claims.user, user = call->values[0].user, after = -1, limit = LIMIT_DEFAULT;
    if (!call_query_int(call, "after", &after) || !call_query_range(call, "limit", 1, LIMIT_MAX, &limit) ||
        !are_two(call, me, user))
        return;
    struct mutual_request *mutual =
        MEM_NEW(&(struct mutual_request){.list = {.request = call->request,
                                                  .feeds = nearby->feeds,
                                                  .profiles = user_copies_profiles(nearby->copies),
                                                  .put_user = user_json_find},
                                         .after = after,
                                         .limit = limit});
    struct gather *gather = gather_new(&(struct gather_options){.owners = nearby->routers,
                                                                .timeout_ms = IDS_TIMEOUT_MS,
                                                                .context = mutual,
                                                                .answer = mutual_answered,
                                                                .done = mutual_gathered});
    gather_ask(gather, &ASK_FRIEND_IDS, RPC_VALUES(RPC_INT(USER, me), RPC_INT(OTHER, user)), 0);
    gather_ask(gather, &ASK_FRIEND_IDS, RPC_VALUES(RPC_INT(USER, user), RPC_INT(OTHER, me)), 1);
    gather_end(gather);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/friends", get_friends, NEEDS_USER},
    {"PUT", "/v1/friends/{user}", put_friend, NEEDS_USER},
    {"DELETE", "/v1/friends/{user}", delete_friend, NEEDS_USER},
    {"PUT", "/v1/friends/{user}/rounded", put_rounding, NEEDS_USER},
    {"DELETE", "/v1/friends/{user}/rounded", delete_rounding, NEEDS_USER},
    {"PUT", "/v1/blocks/{user}", put_block, NEEDS_USER},
    {"DELETE", "/v1/blocks/{user}", delete_block, NEEDS_USER},
    {"GET", "/v1/users/{user}/mutual-friends", get_mutual_friends, NEEDS_USER},
    {"POST", "/v1/friendships", post_friendship, NEEDS_GATEWAY},
};
const struct endpoint_list FRIENDS_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
