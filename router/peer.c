#include "router/peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "event/topics.h"
#include "router/audience.h"
#include "users/sharing_words.h"

enum { LIMIT_DEFAULT = 100, LIMIT_MAX = 1000, WAIT_DEFAULT_MS = 2000, WAIT_MAX_MS = 30000 };

/* A request that waits for a command to be decided. */
struct waiter {
    struct peer *peer;
    struct http_request *request;
    int64_t user, other;
};

struct peer {
    struct peer_options options;
    struct graph_entry entries[LIMIT_MAX];
    struct audience_entry audience[LIMIT_MAX];
    struct id_list friends; /* of the user at hand */
    struct rounding_list roundings;
};

struct peer *peer_new(const struct peer_options *options) {
    struct peer *peer = mem_zero(1, sizeof *peer);
    peer->options = *options;
    return peer;
}

void peer_free(struct peer *peer) {
    if (!peer) return;
    id_list_free(&peer->friends);
    rounding_list_free(&peer->roundings);
    free(peer);
}

void peer_refuse(struct http_request *request, int code) {
    if (code == -ESTALE)
        http_problem(request, 421, "not-the-owner", "another process owns this user", 0);
    else
        http_problem(request, 503, "restoring", "the friend lists of this user, or presence, are being restored", 1);
}

/* A damaged list: all of the partition are being read anew. */
void peer_store_failed(struct http_request *request, int code, const struct error *error) {
    if (code == -EBADMSG)
        peer_refuse(request, code);
    else
        http_problem(request, 500, "store", error->text, 0);
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
    http_reply_json(request, 200, &body);
    buffer_free(&body);
}

static void friends(struct peer *peer, struct http_request *request, int64_t user) {
    const struct peer_options *options = &peer->options;
    int32_t partition = hash_user_partition(user, options->partitions);
    int64_t after, limit;
    unsigned views;
    size_t count;
    bool more;
    struct error error;
    if (!views_of(http_query(request, "state"), &views) ||
        !http_query_number(request, "after", -1, INT64_MAX, &after) ||
        !http_query_number(request, "limit", LIMIT_DEFAULT, LIMIT_MAX, &limit) || limit < 1) {
        http_problem(request, 400, "bad-query", "state, after or limit is out of range", 0);
        return;
    }
    int code = owner_serves(options->owner, partition);
    if (code) {
        peer_refuse(request, code);
        return;
    }
    code =
        graph_page(options->graph, partition, user, views, after, peer->entries, (size_t)limit, &count, &more, &error);
    if (code)
        peer_store_failed(request, code, &error);
    else
        reply_page(request, peer->entries, count, more);
}

/* How many halves the user has that are no friendships. */
static void requests(struct peer *peer, struct http_request *request, int64_t user) {
    const struct peer_options *options = &peer->options;
    int32_t partition = hash_user_partition(user, options->partitions);
    struct buffer body = {.data = NULL};
    struct error error;
    int code = owner_serves(options->owner, partition);
    if (code) {
        peer_refuse(request, code);
        return;
    }
    code = graph_friends(options->graph, partition, user, &peer->friends, &error);
    if (code) {
        peer_store_failed(request, code, &error);
        return;
    }
    buffer_format(&body, "{\"requests\":%zu}", peer->friends.others);
    http_reply_json(request, 200, &body);
    buffer_free(&body);
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
    http_reply_json(request, 200, &body);
    buffer_free(&body);
}

static void audience(struct peer *peer, struct http_request *request, int64_t user) {
    const struct peer_options *options = &peer->options;
    int32_t partition = hash_user_partition(user, options->partitions);
    const struct audience_context context = {
        .presence = options->presence,
        .now = report_clock_now(options->clock),
        .inactive_ms = options->inactive_ms,
        .radius_m = options->radius_m,
        .rounded = options->rounded,
    };
    int64_t after, limit;
    size_t count = 0;
    bool more = false;
    struct error error;
    if (!http_query_number(request, "after", -1, INT64_MAX, &after) ||
        !http_query_number(request, "limit", LIMIT_DEFAULT, LIMIT_MAX, &limit) || limit < 1) {
        http_problem(request, 400, "bad-query", "after or limit is out of range", 0);
        return;
    }
    int code = owner_serves(options->owner, partition);
    if (!code && !reports_are_warm(options->reports)) code = -EAGAIN; // it would leave friends out
    if (code) {
        peer_refuse(request, code);
        return;
    }
    enum sharing_mode mode = opting_mode(options->opting, partition, user);
    bool visible = mode != SHARING_OFF && audience_visible(&context, user);
    if (visible) {
        code = graph_friends(options->graph, partition, user, &peer->friends, &error);
        if (!code) code = graph_roundings(options->graph, partition, user, &peer->friends, &peer->roundings, &error);
        const struct audience_friends friends = {
            .items = peer->friends.items, .count = peer->friends.count, .roundings = &peer->roundings};
        if (!code) count = audience_page(&context, user, &friends, after, peer->audience, (size_t)limit, &more);
    }
    if (code)
        peer_store_failed(request, code, &error);
    else
        reply_audience(request, mode, visible, peer->audience, count, more);
}

/* ---- friendship ---- */

static void reply_friendship(struct peer *peer, struct http_request *request, int64_t user, int64_t other) {
    int64_t lower = friendship_lower(user, other), higher = friendship_higher(user, other);
    int32_t partition = hash_user_partition(lower, peer->options.partitions);
    struct friendship half;
    struct error error;
    int code = commands_half(peer->options.commands, partition, lower, higher, &half, &error);
    if (code) {
        peer_store_failed(request, code, &error);
        return;
    }
    if (user == higher) half = friendship_mirror(&half);
    enum friendship_view view = friendship_view(&half);
    struct buffer body = {.data = NULL};
    buffer_format(&body, "{\"state\":\"%s\",\"since\":%lld,\"rounded\":%s}", friendship_view_name(view),
                  (long long)friendship_view_since(view, half.since),
                  is_rounded(view, half.rounded_by_me) ? "true" : "false");
    http_reply_json(request, 200, &body);
    buffer_free(&body);
}

static void reply_later(struct http_request *request) {
    static const char BODY[] = "{}";
    http_reply(request, 202, "application/json", BODY, sizeof BODY - 1, NULL, 0);
}

static void decided(void *context, int code) {
    struct waiter *waiter = context;
    int32_t partition =
        hash_user_partition(friendship_lower(waiter->user, waiter->other), waiter->peer->options.partitions);
    if (!code) code = owner_serves(waiter->peer->options.owner, partition);
    if (code == -ESTALE || code == -ECANCELED)
        peer_refuse(waiter->request, -ESTALE);
    else if (code == -EMSGSIZE)
        http_problem(waiter->request, 413, "too-large", "what the command would change is too large for its topic", 0);
    else if (code)
        reply_later(waiter->request);
    else
        reply_friendship(waiter->peer, waiter->request, waiter->user, waiter->other);
    free(waiter);
}

static void await(struct peer *peer, const struct waiter *who, int32_t partition, int64_t offset, int64_t wait_ms) {
    struct waiter *waiter = mem_alloc(sizeof *waiter);
    *waiter = *who;
    int64_t deadline_us = clock_monotonic_us() + wait_ms * 1000;
    int code = decider_await(commands_decider(peer->options.commands), &TOPIC_FRIEND_COMMANDS, partition, offset,
                             deadline_us, waiter, decided);
    if (!code) return;
    reply_later(waiter->request); // too many wait already
    free(waiter);
}

static void friendship(struct peer *peer, struct http_request *request, int64_t user, int64_t other) {
    int32_t partition = hash_user_partition(friendship_lower(user, other), peer->options.partitions);
    int64_t offset, wait_ms;
    if (!http_query_number(request, "offset", -1, INT64_MAX, &offset) ||
        !http_query_number(request, "wait_ms", WAIT_DEFAULT_MS, WAIT_MAX_MS, &wait_ms)) {
        http_problem(request, 400, "bad-query", "offset or wait_ms is out of range", 0);
        return;
    }
    int code = owner_serves(peer->options.owner, partition);
    struct waiter who = {.peer = peer, .request = request, .user = user, .other = other};
    if (code == -ESTALE || (code && offset < 0))
        peer_refuse(request, code);
    else if (offset < 0)
        reply_friendship(peer, request, user, other);
    else
        await(peer, &who, partition, offset, wait_ms);
}

/* ---- strangers ---- */

static void strangers_nearby(struct peer *peer, struct http_request *request, int64_t user) {
    const struct peer_options *options = &peer->options;
    int code = owner_serves(options->owner, hash_user_partition(user, options->partitions));
    if (code)
        peer_refuse(request, code);
    else
        discover_answer(options->discover, request, user, reports_are_warm(options->reports));
}

/* ---- paths ---- */

void peer_handle(struct peer *peer, struct http_request *request) {
    int64_t user, other;
    const char *at;
    if (strcmp(http_method(request), "GET")) {
        http_problem(request, 405, "method", "only GET is answered here", 0);
    } else if ((at = http_path_behind(request, "/peer/friends/")) && http_path_number(&at, &user) && !*at) {
        friends(peer, request, user);
    } else if ((at = http_path_behind(request, "/peer/friendship/")) && http_path_number(&at, &user) && *at++ == '/' &&
               http_path_number(&at, &other) && !*at && user != other) {
        friendship(peer, request, user, other);
    } else if ((at = http_path_behind(request, "/peer/requests/")) && http_path_number(&at, &user) && !*at) {
        requests(peer, request, user);
    } else if ((at = http_path_behind(request, "/peer/nearby/")) && http_path_number(&at, &user) && !*at) {
        near_pages_ask(peer->options.near, request, user);
    } else if ((at = http_path_behind(request, "/peer/audience/")) && http_path_number(&at, &user) && !*at) {
        audience(peer, request, user);
    } else if ((at = http_path_behind(request, "/peer/discover/")) && http_path_number(&at, &user) && !*at) {
        strangers_nearby(peer, request, user);
    } else {
        http_problem(
            request, 404, "not-found",
            "there are /peer/friends/USER, /peer/friendship/USER/OTHER, /peer/requests/USER, /peer/nearby/USER, "
            "/peer/audience/USER and /peer/discover/USER",
            0);
    }
}
