/* GET /v1/history: the caller's own reports, read out by the sink that owns them. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ingest/gateway.h"

enum { PEER_TIMEOUT_MS = 5000, PATH_MAX_BYTES = 512, LIMIT_MAX = 10000, CURSOR_MAX = 128 };

static void pass_on(void *context, int code, unsigned status, const char *reply, size_t size) {
    call_pass_on(context, code, status, reply, size);
}

/* A cursor is the sink's own word; only what can stand in a URL as it is may pass. */
static bool plain(const char *cursor) {
    size_t size = strlen(cursor);
    for (size_t i = 0; i < size; i++) {
        if (!isalnum((unsigned char)cursor[i]) && !strchr("-_.", cursor[i])) return false;
    }
    return size <= CURSOR_MAX;
}

void get_history(const struct call *call) {
    int64_t user = call_user(call), from = 0, until = INT64_MAX, limit = 1000;
    const char *after = http_query(call->request, "after");
    char path[PATH_MAX_BYTES];
    if (user < 0) return;
    if (!call_query_int(call, "from", &from) || !call_query_int(call, "to", &until) ||
        !call_query_int(call, "limit", &limit))
        return;
    if (limit < 1 || limit > LIMIT_MAX || (after && !plain(after))) {
        http_problem(call->request, 400, "bad_query", "limit is 1 to 10000; after is the `next` of a page before", 0);
        return;
    }
    snprintf(path, sizeof path, "/peer/history/%" PRId64 "?from=%" PRId64 "&to=%" PRId64 "&limit=%" PRId64 "%s%s", user,
             from, until, limit, after ? "&after=" : "", after ? after : "");
    peers_fetch(call->gateway->sinks, user, path, PEER_TIMEOUT_MS, pass_on, call->request);
}
