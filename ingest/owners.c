#include "ingest/owners.h"

enum { RETRY_AFTER_S = 2 };

bool owners_answered(struct http_request *request, int code, unsigned status) {
    if (code == 0 && status == 200) return true;
    if (code == 0 && status == 400)
        http_problem(request, 400, "bad_query",
                     "the owner does not accept the parameters: is `after` of a page before?", 0);
    else
        http_problem(request, 503, "owner_unavailable",
                     "the process that has the answer is just being moved or restarted", RETRY_AFTER_S);
    return false;
}

static void answered(void *context, int code, unsigned status, const char *reply, size_t size) {
    static const struct http_field FIELDS[] = {{"Cache-Control", "no-store"}};
    struct http_request *request = context;
    if (owners_answered(request, code, status)) http_reply(request, status, "application/json", reply, size, FIELDS, 1);
}

void owners_pass_on(struct peers *peers, int32_t partition, const char *path, int timeout_ms,
                    struct http_request *request) {
    peers_fetch(peers, partition, path, timeout_ms, answered, request);
}
