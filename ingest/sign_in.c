#include "ingest/sign_in.h"

#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "base/text.h"
#include "ingest/limits.h"
#include "ingest/owners.h"
#include "users/sign_ins.h"

enum { RETRY_AFTER_S = 1, EXTERNALS_MAX = 100, USERS_OF_WORK = 10 /* each is a question */ };

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

static void reply_none(struct http_request *request) {
    http_problem(request, 404, "no_user", "nobody has signed in with this id", 0);
}

static void found(void *context, int code, int64_t user, const char *external) {
    struct http_request *request = context;
    if (code)
        owners_away(request, RETRY_AFTER_S);
    else if (user < 0)
        reply_none(request);
    else
        reply(request, user, external);
}

/* Of a text that external_id_is. */
static void find(struct sign_ins *sign_ins, const struct path_value *value, void *context, sign_ins_answer *done) {
    char external[EXTERNAL_ID_SIZE];
    memcpy(external, value->text, value->size);
    external[value->size] = '\0';
    sign_ins_find(sign_ins, external, context, done);
}

/* ---- the users of a call ---- */

struct settling {
    struct sign_ins *sign_ins;
    struct call *call;
    void (*go_on)(struct http_request *request);
};

static void path_user_found(void *context, int code, int64_t user, const char *external) {
    struct settling *settling = context;
    struct path_value *values = settling->call->values;
    for (size_t i = 0; i < PATH_VALUES_MAX; i++)
        if (values[i].external && values[i].size == strlen(external) &&
            !memcmp(values[i].text, external, values[i].size))
            values[i] = (struct path_value){.user = user, .id = -1};
    if (code)
        owners_away(settling->call->request, RETRY_AFTER_S);
    else if (user < 0)
        reply_none(settling->call->request);
    else
        sign_in_settle(settling->sign_ins, settling->call, false, settling->go_on);
    free(settling);
}

static void caller_found(void *context, int code, int64_t user, const char *external) {
    struct settling *settling = context;
    settling->call->claims.user = user;
    if (code)
        owners_away(settling->call->request, RETRY_AFTER_S);
    else
        sign_in_settle(settling->sign_ins, settling->call, false, settling->go_on);
    free(settling);
}

void sign_in_settle(struct sign_ins *sign_ins, struct call *call, bool caller,
                    void (*go_on)(struct http_request *request)) {
    const struct path_value *values = call->values;
    const struct settling settling = {sign_ins, call, go_on};
    size_t i = 0;
    if (caller && !sign_ins_know(sign_ins, &call->claims)) {
        sign_ins_ask(sign_ins, call->claims.external, MEM_NEW(&settling), caller_found);
        return;
    }
    while (i < PATH_VALUES_MAX && !values[i].external) i++;
    if (i < PATH_VALUES_MAX)
        find(sign_ins, &values[i], MEM_NEW(&settling), path_user_found);
    else
        go_on(call->request);
}

/* ---- one ---- */

static void get_external(void *state, const struct call *call) {
    const struct path_value *value = &call->values[0];
    if (state && external_id_is(value->text, value->size))
        find(state, value, call->request, found);
    else
        http_problem(call->request, 404, "no_user", "no user has such an id", 0);
}

/* ---- many ---- */

/* The texts of a query while their numbers are asked for, and its numbers while their texts are. */
struct many_externals {
    struct http_request *request;
    size_t waiting, texts, count; /* the first items came as texts */
    bool failed;
    struct {
        int64_t user;                    /* -1: of this text there is none, or the answer is not there yet */
        char external[EXTERNAL_ID_SIZE]; /* "": the same of a number */
    } items[2 * EXTERNALS_MAX];
};

static void reply_many(struct many_externals *many) {
    struct buffer body = {.data = NULL};
    buffer_string(&body, "{\"users\":[");
    for (size_t i = 0, put = 0; i < many->count; i++) {
        if (many->items[i].user < 0 || !many->items[i].external[0]) continue;
        json_member_int(&body, put++ ? ",{\"user\":" : "{\"user\":", many->items[i].user);
        json_member_text(&body, ",\"external\":", many->items[i].external);
        buffer_byte(&body, '}');
    }
    buffer_string(&body, "]}");
    if (many->failed)
        owners_away(many->request, RETRY_AFTER_S);
    else
        http_reply_json(many->request, 200, &body);
    buffer_free(&body);
    free(many);
}

/* The number of a text, or the text of a number. */
static void one_found(void *context, int code, int64_t user, const char *external) {
    struct many_externals *many = context;
    many->failed = many->failed || code;
    for (size_t i = 0; i < many->count; i++)
        if (i >= many->texts && many->items[i].user == user)
            strcpy(many->items[i].external, external);
        else if (i < many->texts && !strcmp(many->items[i].external, external))
            many->items[i].user = user;
    if (!--many->waiting) reply_many(many);
}

/* False: there are too many, or one is none. text NULL: there are none. */
static bool read_texts(struct many_externals *many, const char *text) {
    for (const char *comma = text; comma; text = comma + 1) {
        comma = strchr(text, ',');
        size_t size = comma ? (size_t)(comma - text) : strlen(text);
        if (many->count == EXTERNALS_MAX || !external_id_is(text, size)) return false;
        many->items[many->count].user = -1;
        memcpy(many->items[many->count++].external, text, size);
    }
    many->texts = many->count;
    return true;
}

static bool read_users(struct many_externals *many, const char *text) {
    int64_t users[EXTERNALS_MAX];
    size_t count = 0;
    if (text && !text_numbers(text, users, EXTERNALS_MAX, &count)) return false;
    for (size_t i = 0; i < count; i++) many->items[many->count++].user = users[i];
    return true;
}

static void get_externals(void *state, const struct call *call) {
    struct many_externals *many = mem_zero(1, sizeof *many);
    many->request = call->request;
    if (!read_texts(many, http_query(call->request, "externals")) ||
        !read_users(many, http_query(call->request, "users"))) {
        free(many);
        http_problem(call->request, 400, "bad_query",
                     "\"externals\" and \"users\" must be 1 to 100 ids each, with commas between them", 0);
        return;
    }
    http_add_work(call->request, (int64_t)(many->texts / LIMITS_ROWS + (many->count - many->texts) / USERS_OF_WORK));
    size_t count = state ? many->count : 0;
    many->waiting = count + 1; // the last one is this function, as an answer may come at once
    for (size_t i = 0; i < count; i++)
        if (i < many->texts)
            sign_ins_find(state, many->items[i].external, many, one_found);
        else
            sign_ins_text(state, many->items[i].user, many, one_found);
    if (!--many->waiting) reply_many(many);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/me", get_me, NEEDS_USER},
    {"GET", "/v1/externals", get_externals, NEEDS_TOKEN},
    {"GET", "/v1/externals/{external:text}", get_external, NEEDS_TOKEN},
};
const struct endpoint_list SIGN_IN_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
