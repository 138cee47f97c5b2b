#include "ingest/nearby/near.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "event/types.h"
#include "ingest/owners.h"

enum { ANSWER_MS = 3000, LIMIT_MAX = 1000, LIMIT_DEFAULT = 20, CURSOR_MAX = 64, AHEAD_MAX_MS = 60000 };

static const double LAT_LIMIT = 90, LNG_LIMIT = 180, DISTANCE_MAX = 1e9;

struct near_lists {
    struct user_copies *copies;
    struct peers *routers;
    int64_t wait_ms; /* for the caller's own report */
    bool wall_clock;
};

struct near_request {
    const struct near_lists *lists;
    struct http_request *request;
    int64_t user;
};

/* ---- answers ---- */

/* Appends the entry with its user's profile. False: the router's answer is not what it should be. */
static bool put_friend(struct buffer *body, const json_t *entry, int64_t user, struct profiles *profiles) {
    int32_t lat, lng;
    int64_t time;
    double distance_m;
    struct profile profile;
    if (json_want_degrees(entry, "lat", LAT_LIMIT, &lat, NULL) ||
        json_want_degrees(entry, "lng", LNG_LIMIT, &lng, NULL) ||
        json_want_int(entry, "time", 0, EVENT_TIME_MAX, &time, NULL) ||
        json_want_real(entry, "distance_m", 0, DISTANCE_MAX, &distance_m, NULL))
        return false;
    if (!profiles_find(profiles, user, &profile)) profile = (struct profile){.name = {"", 0}, .avatar_url = {"", 0}};
    buffer_string(body, "{\"user\":");
    json_put_int(body, user);
    buffer_string(body, ",\"name\":");
    json_put_text(body, profile.name.data, profile.name.size);
    buffer_string(body, ",\"avatar_url\":");
    json_put_text(body, profile.avatar_url.data, profile.avatar_url.size);
    buffer_string(body, ",\"lat\":");
    json_put_degrees(body, lat);
    buffer_string(body, ",\"lng\":");
    json_put_degrees(body, lng);
    buffer_string(body, ",\"time\":");
    json_put_int(body, time);
    buffer_string(body, ",\"distance_m\":");
    json_put_fixed1(body, distance_m);
    buffer_byte(body, '}');
    return true;
}

/* Who has opted out is left out at once: the router hears of it later. */
static bool put_friends(struct buffer *body, const json_t *items, struct user_copies *copies) {
    size_t shown = 0;
    if (!json_is_array(items)) return false;
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *entry = json_array_get(items, i);
        int64_t user;
        if (json_want_int(entry, "user", 0, INT64_MAX, &user, NULL)) return false;
        if (sharing_modes_find(user_copies_modes(copies), user, NULL) == SHARING_OFF) continue;
        if (shown++) buffer_byte(body, ',');
        if (!put_friend(body, entry, user, user_copies_profiles(copies))) return false;
    }
    return true;
}

static bool put_page(struct buffer *body, const json_t *page, struct user_copies *copies) {
    const json_t *next = json_object_get(page, "next"), *time = json_object_get(page, "time");
    if (!(json_is_string(next) || json_is_null(next)) || !(json_is_integer(time) || json_is_null(time))) return false;
    buffer_string(body, "{\"items\":[");
    if (!put_friends(body, json_object_get(page, "items"), copies)) return false;
    buffer_string(body, "],\"next\":");
    if (json_is_string(next))
        json_put_text(body, json_string_value(next), json_string_length(next));
    else
        buffer_string(body, "null");
    buffer_string(body, ",\"time\":");
    if (json_is_integer(time))
        json_put_int(body, json_integer_value(time));
    else
        buffer_string(body, "null");
    buffer_byte(body, '}');
    return true;
}

static bool shares(const struct near_lists *lists, int64_t user) {
    return sharing_modes_find(user_copies_modes(lists->copies), user, NULL) != SHARING_OFF;
}

static void reply_nobody(struct http_request *request) {
    struct buffer body = {0};
    buffer_string(&body, "{\"items\":[],\"next\":null,\"time\":null}");
    http_reply_json(request, 200, &body);
    buffer_free(&body);
}

static void answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct near_request *asked = context;
    struct buffer body = {0};
    bool good = owners_answered(asked->request, code, status);
    json_t *page = good ? json_parse(text, size, NULL) : NULL;
    if (good && !shares(asked->lists, asked->user)) /* the caller may have opted out while the answer was waited for */
        reply_nobody(asked->request);
    else if (page && put_page(&body, page, asked->lists->copies))
        http_reply_json(asked->request, 200, &body);
    else if (good) /* by a router of another version: as if it had not answered */
        owners_answered(asked->request, -EIO, 0);
    buffer_free(&body);
    json_decref(page);
    free(asked);
}

/* ---- questions ---- */

static bool query_cursor(const struct call *call, const char **after) {
    *after = http_query(call->request, "after");
    if (!*after || (strlen(*after) <= CURSOR_MAX && strspn(*after, "0123456789abcdef_") == strlen(*after))) return true;
    http_problem(call->request, 400, "bad_query", "\"after\" must be the `next` of a page before", 0);
    return false;
}

/* A report with such a time would be refused, too, so that the answer would wait for nothing. */
static bool query_since(const struct near_lists *lists, const struct call *call, int64_t *since) {
    if (!call_query_range(call, "since", 0, EVENT_TIME_MAX, since)) return false;
    if (!lists->wall_clock || *since <= clock_wall_ms() + AHEAD_MAX_MS) return true;
    http_problem(call->request, 400, "bad_query", "\"since\" is ahead of the server's clock by more than a minute", 0);
    return false;
}

static void get_nearby(void *state, const struct call *call) {
    const struct near_lists *lists = state;
    int64_t user = call->claims.user, limit = LIMIT_DEFAULT, since = -1;
    const char *after;
    if (!query_cursor(call, &after) || !query_since(lists, call, &since) ||
        !call_query_range(call, "limit", 1, LIMIT_MAX, &limit))
        return;
    if (!shares(lists, user)) {
        reply_nobody(call->request);
        return;
    }
    struct buffer path = {0};
    int64_t wait_ms = since >= 0 ? lists->wait_ms : 0;
    buffer_format(&path, "/peer/nearby/%" PRId64 "?limit=%" PRId64, user, limit);
    if (after) buffer_format(&path, "&after=%s", after);
    if (since >= 0) buffer_format(&path, "&since=%" PRId64 "&wait_ms=%" PRId64, since, wait_ms);
    struct near_request *asked = mem_alloc(sizeof *asked);
    *asked = (struct near_request){.lists = lists, .request = call->request, .user = user};
    peers_fetch(lists->routers, peers_of_user(lists->routers, user), buffer_cstring(&path), ANSWER_MS + (int)wait_ms,
                answered, asked);
    buffer_free(&path);
}

struct near_lists *near_lists_new(const struct product_options *options, struct peers *routers, bool wall_clock) {
    struct near_lists *lists = mem_alloc(sizeof *lists);
    *lists = (struct near_lists){
        .copies = options->copies, .routers = routers, .wait_ms = options->outcome_wait_ms, .wall_clock = wall_clock};
    return lists;
}

void near_lists_free(struct near_lists *lists) { free(lists); }

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/nearby", get_nearby, NEEDS_USER},
};
const struct endpoint_list NEAR_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
