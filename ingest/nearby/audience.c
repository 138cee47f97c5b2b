#include "ingest/nearby/parts.h"

#include <inttypes.h>

enum { ANSWER_MS = 3000, LIMIT_MAX = 1000, LIMIT_DEFAULT = 20 };

/* ---- answers ---- */

static enum sharing_mode mode_of(const struct nearby_gateway *nearby, int64_t user) {
    return sharing_modes_find(user_copies_modes(nearby->copies), user, NULL);
}

/* False: the router's answer is not what it should be. */
static bool put_items(struct buffer *body, const struct nearby_gateway *nearby, const json_t *items) {
    size_t shown = 0;
    if (!json_is_array(items)) return false;
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *entry = json_array_get(items, i), *near = json_object_get(entry, "near");
        int64_t user;
        if (json_want_int(entry, "user", 0, INT64_MAX, &user, NULL) || !json_is_boolean(near)) return false;
        if (mode_of(nearby, user) == SHARING_OFF) continue;
        buffer_format(body, "%s{\"user\":%" PRId64 ",\"near\":%s}", shown++ ? "," : "", user,
                      json_is_true(near) ? "true" : "false");
    }
    return true;
}

static void put_nobody(struct buffer *body) {
    buffer_string(body, "{\"mode\":\"off\",\"visible\":false,\"items\":[],\"next\":null}");
}

static bool put_page(const struct nearby_gateway *nearby, int64_t user, struct buffer *body, const json_t *page) {
    const json_t *visible = json_object_get(page, "visible");
    const char *mode;
    if (mode_of(nearby, user) == SHARING_OFF) { // since it was asked, too
        put_nobody(body);
        return true;
    }
    if (json_want_text(page, "mode", &mode, NULL) || !json_is_boolean(visible)) return false;
    json_member_text(body, "{\"mode\":", mode);
    buffer_format(body, ",\"visible\":%s,\"items\":[", json_is_true(visible) ? "true" : "false");
    if (!put_items(body, nearby, json_object_get(page, "items"))) return false;
    buffer_byte(body, ']');
    bool good = json_copy_int_or_null(body, page, "next");
    buffer_byte(body, '}');
    return good;
}

static void reply_nobody(struct http_request *request) {
    struct buffer body = {0};
    put_nobody(&body);
    http_reply_json_free(request, 200, &body);
}

/* ---- questions ---- */

static void get_audience(void *state, const struct call *call) {
    struct nearby_gateway *nearby = state;
    int64_t user = call->claims.user, after = -1, limit = LIMIT_DEFAULT;
    if (!call_query_int(call, "after", &after) || !call_query_range(call, "limit", 1, LIMIT_MAX, &limit)) return;
    if (mode_of(nearby, user) == SHARING_OFF) {
        reply_nobody(call->request);
        return;
    }
    nearby_ask(nearby, call, ANSWER_MS, put_page, NULL, &ASK_AUDIENCE,
               RPC_VALUES(RPC_INT(USER, user), RPC_INT(LIMIT, limit), RPC_INT(AFTER, after)));
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/audience", get_audience, NEEDS_USER},
};
const struct endpoint_list AUDIENCE_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
