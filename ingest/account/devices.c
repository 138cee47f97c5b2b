/* Where the caller is signed in, as the caller's owner says it; and the end of one such session, which is an end's record: every edge reads
 * it, and the one that has the session closes it. */
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "event/codec.h"
#include "event/topics.h"
#include "ids/ids.h"
#include "ingest/account/parts.h"
#include "ingest/owners.h"
#include "ingest/write.h"
#include "users/belongings.h"

enum { ANSWER_MS = 3000, RETRY_AFTER_S = 2 };

struct devices_asked {
    struct account_gateway *account;
    struct http_request *request;
    int64_t user, ended; /* ended: the session that is to be ended; -1: they are listed */
};

static void reply_items(const struct devices_asked *asked, const char *text, size_t size) {
    struct json_bytes items, next;
    struct buffer body = {.data = NULL};
    if (!belonging_page(text, size, &items, &next)) {
        owners_away(asked->request, RETRY_AFTER_S);
        return;
    }
    buffer_string(&body, "{\"items\":");
    buffer_append(&body, items.data, items.size);
    buffer_byte(&body, '}');
    http_reply_json_free(asked->request, 200, &body);
}

static bool is_listed(const json_t *items, int64_t session) {
    for (size_t i = 0; i < json_array_size(items); i++) {
        const char *text;
        int64_t id;
        if (json_want_text(json_array_get(items, i), "id", &text, NULL)) continue;
        if (ids_parse(text, strlen(text), &id) && id == session) return true;
    }
    return false;
}

static void end(const struct devices_asked *asked, const char *text, size_t size) {
    json_t *page = json_parse(text, size, NULL);
    if (!page) {
        owners_away(asked->request, RETRY_AFTER_S);
    } else if (is_listed(json_object_get(page, "items"), asked->ended)) {
        struct buffer record = {.data = NULL};
        struct write *write = write_new(asked->account->writer, asked->request, write_answer, NULL);
        event_encode_device_end(&record, &(struct device_end){.session = asked->ended});
        write_user(write, &TOPIC_DEVICE_ENDS, asked->user, &record);
        write_end(write);
        buffer_free(&record);
    } else {
        http_problem(asked->request, 404, "no_device", "the caller has no such session", 0);
    }
    json_decref(page);
}

static void answered(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct devices_asked *asked = context;
    if (owners_answered(asked->request, code, status)) {
        if (asked->ended < 0)
            reply_items(asked, reply, size);
        else
            end(asked, reply, size);
    }
    free(asked);
}

static void ask(struct account_gateway *account, const struct call *call, int64_t ended, int64_t own) {
    int64_t user = call->claims.user;
    struct devices_asked *asked =
        MEM_NEW(&(struct devices_asked){.account = account, .request = call->request, .user = user, .ended = ended});
    rpc_ask(account->owners[BELONGS_TO_FEEDS], &ASK_DEVICES, RPC_VALUES(RPC_INT(USER, user), RPC_INT(SESSION, own)),
            ANSWER_MS, answered, asked);
}

static void get_devices(void *state, const struct call *call) {
    int64_t own = -1;
    if (call_query_id(call, "session", &own)) ask(state, call, -1, own);
}

static void delete_device(void *state, const struct call *call) { ask(state, call, call->values[0].id, -1); }

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/devices", get_devices, NEEDS_USER},
    {"DELETE", "/v1/devices/{id}", delete_device, NEEDS_USER},
};
const struct endpoint_list DEVICES_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
