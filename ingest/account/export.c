#include "ingest/account/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "ingest/owners.h"
#include "json/json.h"
#include "users/sharing_words.h"
#include "users/user_json.h"

enum {
    PEER_TIMEOUT_MS = 5000,
    LIMIT_DEFAULT = 20,
    LIMIT_MAX = 1000,
    RETRY_AFTER_S = 2,
    ROWS_WORK = 10 /* requests' worth of a page for which thousands of rows are looked at */
};

static const char ACCOUNT[] = "account"; /* the kind of the first page */

struct export_request {
    struct account_gateway *account;
    struct http_request *request;
    int64_t user;
    size_t kind;       /* of BELONGINGS; not for the account itself */
    int32_t partition; /* that is asked, of a kind that lies in several; else 0 */
};

/* next: the kind that follows, or NULL, and the cursor within it. */
static void reply(const struct export_request *asked, const char *kind, const struct json_bytes *items,
                  const char *next, const struct json_bytes *cursor) {
    static const struct http_field FIELDS[] = {{"Cache-Control", "no-store"}};
    struct buffer body = {0};
    buffer_format(&body, "{\"user\":%" PRId64 ",\"kind\":\"%s\",\"items\":", asked->user, kind);
    buffer_append(&body, items->data, items->size);
    if (next)
        buffer_format(&body, ",\"next\":\"%s%s%.*s\"}", next, cursor->size ? "." : "", (int)cursor->size,
                      cursor->size ? cursor->data : "");
    else
        buffer_string(&body, ",\"next\":null}");
    http_reply(asked->request, 200, "application/json", body.data, body.size, FIELDS, 1);
    buffer_free(&body);
}

/* ---- the account ---- */

static void put_known(struct buffer *out, struct user_copies *copies, int64_t user) {
    buffer_byte(out, '{');
    user_json_find_whole(out, user, user_copies_profiles(copies));
    int64_t until = sharing_modes_until(user_copies_modes(copies), user);
    buffer_format(out, ",\"sharing\":\"%s\",\"until\":",
                  SHARING_WORDS[sharing_modes_find(user_copies_modes(copies), user, NULL)]);
    if (until)
        json_put_int(out, until);
    else
        buffer_string(out, "null");
    bool details = sharing_modes_details(user_copies_modes(copies), user);
    buffer_format(out, ",\"details\":%s,\"nearby_muted\":", details ? "true" : "false");
    mutes_json_put(out, mutes_of(user_copies_mutes(copies), user));
}

/* The owner says whether the user has a handle; what it counts is in the kinds. */
static void account_heard(void *context, int code, unsigned status, const char *text, size_t size) {
    struct export_request *asked = context;
    json_t *counts = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    if (counts) {
        const char *handle = json_string_value(json_object_get(counts, "handle"));
        struct buffer item = {0};
        buffer_byte(&item, '[');
        put_known(&item, asked->account->copies, asked->user);
        buffer_string(&item, ",\"handle\":");
        if (handle)
            json_put_text(&item, handle, strlen(handle));
        else
            buffer_string(&item, "null");
        const char *visibility = json_string_value(json_object_get(counts, "visibility"));
        buffer_string(&item, ",\"visibility\":");
        json_put_text(&item, visibility ? visibility : "", visibility ? strlen(visibility) : 0);
        buffer_string(&item, ",\"notices\":");
        json_put_value(&item, json_object_get(counts, "notices"));
        buffer_string(&item, "}]");
        reply(asked, ACCOUNT, &(struct json_bytes){(const char *)item.data, item.size}, BELONGINGS[0].name,
              &(struct json_bytes){NULL, 0});
        buffer_free(&item);
    } else {
        owners_away(asked->request, RETRY_AFTER_S);
    }
    json_decref(counts);
    free(asked);
}

static void ask_account(struct export_request *asked) {
    struct peers *feeds = asked->account->owners[BELONGS_TO_FEEDS];
    rpc_ask(feeds, &ASK_USER, RPC_VALUES(RPC_INT(USER, asked->user)), PEER_TIMEOUT_MS, account_heard, asked);
}

/* ---- what the owners list ---- */

/* Comments processes look through the rows of all users, and their cursor is the key of the row where they stopped: whoever read it, or made
 * one, would learn who likes or reports what. */
static bool is_sealed(const struct belonging *kind) { return kind->owner == BELONGS_TO_COMMENTS; }

/* Appends what a client gets of the owner's cursor; its holder gives that back to open_cursor. */
static bool close_cursor(const struct account_gateway *account, int64_t user, size_t kind,
                         const struct json_bytes *next, struct buffer *cursor) {
    if (next->size && is_sealed(&BELONGINGS[kind]))
        return seal_close(&account->cursors, (uint64_t)user, next->data, next->size, cursor);
    buffer_append(cursor, next->data, next->size);
    return true;
}

static bool open_cursor(const struct account_gateway *account, int64_t user, size_t kind,
                        const struct json_bytes *given, struct buffer *cursor) {
    if (given->size && is_sealed(&BELONGINGS[kind]))
        return seal_open(&account->cursors, (uint64_t)user, given->data, given->size, cursor);
    buffer_append(cursor, given->data, given->size);
    return true;
}

static struct json_bytes bytes_of(const struct buffer *buffer) {
    return (struct json_bytes){(const char *)buffer->data, buffer->size};
}

static void reply_page(const struct export_request *asked, const struct json_bytes *items,
                       const struct json_bytes *next) {
    const struct belonging *kind = &BELONGINGS[asked->kind];
    const char *following = asked->kind + 1 < BELONGINGS_COUNT ? kind[1].name : NULL;
    struct buffer place = {.data = NULL}, cursor = {.data = NULL};
    if (close_cursor(asked->account, asked->user, asked->kind, next, &cursor)) {
        const struct json_bytes shown = bytes_of(&cursor);
        belonging_place_put(&place, kind, asked->partition, asked->account->subjects, &shown);
        const struct json_bytes behind = bytes_of(&place);
        reply(asked, kind->name, items, place.size ? kind->name : following, &behind);
    } else {
        owners_away(asked->request, RETRY_AFTER_S);
    }
    buffer_free(&place);
    buffer_free(&cursor);
}

static void heard(void *context, int code, unsigned status, const char *text, size_t size) {
    struct export_request *asked = context;
    struct json_bytes items, next = {NULL, 0};
    if (code == 0 && status == 400)
        http_problem(asked->request, 400, "bad_query", "\"after\" must be the `next` of a page before", 0);
    else if (code || status != 200 || !belonging_page(text, size, &items, &next))
        owners_away(asked->request, RETRY_AFTER_S);
    else
        reply_page(asked, &items, &next);
    free(asked);
}

/* The partition of the owners whose process is asked. */
static int32_t asked_partition(const struct export_request *asked, enum belonging_owner owner) {
    struct account_gateway *account = asked->account;
    if (owner == BELONGS_TO_COMMENTS) return asked->partition;
    if (owner == BELONGS_TO_MODERATION) return (int32_t)(chance_next(&account->chance) % (uint32_t)account->subjects);
    return peers_of_user(account->owners[owner], asked->user);
}

static void ask_owner(struct export_request *asked, int64_t limit, const struct belonging_place *place) {
    struct account_gateway *account = asked->account;
    const struct belonging *kind = &BELONGINGS[asked->kind];
    struct buffer path = {0};
    asked->partition = place->partition;
    belonging_question(&path, kind, asked->user, limit, place);
    peers_fetch(account->owners[kind->owner], asked_partition(asked, kind->owner), buffer_cstring(&path),
                PEER_TIMEOUT_MS, heard, asked);
    buffer_free(&path);
}

/* The kind and the place within it: "posts.123", "posts". False: the text is no such thing. */
static bool read_after(const char *after, int32_t partitions, size_t *kind, struct belonging_place *place) {
    size_t size = strcspn(after, ".");
    const struct json_bytes text = {after + size + 1, after[size] ? strlen(after + size + 1) : 0};
    if (after[size] && !text.size) return false;
    for (*kind = 0; *kind < BELONGINGS_COUNT; ++*kind) {
        const char *name = BELONGINGS[*kind].name;
        if (strlen(name) == size && memcmp(name, after, size) == 0)
            return belonging_place_read(&BELONGINGS[*kind], &text, partitions, place);
    }
    return false;
}

static void get_export(void *state, const struct call *call) {
    const char *after = http_query(call->request, "after");
    int64_t limit = LIMIT_DEFAULT;
    size_t kind = 0;
    struct account_gateway *account = state;
    struct belonging_place place = {.partition = 0};
    if (!call_query_range(call, "limit", 1, LIMIT_MAX, &limit)) return;
    struct buffer cursor = {.data = NULL};
    if (after && (!read_after(after, account->subjects, &kind, &place) ||
                  !open_cursor(account, call->claims.user, kind, &place.cursor, &cursor))) {
        http_problem(call->request, 400, "bad_query", "\"after\" must be the `next` of a page before", 0);
        return;
    }
    place.cursor = bytes_of(&cursor);
    if (is_sealed(&BELONGINGS[kind])) http_add_work(call->request, ROWS_WORK);
    struct export_request *asked = MEM_NEW(&(struct export_request){
        .account = account, .request = call->request, .user = call->claims.user, .kind = kind});
    if (after)
        ask_owner(asked, limit, &place);
    else
        ask_account(asked);
    buffer_free(&cursor);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/export", get_export, NEEDS_USER},
};
const struct endpoint_list EXPORT_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
