#include "router/link_answers.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "event/topics.h"
#include "json/json.h"
#include "router/router_private.h"

enum { TIDIED_A_SECOND = 200, SHARING_BEHIND_MS = 60000 /* at most: an older link knows no newer consent */ };

struct link_answers {
    struct router *router;
    int32_t tidied; /* the partition whose links were looked at last */
};

/* A question that waits for a command to be decided. */
struct link_waiter {
    struct link_answers *answers;
    struct http_request *request;
    int64_t user, link, after, limit;
};

struct link_answers *link_answers_new(struct router *router) {
    return MEM_NEW(&(struct link_answers){.router = router});
}

void link_answers_free(struct link_answers *answers) { free(answers); }

static int32_t partition_of(const struct link_waiter *asked) {
    return hash_user_partition(asked->user, asked->answers->router->partitions);
}

/* ---- lists ---- */

static void put_link(struct buffer *body, const struct share_link *link) {
    json_member_id(body, "{\"id\":", link->id);
    json_member_int(body, ",\"until\":", link->until);
    buffer_string(body, link->rounded ? ",\"rounded\":true" : ",\"rounded\":false");
    json_member_int(body, ",\"made\":", link->made);
    buffer_byte(body, '}');
}

/* The cursor is the place in the row. */
static void reply_list(const struct link_waiter *asked) {
    const struct router *router = asked->answers->router;
    struct link_row row;
    struct buffer body = {.data = NULL};
    report_clock_tick(router->clock);
    int64_t now = report_clock_now(router->clock), shown = 0;
    size_t at = asked->after < LINKS_MAX ? (size_t)(asked->after + 1) : LINKS_MAX;
    commands_links(router->commands, partition_of(asked), asked->user, &row);
    buffer_string(&body, "{\"items\":[");
    for (; at < row.count && shown < asked->limit; at++) {
        if (row.links[at].until <= now) continue;
        if (shown++) buffer_byte(&body, ',');
        put_link(&body, &row.links[at]);
    }
    if (at < row.count)
        json_member_int(&body, "],\"next\":", (int64_t)at - 1);
    else
        buffer_string(&body, "],\"next\":null");
    buffer_string(&body, link_row_find(&row, asked->link) ? ",\"has\":true}" : ",\"has\":false}");
    http_reply_json_free(asked->request, 200, &body);
}

static void decided(void *context, int code) {
    struct link_waiter *waiter = context;
    if (!code) code = owner_serves(tasks_owner(waiter->answers->router->tasks), partition_of(waiter));
    if (code == -ESTALE || code == -ECANCELED || code == -EMSGSIZE)
        rpc_refused(waiter->request, code);
    else if (code)
        rpc_later(waiter->request);
    else
        reply_list(waiter);
    free(waiter);
}

void link_answers_list(struct link_answers *answers, struct http_request *request, const struct rpc_asked *asked) {
    const struct router *router = answers->router;
    const struct link_waiter question = {.answers = answers,
                                         .request = request,
                                         .user = asked->numbers[RPC_USER],
                                         .link = asked->numbers[RPC_LINK],
                                         .after = asked->numbers[RPC_AFTER],
                                         .limit = asked->numbers[RPC_LIMIT]};
    if (asked->numbers[RPC_OFFSET] < 0) {
        if (!rpc_refused(request, owner_serves(tasks_owner(router->tasks), asked->partition))) reply_list(&question);
        return;
    }
    struct link_waiter *waiter = MEM_NEW(&question);
    if (decider_await(commands_decider(router->commands), &TOPIC_LINK_COMMANDS, asked->partition,
                      asked->numbers[RPC_OFFSET], clock_monotonic_us() + asked->numbers[RPC_WAIT_MS] * 1000, waiter,
                      decided)) {
        rpc_later(request); // too many wait already
        free(waiter);
    }
}

/* ---- places ---- */

static bool is_over(const struct router *router, int32_t partition, int64_t user, const struct share_link *link,
                    int64_t now) {
    bool behind = now - link->made < SHARING_BEHIND_MS;
    return link->until <= now || opting_ends_link(router->opting, partition, user, link->opted) ||
           (!behind && opting_mode(router->opting, partition, user) == SHARING_OFF);
}

void link_answers_place(struct link_answers *answers, struct http_request *request, const struct rpc_asked *asked) {
    const struct router *router = answers->router;
    int64_t user = asked->numbers[RPC_USER];
    struct link_row row;
    if (rpc_refused(request, reports_are_warm(router->reports) ? 0 : -EAGAIN)) return;
    report_clock_tick(router->clock);
    int64_t now = report_clock_now(router->clock);
    commands_links(router->commands, asked->partition, user, &row);
    const struct share_link *link = link_row_find(&row, asked->numbers[RPC_LINK]);
    if (!link || is_over(router, asked->partition, user, link, now)) {
        http_problem(request, 404, "not-found", "there is no such link", 0);
        return;
    }
    const struct presence_slot *slot = presence_find(router->presence, user);
    struct buffer body = {.data = NULL};
    json_member_int(&body, "{\"until\":", link->until);
    json_member_int(&body, ",\"opted\":", link->opted);
    if (presence_active(slot, now, router->inactive_ms)) {
        struct geo_point at = rounding_place(&router->rounded, slot->at, link->rounded);
        json_member_place(&body, at.lat, at.lng);
        json_member_int(&body, ",\"time\":", slot->time);
    }
    buffer_byte(&body, '}');
    http_reply_json_free(request, 200, &body);
}

/* ---- what is over ---- */

static void tidy(void *context, int64_t user) {
    const struct link_answers *answers = context;
    record_collector_end_links(answers->router->collector, user, -1, 0);
}

void link_answers_second(struct link_answers *answers) {
    const struct router *router = answers->router;
    if (++answers->tidied >= router->partitions) answers->tidied = 0;
    if (!owner_serves(tasks_owner(router->tasks), answers->tidied))
        links_untidy(router->links, answers->tidied, report_clock_now(router->clock), TIDIED_A_SECOND, answers, tidy);
}
