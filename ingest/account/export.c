#include "ingest/account/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "ingest/account/parts.h"
#include "json/json.h"

enum { PEER_TIMEOUT_MS = 5000, LIMIT_DEFAULT = 100, LIMIT_MAX = 1000, RETRY_AFTER_S = 2 };

static const char ACCOUNT[] = "account"; /* the kind of the first page */

struct export_request {
    struct account_gateway *account;
    struct http_request *request;
    int64_t user;
    size_t kind; /* of BELONGINGS; not for the account itself */
};

static void owner_away(struct http_request *request) {
    http_problem(request, 503, "owner_unavailable", "the process that has the answer is just being moved or restarted",
                 RETRY_AFTER_S);
}

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
    static const char *const MODES[] = {
        [SHARING_OFF] = "off", [SHARING_FRIENDS] = "friends", [SHARING_PUBLIC] = "public"};
    struct profile profile;
    int64_t offset;
    buffer_format(out, "{\"user\":%" PRId64 ",\"name\":", user);
    if (profiles_find(user_copies_profiles(copies), user, &profile)) {
        json_put_text(out, profile.name.data, profile.name.size);
        buffer_string(out, ",\"avatar_url\":");
        json_put_text(out, profile.avatar_url.data, profile.avatar_url.size);
    } else {
        buffer_string(out, "null,\"avatar_url\":null");
    }
    buffer_format(out, ",\"sharing\":\"%s\"", MODES[sharing_modes_find(user_copies_modes(copies), user, &offset)]);
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
        buffer_string(&item, "}]");
        reply(asked, ACCOUNT, &(struct json_bytes){(const char *)item.data, item.size}, BELONGINGS[0].name,
              &(struct json_bytes){NULL, 0});
        buffer_free(&item);
    } else {
        owner_away(asked->request);
    }
    json_decref(counts);
    free(asked);
}

static void ask_account(struct export_request *asked) {
    struct peers *feeds = asked->account->owners[BELONGS_TO_FEEDS];
    char *path = mem_format("/peer/user/%" PRId64, asked->user);
    peers_fetch(feeds, peers_of_user(feeds, asked->user), path, PEER_TIMEOUT_MS, account_heard, asked);
    free(path);
}

/* ---- what the owners list ---- */

static void heard(void *context, int code, unsigned status, const char *text, size_t size) {
    struct export_request *asked = context;
    const struct belonging *kind = &BELONGINGS[asked->kind];
    struct json_bytes items, next = {NULL, 0};
    if (code == 0 && status == 400)
        http_problem(asked->request, 400, "bad_query", "\"after\" must be the `next` of a page before", 0);
    else if (code || status != 200 || !belonging_page(text, size, &items, &next))
        owner_away(asked->request);
    else if (next.size)
        reply(asked, kind->name, &items, kind->name, &next);
    else
        reply(asked, kind->name, &items, asked->kind + 1 < BELONGINGS_COUNT ? kind[1].name : NULL, &next);
    free(asked);
}

static void ask_owner(struct export_request *asked, int64_t limit, const struct json_bytes *cursor) {
    struct account_gateway *account = asked->account;
    const struct belonging *kind = &BELONGINGS[asked->kind];
    struct peers *owners = account->owners[kind->owner];
    bool any = kind->owner == BELONGS_TO_MODERATION;
    int32_t partition = any ? (int32_t)(chance_next(&account->chance) % (uint32_t)account->subjects)
                            : peers_of_user(owners, asked->user);
    struct buffer path = {0};
    belonging_question(&path, kind, asked->user, limit, cursor);
    peers_fetch(owners, partition, buffer_cstring(&path), PEER_TIMEOUT_MS, heard, asked);
    buffer_free(&path);
}

/* The kind and the cursor within it: "posts.123", "posts". False: the text is no such thing. */
static bool read_after(const char *after, size_t *kind, struct json_bytes *cursor) {
    size_t size = strcspn(after, ".");
    *cursor = (struct json_bytes){after + size + 1, after[size] ? strlen(after + size + 1) : 0};
    if (after[size] && !belonging_cursor_plain(cursor)) return false;
    for (*kind = 0; *kind < BELONGINGS_COUNT; ++*kind) {
        const char *name = BELONGINGS[*kind].name;
        if (strlen(name) == size && memcmp(name, after, size) == 0) return true;
    }
    return false;
}

static void get_export(void *state, const struct call *call) {
    const char *after = http_query(call->request, "after");
    int64_t limit = LIMIT_DEFAULT;
    size_t kind = 0;
    struct json_bytes cursor = {NULL, 0};
    if (!call_query_range(call, "limit", 1, LIMIT_MAX, &limit)) return;
    if (after && !read_after(after, &kind, &cursor)) {
        http_problem(call->request, 400, "bad_query", "\"after\" must be the `next` of a page before", 0);
        return;
    }
    struct export_request *asked = mem_alloc(sizeof *asked);
    *asked =
        (struct export_request){.account = state, .request = call->request, .user = call->claims.user, .kind = kind};
    if (after)
        ask_owner(asked, limit, &cursor);
    else
        ask_account(asked);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/export", get_export, NEEDS_USER},
};
const struct endpoint_list EXPORT_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
