#include "ingest/nearby/discover.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ingest/rates.h"

enum {
    PEER_TIMEOUT_MS = 3000,
    PATH_MAX_BYTES = 192,
    LIMIT_DEFAULT = 20,
    LIMIT_MAX = 1000,
    CURSOR_MAX = 64,
    RETRY_AFTER_S = 2
};

struct discover_page {
    struct discover_page_options options;
    struct rates *rates;
};

/* A question that a router has. */
struct discover_question {
    struct discover_page *page;
    struct http_request *request;
    int64_t user;
};

static bool is_public(const struct discover_page *page, int64_t user) {
    return sharing_modes_find(user_copies_modes(page->options.copies), user, NULL) == SHARING_PUBLIC;
}

static void put_profile_of(struct buffer *body, struct profiles *profiles, int64_t user) {
    struct profile profile = {.name = {"", 0}, .avatar_url = {"", 0}};
    profiles_find(profiles, user, &profile);
    buffer_string(body, ",\"name\":");
    json_put_text(body, profile.name.data, profile.name.size);
    buffer_string(body, ",\"avatar_url\":");
    json_put_text(body, profile.avatar_url.data, profile.avatar_url.size);
}

/* Appends one item of the router's; nothing if the user no longer shares publicly. False: it is no item. */
static bool put_item(struct buffer *body, const struct discover_page *page, const json_t *item, bool *first) {
    int64_t user, time;
    int32_t lat, lng;
    double distance_m;
    if (json_want_int(item, "user", 0, INT64_MAX, &user, NULL) || json_want_degrees(item, "lat", 90, &lat, NULL) ||
        json_want_degrees(item, "lng", 180, &lng, NULL) ||
        json_want_real(item, "distance_m", 0, 1e9, &distance_m, NULL) ||
        json_want_int(item, "time", 0, INT64_MAX, &time, NULL))
        return false;
    if (!is_public(page, user)) return true;
    buffer_string(body, *first ? "{\"user\":" : ",{\"user\":");
    *first = false;
    json_put_int(body, user);
    put_profile_of(body, user_copies_profiles(page->options.copies), user);
    buffer_string(body, ",\"lat\":");
    json_put_degrees(body, lat);
    buffer_string(body, ",\"lng\":");
    json_put_degrees(body, lng);
    buffer_string(body, ",\"distance_m\":");
    json_put_fixed1(body, distance_m);
    buffer_format(body, ",\"time\":%" PRId64 "}", time);
    return true;
}

static bool put_page(struct buffer *body, const struct discover_page *page, const json_t *list) {
    const json_t *items = json_object_get(list, "items"), *next = json_object_get(list, "next");
    const json_t *cell = json_object_get(list, "cell");
    double height, width;
    bool first = true;
    if (!json_is_array(items) || !(json_is_string(next) || json_is_null(next)) ||
        json_want_real(cell, "height", 0, 180, &height, NULL) || json_want_real(cell, "width", 0, 360, &width, NULL))
        return false;
    buffer_string(body, "{\"items\":[");
    for (size_t i = 0; i < json_array_size(items); i++) {
        if (!put_item(body, page, json_array_get(items, i), &first)) return false;
    }
    buffer_string(body, "],\"next\":");
    if (json_is_string(next))
        json_put_text(body, json_string_value(next), json_string_length(next));
    else
        buffer_string(body, "null");
    buffer_format(body, ",\"cell\":{\"height\":%.17g,\"width\":%.17g}}", height, width);
    return true;
}

static void reply_page(struct discover_question *question, const char *text, size_t size) {
    json_t *list = json_parse(text, size, NULL);
    struct buffer body = {0};
    if (list && put_page(&body, question->page, list))
        http_reply_json(question->request, 200, &body);
    else
        http_problem(question->request, 503, "owner_unavailable", "the router's answer cannot be read", RETRY_AFTER_S);
    buffer_free(&body);
    json_decref(list);
}

static void refuse_hidden(struct http_request *request) {
    http_problem(request, 403, "not_public", "only who shares publicly is shown who else does", 0);
}

static void answered(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct discover_question *question = context;
    if (!is_public(question->page, question->user)) // since it was asked
        refuse_hidden(question->request);
    else if (code == 0 && status == 200)
        reply_page(question, reply, size);
    else if (code == 0 && status == 400)
        http_problem(question->request, 400, "bad_query", "\"after\" must be the `next` of a page before", 0);
    else if (code == 0 && status == 409)
        http_problem(question->request, 409, "no_position", "the caller has not reported a position recently", 0);
    else
        http_problem(question->request, 503, "owner_unavailable",
                     "the process that has the answer is just being moved or restarted", RETRY_AFTER_S);
    free(question);
}

static bool is_cursor(const char *text) {
    size_t size = strlen(text);
    return size <= CURSOR_MAX && strspn(text, "0123456789-") == size;
}

static void get_discover(void *state, const struct call *call) {
    struct discover_page *page = state;
    const char *after = http_query(call->request, "after");
    int64_t user = call->claims.user, limit = LIMIT_DEFAULT;
    char path[PATH_MAX_BYTES];
    if (!call_query_range(call, "limit", 1, LIMIT_MAX, &limit)) return;
    if (after && !is_cursor(after)) {
        http_problem(call->request, 400, "bad_query", "\"after\" must be the `next` of a page before", 0);
        return;
    }
    if (!is_public(page, user)) {
        refuse_hidden(call->request);
        return;
    }
    int wait_s = rates_take(page->rates, (uint64_t)user, clock_coarse_ms());
    if (wait_s) {
        http_problem(call->request, 429, "too_many_questions", "the user asks faster than anybody may", wait_s);
        return;
    }
    struct discover_question *question = mem_alloc(sizeof *question);
    *question = (struct discover_question){.page = page, .request = call->request, .user = user};
    snprintf(path, sizeof path, "/peer/discover/%" PRId64 "?limit=%" PRId64 "%s%s", user, limit, after ? "&after=" : "",
             after ? after : "");
    peers_fetch(page->options.routers, peers_of_user(page->options.routers, user), path, PEER_TIMEOUT_MS, answered,
                question);
}

struct discover_page *discover_page_new(const struct discover_page_options *options) {
    struct discover_page *page = mem_alloc(sizeof *page);
    *page = (struct discover_page){.options = *options, .rates = rates_new(options->rate, options->burst)};
    return page;
}

void discover_page_free(struct discover_page *page) {
    if (!page) return;
    rates_free(page->rates);
    free(page);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/discover", get_discover, NEEDS_USER},
};
const struct endpoint_list DISCOVER_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
