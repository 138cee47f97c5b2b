#include "ingest/nearby/parts.h"

#include "users/strangers_json.h"

enum { PEER_TIMEOUT_MS = 3000, TOO_FAST_S = 1 /* the router lets a user ask at least once a second */ };

static const char NOT_A_CURSOR[] = "\"after\" must be the `next` of a page before";

static bool is_public(const struct nearby_gateway *nearby, int64_t user) {
    return sharing_modes_find(user_copies_modes(nearby->copies), user, NULL) == SHARING_PUBLIC;
}

static bool put_page(const struct nearby_gateway *nearby, int64_t user, struct buffer *body, const json_t *list) {
    struct user_copies *copies = nearby->copies;
    (void)user;
    buffer_byte(body, '{');
    bool good = strangers_json_put(body, list, user_copies_modes(copies), user_copies_profiles(copies), NULL, NULL);
    buffer_byte(body, '}');
    return good;
}

static void refuse_hidden(struct http_request *request) {
    http_problem(request, 403, "not_public", "only who shares publicly is shown who else does", 0);
}

/* The mode may have changed since the router was asked. */
static bool refuse(const struct nearby_gateway *nearby, int64_t user, struct http_request *request, unsigned status) {
    if (!is_public(nearby, user))
        refuse_hidden(request);
    else if (status == 400)
        http_problem(request, 400, "bad_query", NOT_A_CURSOR, 0);
    else if (status == 429)
        http_problem(request, 429, "too_many_questions", "the user asks faster than anybody may", TOO_FAST_S);
    else if (status == 409)
        http_problem(request, 409, "no_position", "the caller has not reported a position recently", 0);
    else
        return false;
    return true;
}

static void get_discover(void *state, const struct call *call) {
    struct nearby_gateway *nearby = state;
    const char *after = http_query(call->request, "after");
    int64_t user = call->claims.user, limit = STRANGERS_LIMIT_DEFAULT;
    if (!call_query_range(call, "limit", 1, STRANGERS_LIMIT_MAX, &limit)) return;
    if (after && !strangers_json_cursor(after)) {
        http_problem(call->request, 400, "bad_query", NOT_A_CURSOR, 0);
        return;
    }
    if (!is_public(nearby, user)) {
        refuse_hidden(call->request);
        return;
    }
    nearby_ask(nearby, call, PEER_TIMEOUT_MS, put_page, refuse, &ASK_DISCOVER,
               RPC_VALUES(RPC_INT(USER, user), RPC_INT(LIMIT, limit), RPC_TEXT(AFTER, after)));
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/discover", get_discover, NEEDS_USER},
};
const struct endpoint_list DISCOVER_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
