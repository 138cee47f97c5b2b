#include "router/overload.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "router/backlog.h"
#include "router/state.h"

enum {
    HELD_MAX = 1 << 17,    /* users: 13 MB */
    SETTLED_AT_ONCE = 500, /* some 5 ms of joins */
};

struct overload {
    struct router *router;
    struct backlog *backlog;
    struct loop_timer *turn;
    int64_t limit_ms; /* INT64_MAX: reports are never held */
};

static void settle_item(struct overload *overload, const struct backlog_item *item, int64_t now_us) {
    struct router *router = overload->router;
    struct partition *part = &router->parts[item->partition];
    struct kafka_record record = {
        .topic = &TOPIC_LOCATIONS, .partition = item->partition, .offset = item->offset, .timestamp = item->timestamp};
    if (part->stage == PARTITION_LIVE)
        reports_join(router, &record, &item->event, now_us);
    else if (item->offset < part->next) // its friend lists are being restored: it is read again when they are
        part->next = item->offset;
}

static bool settle_some(struct overload *overload, size_t most) {
    struct backlog_item item;
    int64_t now_us = clock_monotonic_us();
    for (; most && backlog_take_oldest(overload->backlog, &item); most--) settle_item(overload, &item, now_us);
    overload->router->metrics.reports_held->value = (double)backlog_count(overload->backlog);
    return backlog_count(overload->backlog) > 0;
}

static void settle_on(void *context) {
    struct overload *overload = context;
    bool more = settle_some(overload, outbox_blocked(overload->router->outbox) ? 0 : SETTLED_AT_ONCE);
    outbox_flush_old(overload->router->outbox, clock_monotonic_us());
    if (more) loop_timer_again(overload->turn, 0, 0);
}

struct overload *overload_new(struct router *router) {
    struct overload *overload = mem_alloc(sizeof *overload);
    int64_t limit_s = router->settings->max_lag_s;
    *overload = (struct overload){
        .router = router,
        .backlog = backlog_new(HELD_MAX),
        .turn = loop_timer_new(router->loop, INT32_MAX, 0, settle_on, overload),
        .limit_ms = limit_s ? limit_s * 1000 : INT64_MAX,
    };
    return overload;
}

void overload_free(struct overload *overload) {
    if (!overload) return;
    loop_timer_free(overload->turn);
    backlog_free(overload->backlog);
    free(overload);
}

bool overload_take(struct overload *overload, const struct kafka_record *record, const struct location *event,
                   int64_t now_us) {
    struct backlog_item item;
    bool behind = event->kind == LOCATION_REPORT && overload->limit_ms != INT64_MAX &&
                  clock_wall_ms() - record->timestamp > overload->limit_ms;
    if (!behind && !backlog_count(overload->backlog)) return false;
    if (backlog_supersede(overload->backlog, event))
        overload->router->metrics.reports_skipped->value++;
    else if (backlog_take(overload->backlog, event->user, &item))
        settle_item(overload, &item, now_us);
    if (!behind) return false;
    if (backlog_full(overload->backlog)) settle_some(overload, SETTLED_AT_ONCE);
    item = (struct backlog_item){
        .event = *event, .partition = record->partition, .offset = record->offset, .timestamp = record->timestamp};
    backlog_put(overload->backlog, &item);
    return true;
}

void overload_settle(struct overload *overload) { settle_some(overload, SIZE_MAX); }

void overload_measure(struct overload *overload, int64_t lag_ms) {
    overload->router->metrics.reports_held->value = (double)backlog_count(overload->backlog);
    if (overload_holding(overload) && lag_ms <= overload->limit_ms) loop_timer_again(overload->turn, 0, 0);
}

bool overload_holding(const struct overload *overload) { return backlog_count(overload->backlog) > 0; }

void overload_lower(const struct overload *overload, int64_t *offsets) {
    backlog_lower(overload->backlog, offsets, overload->router->partitions);
}
