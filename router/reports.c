#include <errno.h>

#include "base/clock.h"
#include "base/hash.h"
#include "router/state.h"

enum { TIMED_ONE_IN = 64 };

/* NULL: an event that may reach presence; else why it may not. */
static const char *complaint(const struct router *router, int32_t partition, const struct location *event) {
    if (!presence_valid(event)) return "a number is out of range";
    if (event->route >= router->routes) return "no such route";
    if (hash_user_partition(event->user, router->partitions) != partition) return "not in the partition of its user";
    return NULL;
}

/* Reports by those who have not opted in. What other routers may have taken for a presence is cleared as well: presence of
 * this one is marked at once, so that it is done once. */
static bool refused(struct router *router, int32_t partition, const struct location *event) {
    int64_t offset;
    if (event->kind == LOCATION_LEAVE || event->kind == LOCATION_QUIT) return false;
    if (!consents_refuses(router->consents, partition, event->user, event->opted, &offset)) return false;
    router->metrics.refused_sharing->value++;
    const struct presence_slot *slot = presence_find(router->presence, event->user);
    struct location leave = {.user = event->user,
                             .time = timeline_now(router->timeline),
                             .kind = LOCATION_LEAVE,
                             .route = PRESENCE_ROUTE_NONE,
                             .opted = offset < 0 ? 0 : offset,
                             .accuracy = -1};
    if ((!slot || !slot->left) && !sending_leave(router, event->user, leave.opted, 0))
        presence_apply(router->presence, &leave, NULL, NULL);
    return true;
}

static void count_result(struct router_metrics *metrics, const struct join_result *result, size_t friends,
                         size_t told) {
    metrics->joined->value++;
    metrics->active_friends->value += (double)result->active;
    metrics->deliveries->value += (double)told;
    metrics->rosters->value += result->roster;
    metrics->digests->value += result->digest;
    histogram_observe(metrics->friends, (double)friends);
    histogram_observe(metrics->active, (double)result->active);
}

static void joined(struct router *router, const struct kafka_record *record, const struct location *event,
                   int64_t now_us) {
    struct join_context context = router_join_context(router);
    struct join_result *result = &router->result;
    struct error error;
    if (!join_event(&context, event, result)) {
        if (result->beaten_route == PRESENCE_ROUTE_NONE && result->older_route == PRESENCE_ROUTE_NONE) return;
        router->metrics.superseded->value++;
        telling_result(router->outbox, result, record->timestamp, now_us);
        return;
    }
    // Looking at the clock twice for each join would cost a hundredth of it.
    bool timed = router->join_count++ % TIMED_ONE_IN == 0;
    int64_t begun_us = timed ? clock_monotonic_us() : 0;
    if (graph_friends(router->graph, record->partition, event->user, &router->friends, &error)) {
        router_store_failed(router, &error);
        return;
    }
    join_reserve(result, router->friends.count);
    join_friends(&context, router->friends.items, router->friends.count, result);
    router->metrics.superseded->value += result->older_route != PRESENCE_ROUTE_NONE;
    size_t told = telling_result(router->outbox, result, record->timestamp, now_us);
    count_result(&router->metrics, result, router->friends.count, told);
    if (timed) histogram_observe(router->metrics.join_seconds, (double)(clock_monotonic_us() - begun_us) / 1e6);
}

void reports_join(struct router *router, const struct kafka_record *record, const struct location *event,
                  int64_t now_us) {
    if (!refused(router, record->partition, event)) joined(router, record, event, now_us);
}

void reports_handle(struct router *router, const struct kafka_record *record, bool owned, int64_t now_us) {
    struct location event;
    struct error error;
    const char *reason = NULL;
    (owned ? router->metrics.events_owned : router->metrics.events_other)->value++;
    if (event_decode_location(router->codec, record->value, record->value_size, &event, &error))
        reason = error.text;
    else
        reason = complaint(router, record->partition, &event);
    if (reason) {
        if (owned) router_undecodable(router, record, reason); // once, however many routers read it
        return;
    }
    if (!timeline_accept(router->timeline, record->partition, &event)) {
        if (owned) router->metrics.ignored_time->value++;
        return;
    }
    if (!owned)
        presence_apply(router->presence, &event, NULL, NULL);
    else if (!overload_take(router->overload, record, &event, now_us))
        reports_join(router, record, &event, now_us);
}

void reports_befriended(struct router *router, int64_t user, int64_t other) {
    struct join_context context = router_join_context(router);
    join_befriended(&context, user, other, &router->result);
    if (!router->result.roster) return;
    router->metrics.rosters->value++;
    telling_result(router->outbox, &router->result, 0, clock_monotonic_us());
}

void reports_parted(struct router *router, int64_t user, int64_t other) {
    const struct presence_slot *slot = presence_find(router->presence, user);
    if (!slot || slot->route == PRESENCE_ROUTE_NONE) return;
    telling_parted(router->outbox, (int32_t)slot->route, user, other, clock_monotonic_us());
}
