#include "ingest/feed/notices.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/config.h"
#include "base/mem.h"
#include "ingest/feed/parts.h"
#include "ingest/owners.h"
#include "users/notice.h"

enum { PEER_TIMEOUT_MS = 3000, LIMIT_MAX = 1000, LIMIT_DEFAULT = 20 };

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
    char *path = mem_format("/peer/notices/%" PRId64 "?limit=%" PRId64 "%s%s", user, limit, after ? "&after=" : "",
                            after ? after : "");
    owners_pass_on(gateway->owners, peers_of_user(gateway->owners, user), path, PEER_TIMEOUT_MS, call->request);
    free(path);
}

static const struct endpoint ENDPOINTS[] = {{"GET", "/v1/notices", get_notices, NEEDS_USER}};
const struct endpoint_list NOTICES_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
