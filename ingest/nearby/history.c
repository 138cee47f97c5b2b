#include "ingest/nearby/history.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "ingest/owners.h"

enum { PEER_TIMEOUT_MS = 5000, PATH_MAX_BYTES = 512, LIMIT_MAX = 10000, CURSOR_MAX = 128 };

/* A cursor is the sink's own word; only what can stand in a URL as it is may pass. */
static bool plain(const char *cursor) {
    size_t size = strlen(cursor);
    for (size_t i = 0; i < size; i++) {
        if (!isalnum((unsigned char)cursor[i]) && !strchr("-_.", cursor[i])) return false;
    }
    return size <= CURSOR_MAX;
}

static void get_history(void *state, const struct call *call) {
    struct peers *sinks = state;
    int64_t user = call->claims.user, from = 0, until = INT64_MAX, limit = 1000;
    const char *after = http_query(call->request, "after");
    char path[PATH_MAX_BYTES];
    if (!call_query_int(call, "from", &from) || !call_query_int(call, "to", &until) ||
        !call_query_range(call, "limit", 1, LIMIT_MAX, &limit))
        return;
    if (after && !plain(after)) {
        http_problem(call->request, 400, "bad_query", "\"after\" must be the `next` of a page before", 0);
        return;
    }
    snprintf(path, sizeof path, "/peer/history/%" PRId64 "?from=%" PRId64 "&to=%" PRId64 "&limit=%" PRId64 "%s%s", user,
             from, until, limit, after ? "&after=" : "", after ? after : "");
    owners_pass_on(sinks, peers_of_user(sinks, user), path, PEER_TIMEOUT_MS, call->request);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/history", get_history, NEEDS_USER},
};
const struct endpoint_list HISTORY_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
