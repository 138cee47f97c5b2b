#include "router/peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "event/topics.h"
#include "json/json.h"
#include "router/audience.h"
#include "router/router_private.h"
#include "users/sharing_words.h"

/* A request that waits for a command to be decided. */
struct waiter {
    struct peer *peer;
    struct http_request *request;
    int64_t user, other;
};

struct peer {
    struct router *router;
    struct graph_entry entries[RPC_PAGE_MAX];
    struct audience_entry audience[RPC_PAGE_MAX];
    struct id_list friends; /* of the user at hand */
    struct rounding_list roundings;
};

struct peer *peer_new(struct router *router) {
    struct peer *peer = mem_zero(1, sizeof *peer);
    peer->router = router;
    return peer;
}

void peer_free(struct peer *peer) {
    if (!peer) return;
    id_list_free(&peer->friends);
    rounding_list_free(&peer->roundings);
    free(peer);
}

/* ---- friends ---- */

static bool views_of(const char *state, unsigned *views) {
    if (!state) state = "friends";
    if (!strcmp(state, "all")) {
        *views = ~(1u << FRIENDSHIP_VIEW_NONE);
        return true;
    }
    for (int view = FRIENDSHIP_VIEW_NONE + 1; view < FRIENDSHIP_VIEWS; view++) {
        if (strcmp(state, friendship_view_name((enum friendship_view)view))) continue;
        *views = 1u << view;
        return true;
    }
    return false;
}

/* A choice to be seen rounded shows as long as it could be made. */
static bool is_rounded(enum friendship_view view, bool rounded) { return rounded && friendship_view_rounds(view); }

static void reply_page(struct http_request *request, const struct graph_entry *entries, size_t count, bool more) {
    struct buffer body = {.data = NULL};
    buffer_string(&body, "{\"items\":[");
    for (size_t i = 0; i < count; i++) {
        buffer_format(&body, "%s{\"user\":%lld,\"state\":\"%s\",\"since\":%lld,\"rounded\":%s}", i ? "," : "",
                      (long long)entries[i].other, friendship_view_name(entries[i].view),
                      (long long)friendship_view_since(entries[i].view, entries[i].since),
                      is_rounded(entries[i].view, entries[i].rounded) ? "true" : "false");
    }
    if (more && count)
        buffer_format(&body, "],\"next\":%lld}", (long long)entries[count - 1].other);
    else
        buffer_string(&body, "],\"next\":null}");
    http_reply_json_free(request, 200, &body);
}

static void friends(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct peer *peer = context;
    unsigned views;
    size_t count;
    bool more;
    struct error error;
    if (!views_of(asked->texts[RPC_STATE], &views)) {
        rpc_bad_query(request);
        return;
    }
    int code =
        graph_page(peer->router->graph, asked->partition, asked->numbers[RPC_USER], views, asked->numbers[RPC_AFTER],
                   peer->entries, (size_t)asked->numbers[RPC_LIMIT], &count, &more, &error);
    if (code)
        rpc_failed(request, code, &error);
    else
        reply_page(request, peer->entries, count, more);
}

/* For the list of friends that the user and another have in common. */
static void friend_ids(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct peer *peer = context;
    struct graph *graph = peer->router->graph;
    struct id_list *list = &peer->friends;
    int64_t user = asked->numbers[RPC_USER], other = asked->numbers[RPC_OTHER];
    struct friendship half;
    struct error error;
    struct buffer body = {.data = NULL};
    int code = graph_friends(graph, asked->partition, user, list, &error);
    if (!code) code = graph_half_beside(graph, asked->partition, user, list, other, false, &half, &error);
    if (code) {
        rpc_failed(request, code, &error);
        return;
    }
    size_t count = half.blocked_by_me || half.blocked_by_them ? 0 : list->count;
    buffer_string(&body, "{\"ids\":");
    json_put_ints(&body, list->items, count);
    buffer_byte(&body, '}');
    http_reply_json_free(request, 200, &body);
}

/* How many halves the user has that are no friendships. */
static void requests(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct peer *peer = context;
    struct error error;
    int code = graph_friends(peer->router->graph, asked->partition, asked->numbers[RPC_USER], &peer->friends, &error);
    if (code) {
        rpc_failed(request, code, &error);
        return;
    }
    http_reply_format(request, 200, "{\"requests\":%zu}", peer->friends.others);
}

/* ---- audience ---- */

static void reply_audience(struct http_request *request, enum sharing_mode mode, bool visible,
                           const struct audience_entry *entries, size_t count, bool more) {
    struct buffer body = {.data = NULL};
    buffer_format(&body, "{\"mode\":\"%s\",\"visible\":%s,\"items\":[", SHARING_WORDS[mode],
                  visible ? "true" : "false");
    for (size_t i = 0; i < count; i++)
        buffer_format(&body, "%s{\"user\":%lld,\"near\":%s}", i ? "," : "", (long long)entries[i].friend,
                      entries[i].near ? "true" : "false");
    if (more)
        buffer_format(&body, "],\"next\":%lld}", (long long)entries[count - 1].friend);
    else
        buffer_string(&body, "],\"next\":null}");
    http_reply_json_free(request, 200, &body);
}

static void audience(void *of, struct http_request *request, const struct rpc_asked *asked) {
    struct peer *peer = of;
    const struct router *router = peer->router;
    int32_t partition = asked->partition;
    const struct audience_context context = {
        .presence = router->presence,
        .now = report_clock_now(router->clock),
        .inactive_ms = router->inactive_ms,
        .radius_m = router->common->radius_m,
        .rounded = router->rounded,
    };
    int64_t user = asked->numbers[RPC_USER], after = asked->numbers[RPC_AFTER];
    size_t count = 0, limit = (size_t)asked->numbers[RPC_LIMIT];
    bool more = false;
    struct error error;
    int code = 0;
    if (rpc_refused(request, reports_are_warm(router->reports) ? 0 : -EAGAIN)) return; // it would leave friends out
    enum sharing_mode mode = opting_mode(router->opting, partition, user);
    bool visible = mode != SHARING_OFF && audience_visible(&context, user);
    if (visible) {
        code = graph_friends(router->graph, partition, user, &peer->friends, &error);
        if (!code) code = graph_roundings(router->graph, partition, user, &peer->friends, &peer->roundings, &error);
        const struct audience_friends friends = {
            .items = peer->friends.items, .count = peer->friends.count, .roundings = &peer->roundings};
        if (!code) count = audience_page(&context, user, &friends, after, peer->audience, limit, &more);
    }
    if (code)
        rpc_failed(request, code, &error);
    else
        reply_audience(request, mode, visible, peer->audience, count, more);
}

/* ---- friendship ---- */

static void reply_friendship(struct peer *peer, struct http_request *request, int64_t user, int64_t other) {
    int64_t lower = friendship_lower(user, other), higher = friendship_higher(user, other);
    int32_t partition = hash_user_partition(lower, peer->router->partitions);
    struct friendship half;
    struct error error;
    int code = commands_half(peer->router->commands, partition, lower, higher, &half, &error);
    if (code) {
        rpc_failed(request, code, &error);
        return;
    }
    if (user == higher) half = friendship_mirror(&half);
    enum friendship_view view = friendship_view(&half);
    http_reply_format(request, 200, "{\"state\":\"%s\",\"since\":%lld,\"rounded\":%s}", friendship_view_name(view),
                      (long long)friendship_view_since(view, half.since),
                      is_rounded(view, half.rounded_by_me) ? "true" : "false");
}

static void decided(void *context, int code) {
    struct waiter *waiter = context;
    int32_t partition =
        hash_user_partition(friendship_lower(waiter->user, waiter->other), waiter->peer->router->partitions);
    if (!code) code = owner_serves(tasks_owner(waiter->peer->router->tasks), partition);
    if (code == -ESTALE || code == -ECANCELED || code == -EMSGSIZE)
        rpc_refused(waiter->request, code);
    else if (code)
        rpc_later(waiter->request);
    else
        reply_friendship(waiter->peer, waiter->request, waiter->user, waiter->other);
    free(waiter);
}

static void friendship(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct peer *peer = context;
    int64_t user = asked->numbers[RPC_ONE], other = asked->numbers[RPC_OTHER], offset = asked->numbers[RPC_OFFSET];
    if (offset < 0) {
        if (!rpc_refused(request, owner_serves(tasks_owner(peer->router->tasks), asked->partition)))
            reply_friendship(peer, request, user, other);
        return;
    }
    struct waiter *waiter = MEM_NEW(&(struct waiter){.peer = peer, .request = request, .user = user, .other = other});
    if (decider_await(commands_decider(peer->router->commands), &TOPIC_FRIEND_COMMANDS, asked->partition, offset,
                      clock_monotonic_us() + asked->numbers[RPC_WAIT_MS] * 1000, waiter, decided)) {
        rpc_later(request); // too many wait already
        free(waiter);
    }
}

/* ---- questions ---- */

static void strangers_nearby(void *context, struct http_request *request, const struct rpc_asked *asked) {
    const struct router *router = ((struct peer *)context)->router;
    discover_answer(router->discover, request, asked, reports_are_warm(router->reports));
}

static void nearby(void *context, struct http_request *request, const struct rpc_asked *asked) {
    near_pages_ask(((struct peer *)context)->router->near, request, asked);
}

static void links(void *context, struct http_request *request, const struct rpc_asked *asked) {
    link_answers_list(((struct peer *)context)->router->link_answers, request, asked);
}

static void link_place(void *context, struct http_request *request, const struct rpc_asked *asked) {
    link_answers_place(((struct peer *)context)->router->link_answers, request, asked);
}

static const struct rpc_handler HANDLERS[] = {
    {&ASK_FRIENDS, friends, false},
    {&ASK_FRIEND_IDS, friend_ids, false},
    {&ASK_FRIENDSHIP, friendship, true},
    {&ASK_REQUESTS, requests, false},
    {&ASK_NEARBY, nearby, false},
    {&ASK_AUDIENCE, audience, false},
    {&ASK_DISCOVER, strangers_nearby, false},
    {&ASK_LINKS, links, true},
    {&ASK_LINK, link_place, false},
};

static int serves(const void *context, int32_t partition) {
    const struct peer *peer = context;
    return owner_serves(tasks_owner(peer->router->tasks), partition);
}

void peer_handle(struct peer *peer, struct http_request *request) {
    static const struct rpc_server SERVER = {HANDLERS, ARRAY_SIZE(HANDLERS), serves};
    rpc_serve(&SERVER, peer, peer->router->partitions, request);
}
