#include "ingest/owners.h"

#include <stdlib.h>

#include "base/mem.h"

enum { RETRY_AFTER_S = 2 };

void owners_away(struct http_request *request, int retry_after_s) {
    http_problem(request, 503, "owner_unavailable", "the process that has the answer is just being moved or restarted",
                 retry_after_s);
}

bool owners_answered(struct http_request *request, int code, unsigned status) {
    if (code == 0 && status == 200) return true;
    if (code == 0 && status == 400)
        http_problem(request, 400, "bad_query",
                     "the owner does not accept the parameters: is `after` of a page before?", 0);
    else
        owners_away(request, RETRY_AFTER_S);
    return false;
}

static void passed_on(void *context, int code, unsigned status, const char *reply, size_t size) {
    static const struct http_field FIELDS[] = {{"Cache-Control", "no-store"}};
    struct http_request *request = context;
    if (owners_answered(request, code, status)) http_reply(request, status, "application/json", reply, size, FIELDS, 1);
}

void owners_pass_on(struct peers *peers, const struct rpc_question *question, const struct rpc_value *values,
                    int timeout_ms, struct http_request *request) {
    rpc_ask(peers, question, values, timeout_ms, passed_on, request);
}

static void reply_page(const struct owners_question *asked, const char *text, size_t size) {
    struct buffer body = {0};
    json_t *page = json_parse(text, size, NULL);
    if (page && asked->put(asked->context, asked->user, &body, page))
        http_reply_json(asked->request, 200, &body);
    else
        owners_away(asked->request, RETRY_AFTER_S);
    buffer_free(&body);
    json_decref(page);
}

static void answered(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct owners_question *asked = context;
    bool refused = asked->refuse && asked->refuse(asked->context, asked->user, asked->request, code == 0 ? status : 0);
    if (!refused && owners_answered(asked->request, code, status)) reply_page(asked, reply, size);
    free(asked);
}

void owners_ask(const struct owners_question *wanted, const struct rpc_question *question,
                const struct rpc_value *values) {
    struct owners_question *asked = mem_alloc(sizeof *asked);
    *asked = *wanted;
    rpc_ask(asked->owners, question, values, asked->timeout_ms, answered, asked);
}
