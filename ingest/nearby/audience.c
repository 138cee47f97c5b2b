#include "ingest/nearby/audience.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ingest/owners.h"

enum { ANSWER_MS = 3000, LIMIT_MAX = 1000, LIMIT_DEFAULT = 100, PATH_MAX_BYTES = 128 };

struct audience_pages {
    struct user_copies *copies;
    struct peers *routers;
};

struct audience_request {
    const struct audience_pages *pages;
    struct http_request *request;
    int64_t user;
};

/* ---- answers ---- */

static enum sharing_mode mode_of(const struct audience_pages *pages, int64_t user) {
    return sharing_modes_find(user_copies_modes(pages->copies), user, NULL);
}

/* False: the router's answer is not what it should be. */
static bool put_items(struct buffer *body, const struct audience_pages *pages, const json_t *items) {
    size_t shown = 0;
    if (!json_is_array(items)) return false;
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *entry = json_array_get(items, i), *near = json_object_get(entry, "near");
        int64_t user;
        if (json_want_int(entry, "user", 0, INT64_MAX, &user, NULL) || !json_is_boolean(near)) return false;
        if (mode_of(pages, user) == SHARING_OFF) continue;
        buffer_format(body, "%s{\"user\":%" PRId64 ",\"near\":%s}", shown++ ? "," : "", user,
                      json_is_true(near) ? "true" : "false");
    }
    return true;
}

static bool put_page(struct buffer *body, const struct audience_pages *pages, const json_t *page) {
    const json_t *visible = json_object_get(page, "visible"), *next = json_object_get(page, "next");
    const char *mode;
    if (json_want_text(page, "mode", &mode, NULL) || !json_is_boolean(visible) ||
        !(json_is_integer(next) || json_is_null(next)))
        return false;
    buffer_string(body, "{\"mode\":");
    json_put_text(body, mode, strlen(mode));
    buffer_format(body, ",\"visible\":%s,\"items\":[", json_is_true(visible) ? "true" : "false");
    if (!put_items(body, pages, json_object_get(page, "items"))) return false;
    if (json_is_integer(next))
        buffer_format(body, "],\"next\":%" PRId64 "}", (int64_t)json_integer_value(next));
    else
        buffer_string(body, "],\"next\":null}");
    return true;
}

static void reply_nobody(struct http_request *request) {
    struct buffer body = {0};
    buffer_string(&body, "{\"mode\":\"off\",\"visible\":false,\"items\":[],\"next\":null}");
    http_reply_json(request, 200, &body);
    buffer_free(&body);
}

static void answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct audience_request *asked = context;
    struct buffer body = {0};
    bool good = owners_answered(asked->request, code, status);
    json_t *page = good ? json_parse(text, size, NULL) : NULL;
    if (good && mode_of(asked->pages, asked->user) == SHARING_OFF) /* since it was asked, too */
        reply_nobody(asked->request);
    else if (page && put_page(&body, asked->pages, page))
        http_reply_json(asked->request, 200, &body);
    else if (good) /* by a router of another version: as if it had not answered */
        owners_answered(asked->request, -EIO, 0);
    buffer_free(&body);
    json_decref(page);
    free(asked);
}

/* ---- questions ---- */

static void get_audience(void *state, const struct call *call) {
    const struct audience_pages *pages = state;
    int64_t user = call->claims.user, after = -1, limit = LIMIT_DEFAULT;
    char path[PATH_MAX_BYTES], from[32] = "";
    if (!call_query_int(call, "after", &after) || !call_query_range(call, "limit", 1, LIMIT_MAX, &limit)) return;
    if (mode_of(pages, user) == SHARING_OFF) {
        reply_nobody(call->request);
        return;
    }
    if (after >= 0) snprintf(from, sizeof from, "&after=%" PRId64, after);
    snprintf(path, sizeof path, "/peer/audience/%" PRId64 "?limit=%" PRId64 "%s", user, limit, from);
    struct audience_request *asked = mem_alloc(sizeof *asked);
    *asked = (struct audience_request){.pages = pages, .request = call->request, .user = user};
    peers_fetch(pages->routers, peers_of_user(pages->routers, user), path, ANSWER_MS, answered, asked);
}

struct audience_pages *audience_pages_new(const struct product_options *options, struct peers *routers) {
    struct audience_pages *pages = mem_alloc(sizeof *pages);
    *pages = (struct audience_pages){.copies = options->copies, .routers = routers};
    return pages;
}

void audience_pages_free(struct audience_pages *pages) { free(pages); }

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/audience", get_audience, NEEDS_USER},
};
const struct endpoint_list AUDIENCE_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
