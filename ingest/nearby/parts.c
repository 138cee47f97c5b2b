#include "ingest/nearby/parts.h"

#include <stdlib.h>

#include "base/mem.h"

enum { RETRY_AFTER_S = 2 };

struct router_question {
    const struct nearby_gateway *nearby;
    struct http_request *request;
    int64_t user;
    nearby_put *put;
    nearby_refuse *refuse;
};

static void reply_page(const struct router_question *asked, const char *text, size_t size) {
    struct buffer body = {0};
    json_t *page = json_parse(text, size, NULL);
    if (page && asked->put(asked->nearby, asked->user, &body, page))
        http_reply_json(asked->request, 200, &body);
    else
        owners_away(asked->request, RETRY_AFTER_S);
    buffer_free(&body);
    json_decref(page);
}

static void answered(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct router_question *asked = context;
    bool refused = asked->refuse && asked->refuse(asked->nearby, asked->user, asked->request, code == 0 ? status : 0);
    if (!refused && owners_answered(asked->request, code, status)) reply_page(asked, reply, size);
    free(asked);
}

void nearby_ask(const struct nearby_gateway *nearby, const struct call *call, int timeout_ms, nearby_put *put,
                nearby_refuse *refuse, const struct rpc_question *question, const struct rpc_value *values) {
    struct router_question *asked =
        MEM_NEW(&(struct router_question){nearby, call->request, call->claims.user, put, refuse});
    rpc_ask(nearby->routers, question, values, timeout_ms, answered, asked);
}
