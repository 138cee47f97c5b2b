/* The caller's notices: pages of them, up to which they are read, and how they are told. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/topics.h"
#include "ingest/feed/parts.h"
#include "ingest/limits.h"
#include "posts/notice_list.h"
#include "users/notice.h"

enum { PEER_TIMEOUT_MS = 3000, LIMIT_MAX = 1000, LIMIT_DEFAULT = 20, AHEAD_MS = 60000, VALUES_MAX = 64 };

static void reply_value(struct http_request *request, const json_t *value) {
    struct buffer body = {0};
    json_put_value(&body, value);
    http_reply_json(request, 200, &body);
    buffer_free(&body);
}

/* ---- pages ---- */

struct notices_request {
    struct http_request *request;
    size_t limit;
    bool any_after;
    struct notice_key after;
};

static bool is_behind(const struct notices_request *asked, const json_t *item) {
    const char *id = json_string_value(json_object_get(item, "id"));
    struct notice_key key;
    return !asked->any_after || (id && notice_id_read(id, &key) && notice_is_newer(&asked->after, &key));
}

/* The list becomes the page that is asked for. */
static void cut(const struct notices_request *asked, json_t *list) {
    json_t *items = json_object_get(list, "items"), *next = json_null();
    size_t from = 0;
    while (from < json_array_size(items) && !is_behind(asked, json_array_get(items, from))) from++;
    while (from--) json_array_remove(items, 0);
    if (json_array_size(items) > asked->limit) next = json_object_get(json_array_get(items, asked->limit - 1), "id");
    json_object_set(list, "next", next);
    while (json_array_size(items) > asked->limit) json_array_remove(items, asked->limit);
    json_object_del(list, "preferences");
    json_object_del(list, "version");
}

static void listed(void *context, int code, unsigned status, json_t *list) {
    struct notices_request *asked = context;
    if (list) {
        cut(asked, list);
        reply_value(asked->request, list);
        json_decref(list);
    } else if (owners_answered(asked->request, code, status)) {
        owners_away(asked->request, FEED_RETRY_AFTER_S);
    }
    free(asked);
}

static void get_notices(void *state, const struct call *call) {
    const struct feed_gateway *gateway = state;
    const char *after = http_query(call->request, "after");
    struct notices_request wanted = {.request = call->request, .any_after = after != NULL};
    int64_t limit = LIMIT_DEFAULT;
    if (after && !notice_id_read(after, &wanted.after)) {
        http_problem(call->request, 400, "bad_query", "\"after\" must be the next of a page before", 0);
        return;
    }
    if (!call_query_range(call, "limit", 1, LIMIT_MAX, &limit)) return;
    wanted.limit = (size_t)limit;
    http_add_work(call->request, 1 + NOTICES_KEPT / LIMITS_ROWS); // all are read, whatever the page
    notice_list_ask(gateway->owners, gateway->sights, call->claims.user, listed, MEM_NEW(&wanted));
}

/* ---- wishes ---- */

struct notice_wish {
    struct feed_gateway *gateway;
    int64_t user;
};

static void send_wish(struct feed_gateway *gateway, struct http_request *request, const struct notice_command *command,
                      void (*answer)(void *context, struct http_request *request, unsigned status, const json_t *reply,
                                     struct json_bytes text)) {
    struct buffer record = {0};
    event_encode_notice_command(&record, command);
    feed_write_start(gateway, &(struct command_write){
                                  .request = request,
                                  .topic = &TOPIC_NOTICE_COMMANDS,
                                  .user = command->user,
                                  .record = &record,
                                  .question = rpc_path(&ASK_NOTICED, RPC_VALUES(RPC_INT(USER, command->user))),
                                  .answer = answer,
                                  .context = MEM_NEW(&(struct notice_wish){gateway, command->user}),
                              });
    buffer_free(&record);
}

static void reply_pending(struct http_request *request) { http_reply_format(request, 202, "{\"state\":\"pending\"}"); }

/* ---- what is read ---- */

static void read_counted(void *context, int code, unsigned status, json_t *list) {
    struct http_request *request = context;
    if (list)
        http_reply_format(request, 200, "{\"unread\":%lld}",
                          (long long)json_integer_value(json_object_get(list, "unread")));
    else
        reply_pending(request);
    json_decref(list);
}

static void read_decided(void *context, struct http_request *request, unsigned status, const json_t *reply,
                         struct json_bytes text) {
    const struct notice_wish *wish = context;
    if (status == 200)
        notice_list_read(wish->gateway->sights, wish->user, text.data, text.size, read_counted, request);
    else
        reply_pending(request);
}

/* A mark far ahead would have all notices to come be read, for good: such a one reads those that there are. */
static void put_read(void *state, const struct call *call) {
    struct notice_key until;
    json_t *body = call_body(call);
    if (!body) return;
    const char *id = json_string_value(json_object_get(body, "until"));
    bool good = id && notice_id_read(id, &until);
    int64_t now_ms = clock_wall_ms();
    json_decref(body);
    if (!good) {
        http_problem(call->request, 400, "bad_until", "\"until\" must be the id of a notice", 0);
        return;
    }
    if (until.time > now_ms + AHEAD_MS) until = (struct notice_key){.time = now_ms, .kind = NOTICE_OF_FOLLOW};
    send_wish(state, call->request,
              &(struct notice_command){.kind = NOTICE_COMMAND_READ,
                                       .user = call->claims.user,
                                       .read_time = until.time,
                                       .read_kind = (int32_t)until.kind,
                                       .read_number = until.number},
              read_decided);
}

/* ---- preferences ---- */

static void preferences_heard(void *context, int code, unsigned status, const char *text, size_t size) {
    struct http_request *request = context;
    if (!owners_answered(request, code, status)) return;
    json_t *page = json_parse(text, size, NULL);
    const json_t *preferences = json_object_get(page, "preferences");
    if (preferences)
        reply_value(request, preferences);
    else
        owners_away(request, FEED_RETRY_AFTER_S); // of the release before
    json_decref(page);
}

static void get_preferences(void *state, const struct call *call) {
    const struct feed_gateway *gateway = state;
    rpc_ask(gateway->owners, &ASK_NOTICES, RPC_VALUES(RPC_INT(USER, call->claims.user), RPC_INT(LIMIT, 1)),
            PEER_TIMEOUT_MS, preferences_heard, call->request);
}

static void preferences_decided(void *context, struct http_request *request, unsigned status, const json_t *reply,
                                struct json_bytes text) {
    if (status == 200)
        preferences_heard(request, 0, status, text.data, text.size);
    else
        reply_pending(request);
}

static bool read_preferences(json_t *body, struct notice_command *command) {
    const char *word;
    json_t *value;
    json_object_foreach(body, word, value) {
        int kind = text_word(word, NOTICE_WORDS);
        bool live, push;
        if (kind <= 0 || json_object_size(value) != 2 || json_want_bool(value, "live", &live, NULL) ||
            json_want_bool(value, "push", &push, NULL))
            return false;
        command->named |= 1 << kind;
        if (!live) command->not_live |= 1 << kind;
        if (!push) command->not_push |= 1 << kind;
    }
    return true;
}

static void put_preferences(void *state, const struct call *call) {
    struct notice_command command = {.kind = NOTICE_COMMAND_PREFER, .user = call->claims.user};
    json_t *body = call_body_within(call, VALUES_MAX);
    if (!body) return;
    bool good = read_preferences(body, &command);
    json_decref(body);
    if (good)
        send_wish(state, call->request, &command, preferences_decided);
    else
        http_problem(call->request, 400, "bad_preferences",
                     "each member must be a kind of notices, with \"live\" and \"push\": true or false", 0);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/notices", get_notices, NEEDS_USER},
    {"PUT", "/v1/notices/read", put_read, NEEDS_USER},
    {"GET", "/v1/notices/preferences", get_preferences, NEEDS_USER},
    {"PUT", "/v1/notices/preferences", put_preferences, NEEDS_USER},
};
const struct endpoint_list FEED_NOTICES_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
