#include "ingest/nearby/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/config.h"
#include "event/types.h"
#include "json/place.h"
#include "users/user_json.h"

enum {
    ANSWER_MS = 3000,
    LIMIT_MAX = 1000,
    LIMIT_DEFAULT = 20,
    CURSOR_MAX = 64,
    AHEAD_MAX_MS = 60000,
    JUST_NOW_MS = 2000
};

static const double DISTANCE_MAX = 1e9;

/* ---- answers ---- */

static bool read_details(const json_t *entry, struct near_friend *near) {
    near->accuracy = -1;
    return json_want_int(entry, "accuracy", 0, PLACE_ACCURACY_MAX, &near->accuracy, NULL) != -EINVAL &&
           !json_want_peer_details(entry, &near->details, NULL);
}

/* False: the router's answer is not what it should be. */
static bool read_friend(const json_t *entry, struct near_friend *near) {
    near->rounded = json_is_true(json_object_get(entry, "rounded"));
    return !json_want_int(entry, "user", 0, INT64_MAX, &near->user, NULL) &&
           !json_want_lat_lng(entry, &near->lat, &near->lng, NULL) &&
           !json_want_int(entry, "time", 0, EVENT_TIME_MAX, &near->time, NULL) &&
           !json_want_real(entry, "distance_m", 0, DISTANCE_MAX, &near->distance_m, NULL) && read_details(entry, near);
}

static void put_friend(struct buffer *body, const struct near_friend *near, struct profiles *profiles) {
    buffer_byte(body, '{');
    user_json_find_texts(body, near->user, profiles);
    json_member_place(body, near->lat, near->lng);
    json_member_int(body, ",\"time\":", near->time);
    if (near->rounded) buffer_string(body, ",\"rounded\":true");
    if (near->accuracy >= 0) json_member_int(body, ",\"accuracy\":", near->accuracy);
    json_member_details(body, &near->details);
    buffer_string(body, ",\"distance_m\":");
    json_put_fixed1(body, near->distance_m);
    buffer_byte(body, '}');
}

static bool shares(const struct nearby_gateway *nearby, int64_t user) {
    return sharing_modes_find(user_copies_modes(nearby->copies), user, NULL) != SHARING_OFF;
}

/* The choice may be over since the router heard of the report. */
static void hide_details(const struct nearby_gateway *nearby, struct near_friend *near) {
    if (sharing_modes_details(user_copies_modes(nearby->copies), near->user)) return;
    near->accuracy = -1;
    near->details = (struct report_details){DETAILS_NONE};
}

/* Callers or friends who have opted out, or whom the caller mutes, are left out at once: the router hears of the one later, and never of the
 * other. */
bool near_put_friends(const struct nearby_gateway *nearby, int64_t caller, struct buffer *body, const json_t *page,
                      near_put_friend *put) {
    const json_t *items = json_object_get(page, "items");
    size_t count = shares(nearby, caller) ? json_array_size(items) : 0, shown = 0;
    buffer_byte(body, '[');
    for (size_t i = 0; i < count; i++) {
        struct near_friend near;
        if (!read_friend(json_array_get(items, i), &near)) return false;
        if (!shares(nearby, near.user) || mutes_has(user_copies_mutes(nearby->copies), caller, near.user)) continue;
        hide_details(nearby, &near);
        if (shown++) buffer_byte(body, ',');
        put(body, &near, user_copies_profiles(nearby->copies));
    }
    buffer_byte(body, ']');
    return json_is_array(items);
}

static void put_nobody(struct buffer *body) { buffer_string(body, "{\"items\":[],\"next\":null,\"time\":null}"); }

static bool put_page(const struct nearby_gateway *nearby, int64_t user, struct buffer *body, const json_t *page) {
    if (!shares(nearby, user)) { // the caller may have opted out while the answer was waited for
        put_nobody(body);
        return true;
    }
    buffer_string(body, "{\"items\":");
    if (!near_put_friends(nearby, user, body, page, put_friend)) return false;
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
