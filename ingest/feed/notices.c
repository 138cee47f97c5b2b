/* The caller's notices, without those about posts that the caller may not see now. */
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "ingest/feed/parts.h"
#include "users/notice.h"

enum { PEER_TIMEOUT_MS = 3000, LIMIT_MAX = 1000, LIMIT_DEFAULT = 20 };

struct notices_request {
    struct feed_gateway *gateway;
    struct http_request *request;
    int64_t user;
    json_t *page; /* the owner's */
    struct notice_sight {
        struct notices_request *asked;
        bool may;
    } * sights;     /* of the page's items */
    size_t waiting; /* for these, and for the asker itself */
};

static void settle(struct notices_request *asked) {
    json_t *items = json_object_get(asked->page, "items");
    if (--asked->waiting) return;
    for (size_t i = json_array_size(items); i-- > 0;)
        if (!asked->sights[i].may) json_array_remove(items, i);
    char *text = json_dumps(asked->page, JSON_COMPACT);
    http_reply(asked->request, 200, "application/json", text ? text : "", text ? strlen(text) : 0, NULL, 0);
    free(text);
    json_decref(asked->page);
    free(asked->sights);
    free(asked);
}

/* One whose post's owner is away comes back when the page is read again. */
static void answered(void *context, enum sight_answer answer) {
    struct notice_sight *sight = context;
    sight->may = answer == SIGHT_YES;
    settle(sight->asked);
}

static void ask_sights(struct notices_request *asked) {
    const json_t *items = json_object_get(asked->page, "items");
    size_t count = json_array_size(items);
    asked->sights = mem_zero(count + 1, sizeof *asked->sights);
    asked->waiting = 1;
    for (size_t i = 0; i < count; i++) {
        const char *subject = json_string_value(json_object_get(json_array_get(items, i), "subject"));
        int64_t post = subject ? sights_post_of(subject) : 0;
        asked->sights[i] = (struct notice_sight){asked, true};
        if (!post) continue;
        asked->waiting++;
        sights_ask(
            asked->gateway->sights,
            &(struct sights_wish){
                .reader = asked->user, .author = -1, .post = post, .context = &asked->sights[i], .done = answered});
    }
    settle(asked);
}

static void listed(void *context, int code, unsigned status, const char *text, size_t size) {
    struct notices_request *asked = context;
    if (!owners_answered(asked->request, code, status)) {
        free(asked);
        return;
    }
    asked->page = json_parse(text, size, NULL);
    ask_sights(asked);
}

static void get_notices(void *state, const struct call *call) {
    struct feed_gateway *gateway = state;
    const char *after = http_query(call->request, "after");
    struct notice_key key;
    int64_t user = call->claims.user, limit = LIMIT_DEFAULT;
    if (after && !notice_id_read(after, &key)) {
        http_problem(call->request, 400, "bad_query", "\"after\" must be the next of a page before", 0);
        return;
    }
    if (!call_query_range(call, "limit", 1, LIMIT_MAX, &limit)) return;
    struct notices_request *asked =
        MEM_NEW(&(struct notices_request){.gateway = gateway, .request = call->request, .user = user});
    rpc_ask(gateway->owners, &ASK_NOTICES,
            RPC_VALUES(RPC_INT(USER, user), RPC_INT(LIMIT, limit), RPC_TEXT(AFTER, after)), PEER_TIMEOUT_MS, listed,
            asked);
}

static const struct endpoint ENDPOINTS[] = {{"GET", "/v1/notices", get_notices, NEEDS_USER}};
const struct endpoint_list FEED_NOTICES_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
