#include "ingest/nearby/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/config.h"
#include "event/types.h"
#include "users/user_json.h"

enum {
    ANSWER_MS = 3000,
    LIMIT_MAX = 1000,
    LIMIT_DEFAULT = 20,
    CURSOR_MAX = 64,
    AHEAD_MAX_MS = 60000,
    JUST_NOW_MS = 2000
};

static const double LAT_LIMIT = 90, LNG_LIMIT = 180, DISTANCE_MAX = 1e9;

/* ---- answers ---- */

/* Appends the entry with its user's profile. False: the router's answer is not what it should be. */
static bool put_friend(struct buffer *body, const json_t *entry, int64_t user, struct profiles *profiles) {
    int32_t lat, lng;
    int64_t time;
    double distance_m;
    if (json_want_degrees(entry, "lat", LAT_LIMIT, &lat, NULL) ||
        json_want_degrees(entry, "lng", LNG_LIMIT, &lng, NULL) ||
        json_want_int(entry, "time", 0, EVENT_TIME_MAX, &time, NULL) ||
        json_want_real(entry, "distance_m", 0, DISTANCE_MAX, &distance_m, NULL))
        return false;
    buffer_byte(body, '{');
    user_json_find_texts(body, user, profiles);
    json_member_place(body, lat, lng);
    json_member_int(body, ",\"time\":", time);
    if (json_is_true(json_object_get(entry, "rounded"))) buffer_string(body, ",\"rounded\":true");
    buffer_string(body, ",\"distance_m\":");
    json_put_fixed1(body, distance_m);
    buffer_byte(body, '}');
    return true;
}

/* Friends who have opted out, or whom the caller mutes, are left out at once: the router hears of the one later, and never of the other. */
static bool put_friends(struct buffer *body, int64_t caller, const json_t *items, struct user_copies *copies) {
    size_t shown = 0;
    if (!json_is_array(items)) return false;
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *entry = json_array_get(items, i);
        int64_t user;
        if (json_want_int(entry, "user", 0, INT64_MAX, &user, NULL)) return false;
        if (sharing_modes_find(user_copies_modes(copies), user, NULL) == SHARING_OFF ||
            mutes_has(user_copies_mutes(copies), caller, user))
            continue;
        if (shown++) buffer_byte(body, ',');
        if (!put_friend(body, entry, user, user_copies_profiles(copies))) return false;
    }
    return true;
}

static bool shares(const struct nearby_gateway *nearby, int64_t user) {
    return sharing_modes_find(user_copies_modes(nearby->copies), user, NULL) != SHARING_OFF;
}

static void put_nobody(struct buffer *body) { buffer_string(body, "{\"items\":[],\"next\":null,\"time\":null}"); }

static bool put_page(const struct nearby_gateway *nearby, int64_t user, struct buffer *body, const json_t *page) {
    if (!shares(nearby, user)) { // the caller may have opted out while the answer was waited for
        put_nobody(body);
        return true;
    }
    buffer_string(body, "{\"items\":[");
    if (!put_friends(body, user, json_object_get(page, "items"), nearby->copies)) return false;
    buffer_byte(body, ']');
    bool good = json_copy_text(body, page, "next") && json_copy_int_or_null(body, page, "time");
    buffer_byte(body, '}');
    return good;
}

static void reply_nobody(struct http_request *request) {
    struct buffer body = {0};
    put_nobody(&body);
    http_reply_json_free(request, 200, &body);
}

/* ---- questions ---- */

static bool query_cursor(const struct call *call, const char **after) {
    *after = http_query(call->request, "after");
    if (!*after || (strlen(*after) <= CURSOR_MAX && strspn(*after, "0123456789abcdef_") == strlen(*after))) return true;
    http_problem(call->request, 400, "bad_query", "\"after\" must be the `next` of a page before", 0);
    return false;
}

/* A report that is ahead counts as made when it came, a moment ago; one too far ahead was refused, and the answer would wait for nothing. */
static bool query_since(const struct nearby_gateway *nearby, const struct call *call, int64_t *since) {
    if (!call_query_range(call, "since", 0, EVENT_TIME_MAX, since)) return false;
    int64_t now = clock_wall_ms();
    if (nearby->wall_clock && *since > now && *since <= now + AHEAD_MAX_MS) *since = now - JUST_NOW_MS;
    if (!nearby->wall_clock || *since <= now) return true;
    http_problem(call->request, 400, "bad_query", "\"since\" is ahead of the server's clock by more than a minute", 0);
    return false;
}

static void get_nearby(void *state, const struct call *call) {
    struct nearby_gateway *nearby = state;
    int64_t user = call->claims.user, limit = LIMIT_DEFAULT, since = -1;
    const char *after;
    if (!query_cursor(call, &after) || !query_since(nearby, call, &since) ||
        !call_query_range(call, "limit", 1, LIMIT_MAX, &limit))
        return;
    if (!shares(nearby, user)) {
        reply_nobody(call->request);
        return;
    }
    int64_t wait_ms = since >= 0 ? nearby->core.outcome_wait_ms : 0;
    nearby_ask(nearby, call, ANSWER_MS + (int)wait_ms, put_page, NULL, &ASK_NEARBY,
               RPC_VALUES(RPC_INT(USER, user), RPC_INT(LIMIT, limit), RPC_TEXT(AFTER, after), RPC_INT(SINCE, since),
                          RPC_INT(WAIT_MS, since >= 0 ? wait_ms : -1)));
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/nearby", get_nearby, NEEDS_USER},
};
const struct endpoint_list NEAR_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
