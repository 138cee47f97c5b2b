#include "router/overload.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

enum {
    HELD_MAX = 1 << 17,    /* users: 13 MB */
    SETTLED_AT_ONCE = 500, /* some 5 ms of joins */
    PAUSE_US = 1000000     /* between two joins of a user whose joins cost too much */
};

struct overload {
    struct overload_options options;
    struct backlog *backlog;
    struct loop_timer *turn;
    int64_t limit_ms; /* INT64_MAX: reports are not held for their age */
    int64_t settled_us;
    bool behind; /* some are held for their age */
};

static void join(struct overload *overload, const struct backlog_item *item, int64_t now_us) {
    overload->options.join(overload->options.context, item, now_us);
}

static bool settle_some(struct overload *overload, size_t most) {
    struct backlog_item item;
    int64_t now_us = clock_monotonic_us();
    for (; most && backlog_take_oldest(overload->backlog, &item); most--) join(overload, &item, now_us);
    overload->options.metrics->reports_held->value = (double)backlog_count(overload->backlog);
    return backlog_count(overload->backlog) > 0;
}

static void settle_on(void *context) {
    struct overload *overload = context;
    bool more = settle_some(overload, deliver_blocked(overload->options.outbox) ? 0 : SETTLED_AT_ONCE);
    deliver_flush_old(overload->options.outbox, clock_monotonic_us());
    if (more) loop_timer_again(overload->turn, 0, 0);
}

struct overload *overload_new(const struct overload_options *options) {
    struct overload *overload = mem_alloc(sizeof *overload);
    *overload = (struct overload){
        .options = *options,
        .backlog = backlog_new(HELD_MAX),
        .turn = loop_timer_new(options->loop, INT32_MAX, 0, settle_on, overload),
        .limit_ms = options->limit_s ? options->limit_s * 1000 : INT64_MAX,
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
    bool report = event->kind == LOCATION_REPORT;
    bool behind = report && overload->limit_ms != INT64_MAX && clock_wall_ms() - record->timestamp > overload->limit_ms;
    bool held = behind || (report && rates_owing(overload->options.joins, (uint64_t)event->user, now_us / 1000));
    if (!held && !backlog_count(overload->backlog)) return false;
    if (backlog_supersede(overload->backlog, event))
        overload->options.metrics->reports_skipped->value++;
    else if (backlog_take(overload->backlog, event->user, &item))
        join(overload, &item, now_us);
    if (!held) return false;
    overload->behind = overload->behind || behind;
    if (backlog_full(overload->backlog)) settle_some(overload, SETTLED_AT_ONCE);
    item = (struct backlog_item){
        .event = *event, .partition = record->partition, .offset = record->offset, .timestamp = record->timestamp};
    backlog_put(overload->backlog, &item);
    return true;
}

void overload_settle(struct overload *overload) { settle_some(overload, SIZE_MAX); }

void overload_measure(struct overload *overload, int64_t lag_ms) {
    overload->options.metrics->reports_held->value = (double)backlog_count(overload->backlog);
    overload->behind =
        overload->behind && backlog_count(overload->backlog); // newer reports take its last ones out, too
    int64_t now_us = clock_monotonic_us();
    if (!backlog_count(overload->backlog) || lag_ms > overload->limit_ms) return;
    if (!overload->behind && now_us - overload->settled_us < PAUSE_US) return;
    overload->settled_us = now_us;
    loop_timer_again(overload->turn, 0, 0);
}

bool overload_holding(const struct overload *overload) { return overload->behind; }

void overload_lower(const struct overload *overload, int64_t *offsets) {
    backlog_lower(overload->backlog, offsets, overload->options.partitions);
}
