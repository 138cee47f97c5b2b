#include "router/near_pages.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "json/json.h"
#include "router/near_list.h"
#include "router/router_private.h"

/* One question, with what it asks for. */
struct near_asked {
    struct http_request *request;
    int64_t user, limit, since; /* since -1: whatever there is */
    struct near_cursor after;
    int64_t give_up_us;
};

struct near_pages {
    const struct router *router;
    struct id_list friends; /* of the user at hand */
    struct rounding_list roundings;
    struct near_asked waiting[NEAR_WAITING_MAX];
    size_t waiting_count;
};

struct near_pages *near_pages_new(const struct router *router) {
    struct near_pages *pages = mem_zero(1, sizeof *pages);
    pages->router = router;
    return pages;
}

void near_pages_free(struct near_pages *pages) {
    if (!pages) return;
    for (size_t i = 0; i < pages->waiting_count; i++) rpc_refused(pages->waiting[i].request, -EAGAIN);
    id_list_free(&pages->friends);
    rounding_list_free(&pages->roundings);
    free(pages);
}

/* ---- answers ---- */

static void put_entry(struct buffer *body, const struct near_entry *entry, const struct kept_details *details) {
    json_member_int(body, "{\"user\":", entry->user);
    json_member_place(body, entry->at.lat, entry->at.lng);
    json_member_int(body, ",\"time\":", entry->time);
    if (entry->rounded)
        buffer_string(body, ",\"rounded\":true");
    else
        kept_details_put_json(details, entry->user, entry->time, body);
    buffer_string(body, ",\"distance_m\":");
    json_put_fixed1(body, entry->distance_m);
    buffer_byte(body, '}');
}

static void reply(const struct near_pages *pages, const struct near_asked *asked, int64_t time,
                  const struct near_entry *entries, size_t count) {
    struct buffer body = {.size = 0};
    size_t shown = count < (size_t)asked->limit ? count : (size_t)asked->limit;
    buffer_string(&body, "{\"time\":");
    if (time >= 0)
        json_put_int(&body, time);
    else
        buffer_string(&body, "null");
    buffer_string(&body, ",\"items\":[");
    for (size_t i = 0; i < shown; i++) {
        if (i) buffer_byte(&body, ',');
        put_entry(&body, &entries[i], pages->router->details);
    }
    if (count > shown) {
        char cursor[NEAR_CURSOR_SIZE];
        near_cursor_put((struct near_cursor){entries[shown - 1].distance_m, entries[shown - 1].user}, cursor);
        buffer_format(&body, "],\"next\":\"%s\"}", cursor);
    } else {
        buffer_string(&body, "],\"next\":null}");
    }
    http_reply_json_free(asked->request, 200, &body);
}

/* Presence that does not hold the whole inactive window yet would make a list that only seems complete. */
static int serves(const struct near_pages *pages, int64_t user) {
    int code = owner_serves(tasks_owner(pages->router->tasks), hash_user_partition(user, pages->router->partitions));
    return code || reports_are_warm(pages->router->reports) ? code : -EAGAIN;
}

static void show_page(struct near_pages *pages, const struct near_asked *asked) {
    const struct router *router = pages->router;
    int32_t partition = hash_user_partition(asked->user, router->partitions);
    struct error error;
    int code = serves(pages, asked->user);
    if (!code) code = graph_friends(router->graph, partition, asked->user, &pages->friends, &error);
    if (!code)
        code = graph_roundings(router->graph, partition, asked->user, &pages->friends, &pages->roundings, &error);
    if (code) {
        if (code == -ESTALE || code == -EAGAIN)
            rpc_refused(asked->request, code);
        else
            rpc_failed(asked->request, code, &error);
        return;
    }
    report_clock_tick(router->clock);
    const struct near_question question = {
        .presence = router->presence,
        .now = report_clock_now(router->clock),
        .inactive_ms = router->inactive_ms,
        .radius_m = router->common->radius_m,
        .user = asked->user,
        .friends = pages->friends.items,
        .friend_count = pages->friends.count,
        .roundings = &pages->roundings,
        .rounded = router->rounded,
        .after = asked->after,
    };
    struct near_entry *entries = mem_alloc((pages->friends.count + 1) * sizeof *entries);
    size_t count = near_list(&question, entries);
    const struct presence_slot *own = presence_find(router->presence, asked->user);
    bool active = presence_active(own, question.now, question.inactive_ms);
    reply(pages, asked, active ? own->time : -1, entries, count);
    free(entries);
}

/* ---- waiting for the user's own report ---- */

static bool has_come(const struct near_pages *pages, const struct near_asked *asked) {
    const struct presence_slot *own = presence_find(pages->router->presence, asked->user);
    return asked->since < 0 || (own && !own->left && own->time >= asked->since);
}

static bool may_wait(const struct near_pages *pages, int64_t user) {
    size_t own = 0;
    if (pages->waiting_count == NEAR_WAITING_MAX) return false;
    for (size_t i = 0; i < pages->waiting_count; i++) own += pages->waiting[i].user == user;
    return own < NEAR_WAITING_USER_MAX;
}

void near_pages_tenth(struct near_pages *pages) {
    int64_t now_us = clock_monotonic_us();
    size_t kept = 0;
    for (size_t i = 0; i < pages->waiting_count; i++) {
        const struct near_asked asked = pages->waiting[i];
        if (!has_come(pages, &asked) && now_us < asked.give_up_us && !serves(pages, asked.user))
            pages->waiting[kept++] = asked;
        else
            show_page(pages, &asked);
    }
    pages->waiting_count = kept;
}

void near_pages_ask(struct near_pages *pages, struct http_request *request, const struct rpc_asked *question) {
    const char *after = question->texts[RPC_AFTER];
    int64_t wait_ms = question->numbers[RPC_WAIT_MS];
    struct near_asked asked = {
        .request = request,
        .user = question->numbers[RPC_USER],
        .limit = question->numbers[RPC_LIMIT],
        .since = question->numbers[RPC_SINCE],
        .after = {-1, -1},
        .give_up_us = clock_monotonic_us() + wait_ms * 1000,
    };
    if (after && !near_cursor_read(after, &asked.after)) {
        rpc_bad_query(request);
        return;
    }
    if (wait_ms && !has_come(pages, &asked) && !serves(pages, asked.user) && may_wait(pages, asked.user))
        pages->waiting[pages->waiting_count++] = asked;
    else
        show_page(pages, &asked);
}
