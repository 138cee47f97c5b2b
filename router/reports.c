#include "router/reports.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "event/codec.h"
#include "event/topics.h"
#include "router/overload.h"
#include "router/router_private.h"
#include "router/telling.h"

enum { TIMED_ONE_IN = 64, BEHIND_MS = 1000 };

struct reports {
    struct router *router;
    struct overload *overload;
    struct rates *joins; /* friends that were compared, by user */
    struct codec *codec;
    struct join_result result;
    struct id_list friends; /* of the user at hand */
    struct rounding_list roundings;
    uint32_t join_count; /* which of them are timed */
    bool warm;
    bool lagging; /* more than a second behind: no digests */
};

static struct join_context context_of(const struct reports *reports) {
    return (struct join_context){
        .presence = reports->router->presence,
        .now = report_clock_now(reports->router->clock),
        .inactive_ms = reports->router->inactive_ms,
        .radius_m = reports->router->common->radius_m,
        .rounded = reports->router->rounded,
        .warm = reports->warm,
        .digests = reports->warm && !reports->lagging,
    };
}

/* When a record arrived, by the clock that presence is swept by. */
static int64_t arrival(const struct router *router, int64_t received) {
    bool stream = router->common->clock == SERVICE_CLOCK_STREAM;
    return stream ? report_clock_now(router->clock) : received;
}

/* NULL: an event that may reach presence; else why it may not. */
static const char *complaint(const struct reports *reports, int32_t partition, const struct location *event) {
    if (!presence_valid(event)) return "a number is out of range";
    if (event->route >= reports->router->routes) return "no such route";
    if (hash_user_partition(event->user, reports->router->partitions) != partition)
        return "not in the partition of its user";
    return NULL;
}

/* Refuses reports of users who have not opted in. A LEAVE clears the presence that other routers may have taken from the report; this
 * router marks its own presence at once, so that it sends only one LEAVE. */
static bool refused(struct reports *reports, int32_t partition, const struct location *event) {
    struct router *router = reports->router;
    int64_t offset;
    if (event->kind == LOCATION_LEAVE || event->kind == LOCATION_QUIT) return false;
    if (!opting_refuses(router->opting, partition, event->user, event->opted, &offset)) return false;
    router->metrics.refused_sharing->value++;
    const struct presence_slot *slot = presence_find(router->presence, event->user);
    struct location leave = {.user = event->user,
                             .time = report_clock_now(router->clock),
                             .kind = LOCATION_LEAVE,
                             .route = PRESENCE_ROUTE_NONE,
                             .opted = offset,
                             .accuracy = -1};
    if ((!slot || !slot->left) && !record_collector_leave(router->collector, event->user, leave.opted, leave.time, 0))
        presence_apply(router->presence, &leave, 0, NULL, NULL);
    return true;
}

static void count_result(struct router_metrics *metrics, const struct join_result *result, size_t friends,
                         size_t told) {
    metrics->joined->value++;
    metrics->active_friends->value += (double)result->active;
    metrics->deliveries->value += (double)told;
    metrics->rosters->value += (double)(result->roster * result->answer_count);
    metrics->digests->value += (double)(result->digest * result->answer_count);
    histogram_observe(metrics->friends, (double)friends);
    histogram_observe(metrics->active, (double)result->active);
}

static void joined(struct reports *reports, int32_t partition, const struct location *event, int64_t received,
                   int64_t now_us) {
    struct router *router = reports->router;
    struct join_context context = context_of(reports);
    struct join_result *result = &reports->result;
    struct error error;
    if (!join_event(&context, event, arrival(router, received), result)) {
        telling_result(router->outbox, result, received, now_us);
        return;
    }
    if (event->shown && result->time == event->time) result->details = event;
    // Looking at the clock twice for each join would cost a hundredth of it.
    bool timed = reports->join_count++ % TIMED_ONE_IN == 0;
    int64_t begun_us = timed ? clock_monotonic_us() : 0;
    int code = graph_friends(router->graph, partition, event->user, &reports->friends, &error);
    if (!code)
        code = graph_roundings(router->graph, partition, event->user, &reports->friends, &reports->roundings, &error);
    if (code) {
        tasks_store_failed(router->tasks, partition, code, &error);
        return;
    }
    join_reserve(result, reports->friends.count);
    rates_charge(reports->joins, (uint64_t)event->user, (int64_t)reports->friends.count + 1, now_us / 1000);
    join_friends(&context, reports->friends.items, reports->friends.count, &reports->roundings, result);
    size_t told = telling_result(router->outbox, result, received, now_us);
    if (router->notifying && result->newcomer_count) notifying_joined(router->notifying, result);
    count_result(&router->metrics, result, reports->friends.count, told);
    if (timed) histogram_observe(router->metrics.join_seconds, (double)(clock_monotonic_us() - begun_us) / 1e6);
}

/* A report that overload has not held, or no longer holds. */
static void join_report(struct reports *reports, int32_t partition, const struct location *event, int64_t received,
                        int64_t now_us) {
    if (!refused(reports, partition, event)) joined(reports, partition, event, received, now_us);
    discover_event(reports->router->discover, event->user, received);
}

static uint64_t trace_number(int32_t partition, int64_t offset) { return (uint64_t)partition << 44 ^ (uint64_t)offset; }

/* One that overload held. */
static void take_held(void *context, const struct backlog_item *item, int64_t now_us) {
    struct reports *reports = context;
    struct owner *owner = tasks_owner(reports->router->tasks);
    struct tracer *tracer = service_kafka(reports->router->service)->tracer;
    struct trace_scope scope;
    bool traced = tracer_unpark(tracer, reports, trace_number(item->partition, item->offset), &scope, NULL);
    struct trace_scope *before = tracer_enter(tracer, traced ? &scope : NULL);
    if (owner_live(owner, item->partition))
        join_report(reports, item->partition, &item->event, item->timestamp, now_us);
    else // its friend lists are being restored: it is read again when they are
        owner_lower(owner, ROUTER_LOCATIONS, item->partition, item->offset);
    tracer_enter(tracer, before);
}

static void keep_details(struct router *router, const struct location *event) {
    kept_details_put(router->details, &(struct user_details){.user = event->user,
                                                             .time = event->time,
                                                             .accuracy = event->accuracy,
                                                             .shown = true,
                                                             .said = {DETAILS_OF(event)}});
}

void reports_handle(struct reports *reports, const struct kafka_record *record, bool owned, int64_t now_us) {
    struct router *router = reports->router;
    struct location event;
    struct error error;
    const char *reason = NULL;
    (owned ? router->metrics.events_owned : router->metrics.events_other)->value++;
    if (event_decode_location(reports->codec, record->value, record->value_size, &event, &error))
        reason = error.text;
    else
        reason = complaint(reports, record->partition, &event);
    if (reason) {
        if (owned) tasks_bury(router->tasks, record, reason); // once, however many routers read it
        return;
    }
    if (!report_clock_accept(router->clock, record->partition, &event)) {
        if (owned) router->metrics.ignored_time->value++;
        return;
    }
    if (event.shown) keep_details(router, &event);
    opting_tick(router->opting);
    if (!owned) {
        presence_apply(router->presence, &event, arrival(router, record->timestamp), NULL, NULL);
        discover_event(router->discover, event.user, record->timestamp);
    } else if (!overload_take(reports->overload, record, &event, now_us)) {
        join_report(reports, record->partition, &event, record->timestamp, now_us);
    } else {
        tracer_park(service_kafka(router->service)->tracer, reports, trace_number(record->partition, record->offset));
    }
}

static void tell_of_friend(struct reports *reports, const struct graph_change *change) {
    struct join_context context = context_of(reports);
    join_befriended(&context, change->user, change->other, change->rounded, &reports->result);
    if (!reports->result.roster) return;
    reports->router->metrics.rosters->value += (double)reports->result.answer_count;
    telling_result(reports->router->outbox, &reports->result, 0, clock_monotonic_us());
}

static void tell_of_parting(struct reports *reports, const struct graph_change *change) {
    int32_t routes[DEVICES_MAX];
    const struct presence_slot *slot = presence_find(reports->router->presence, change->user);
    size_t count = slot ? presence_routes(reports->router->presence, slot, routes) : 0;
    if (!count) return;
    telling_parted(reports->router->outbox, routes, count, change->user, change->other, clock_monotonic_us());
}

static void tell_friend(struct reports *reports, const struct graph_change *change) {
    struct join_context context = context_of(reports);
    join_rounded(&context, change->user, change->other, change->rounded & ROUNDING_MINE, &reports->result);
    telling_result(reports->router->outbox, &reports->result, 0, clock_monotonic_us());
}

/* The owners of both tell both, each as it reads of the change: until then it may have told them what no longer holds. */
void reports_friends_changed(struct reports *reports, const struct graph_change *change) {
    uint8_t changed = change->rounded ^ change->rounded_before;
    if (!change->made) {
        tell_of_parting(reports, change);
        return;
    }
    if (!change->was_made || changed & ROUNDING_THEIRS) tell_of_friend(reports, change);
    if (change->was_made && changed & ROUNDING_MINE) tell_friend(reports, change);
}

/* ---- behind, and warm ---- */

void reports_warm(struct reports *reports) { reports->warm = true; }

bool reports_are_warm(const struct reports *reports) { return reports->warm; }

void reports_measure(struct reports *reports, int64_t lag_ms) {
    overload_measure(reports->overload, lag_ms);
    reports->lagging = lag_ms >= BEHIND_MS || overload_holding(reports->overload);
}

bool reports_lagging(const struct reports *reports) { return reports->lagging; }

void reports_settle(struct reports *reports) { overload_settle(reports->overload); }

void reports_lower(const struct reports *reports, int64_t *offsets) { overload_lower(reports->overload, offsets); }

/* ---- beginning and end ---- */

struct reports *reports_new(struct router *router) {
    struct reports *reports = MEM_NEW(&(struct reports){.router = router, .codec = codec_new(), .lagging = true});
    reports->joins = rates_new(&(struct rates_options){service_metrics(router->service), "joins", "user",
                                                       router->settings->joins_rate, router->settings->joins_burst});
    struct overload_options overload = {
        .loop = service_loop(router->service),
        .partitions = router->partitions,
        .limit_s = router->settings->max_lag_s,
        .joins = reports->joins,
        .metrics = &router->metrics,
        .outbox = router->outbox,
        .context = reports,
        .join = take_held,
    };
    reports->overload = overload_new(&overload);
    join_result_init(&reports->result);
    return reports;
}

void reports_free(struct reports *reports) {
    if (!reports) return;
    overload_free(reports->overload);
    rates_free(reports->joins);
    codec_free(reports->codec);
    join_result_free(&reports->result);
    id_list_free(&reports->friends);
    rounding_list_free(&reports->roundings);
    free(reports);
}
