#include "ingest/sign_in.h"

#include <string.h>

#include "base/config.h"
#include "ingest/owners.h"
#include "users/sign_ins.h"

enum { RETRY_AFTER_S = 1 };

static void reply(struct http_request *request, int64_t user, const char *external) {
    struct buffer body = {.data = NULL};
    json_member_int(&body, "{\"user\":", user);
    if (*external) json_member_text(&body, ",\"external\":", external);
    buffer_byte(&body, '}');
    http_reply_json(request, 200, &body);
    buffer_free(&body);
}

static void get_me(void *state, const struct call *call) {
    reply(call->request, call->claims.user, call->claims.external);
}

static void found(void *context, int code, int64_t user, const char *external) {
    struct http_request *request = context;
    if (code)
        owners_away(request, RETRY_AFTER_S);
    else if (user < 0)
        http_problem(request, 404, "no_user", "nobody has signed in with this id", 0);
    else
        reply(request, user, external);
}

static void get_external(void *state, const struct call *call) {
    const struct path_value *value = &call->values[0];
    char external[EXTERNAL_ID_SIZE];
    if (!state || !external_id_is(value->text, value->size)) {
        http_problem(call->request, 404, "no_user", "no user has such an id", 0);
        return;
    }
    memcpy(external, value->text, value->size);
    external[value->size] = '\0';
    sign_ins_find(state, external, call->request, found);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/me", get_me, NEEDS_USER},
    {"GET", "/v1/externals/{external:text}", get_external, NEEDS_TOKEN},
};
const struct endpoint_list SIGN_IN_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
