#include <stdlib.h>

#include "base/mem.h"
#include "router/discover.h"
#include "router/joiner_private.h"
#include "router/peer.h"

enum {
    SECOND_MS = 1000,
    SWEEP_SLOTS = 500000 /* a second: ten million slots in twenty */
};

void joiner_fail(struct joiner *joiner, const char *doing, const struct error *error) {
    joiner->options.failed(joiner->options.context, doing, error);
}

/* ---- timers ---- */

static bool sharing_current(const struct joiner *joiner) {
    for (int32_t p = 0; p < joiner->options.partitions; p++) {
        if (owner_live(joiner->owner, p) && owner_state_lag(joiner->owner, STATE_SHARING, p)) return false;
    }
    return true;
}

void joiner_second(struct joiner *joiner) {
    bool stream = joiner->common->clock == SERVICE_CLOCK_STREAM;
    report_clock_tick(joiner->clock);
    int64_t now = report_clock_now(joiner->clock);
    presence_sweep(joiner->presence, now - 2 * joiner->common->inactive_after_s * SECOND_MS, SWEEP_SLOTS);
    if (owner_joined(joiner->owner)) {
        deliver_set_stream_time(joiner->outbox, report_clock_stream(joiner->clock));
        if (stream && !deliver_blocked(joiner->outbox)) deliver_beat(joiner->outbox);
    }
    owner_second(joiner->owner);
    relations_second(joiner->relations);
    opting_second(joiner->opting, joiner->owner);
}

static void measure(struct joiner *joiner) {
    struct router_metrics *metrics = &joiner->metrics;
    reports_measure(joiner->reports, owner_lag_ms(joiner->owner));
    bool lagging = reports_lagging(joiner->reports), warm = reports_are_warm(joiner->reports);
    deliver_set_flush_us(joiner->outbox, SECOND_MS * (lagging ? joiner->settings->outbox_flush_behind_ms
                                                              : joiner->owning->outbox_flush_ms));
    metrics->digesting->value = warm && !lagging;
    metrics->caught_up->value = warm && !lagging && owner_assigned(joiner->owner) && sending_up(joiner->sending) &&
                                !deliver_blocked(joiner->outbox) && owner_commands_current(joiner->owner) &&
                                relations_current(joiner->relations) && sharing_current(joiner);
}

void joiner_tenth(struct joiner *joiner) {
    report_clock_tick(joiner->clock);
    opting_tenth(joiner->opting);
    discover_tenth(joiner->discover);
    relations_tenth(joiner->relations);
    owner_tenth(joiner->owner);
    if (owner_joined(joiner->owner)) measure(joiner);
    near_pages_tenth(joiner->near);
    joiner->options.ready(joiner->options.context, "assigned", owner_was_assigned(joiner->owner));
    joiner->options.ready(joiner->options.context, "restored", owner_ready(joiner->owner));
}

void joiner_collect(struct joiner *joiner) {
    struct router_metrics *metrics = &joiner->metrics;
    struct adjacency_usage graph = graph_usage(joiner->options.graph);
    struct store_usage usage = graph.store;
    metrics->store_build->value = (double)graph.build;
    metrics->store_hits->value = (double)usage.cache_hits;
    metrics->store_misses->value = (double)usage.cache_misses;
    metrics->store_memtables->value = (double)usage.memtables;
    metrics->store_cache->value = (double)usage.block_cache;
    metrics->store_readers->value = (double)usage.table_readers;
    metrics->store_files->value = (double)usage.sst_files;
    metrics->present->value = (double)presence_count(joiner->presence);
    metrics->presence_bytes->value = (double)presence_bytes(joiner->presence);
    metrics->outbox_bytes->value = (double)deliver_bytes(joiner->outbox);
}

/* ---- calls from outside ---- */

void joiner_friends_changed(struct joiner *joiner, const struct graph_change *change) {
    if (change->made != change->was_made) (change->made ? joiner->metrics.made : joiner->metrics.parted)->value++;
    if (!change->made) cap_parted(joiner->cap, change->user, change->other);
    reports_friends_changed(joiner->reports, change);
}

void joiner_friends_exceeded(struct joiner *joiner, int32_t partition, int64_t user, int64_t other, int64_t since,
                             int64_t offset) {
    cap_notice(joiner->cap, partition, user, other, since, offset);
}

void joiner_friends_damaged(struct joiner *joiner, int32_t partition, const struct error *error) {
    relations_damaged(joiner->relations, partition, error);
}

void joiner_peer(struct joiner *joiner, struct http_request *request) {
    if (owner_joined(joiner->owner))
        peer_handle(joiner->peer, request);
    else
        http_problem(request, 503, "starting", "this process has not joined its group yet", 1);
}

bool joiner_whole(const struct joiner *joiner) { return owner_restored(joiner->owner) && !joiner->draining; }

/* ---- beginning and end ---- */

int joiner_new(const struct joiner_options *options, struct joiner **out, struct error *error) {
    struct joiner *joiner = mem_alloc(sizeof *joiner);
    *joiner = (struct joiner){
        .options = *options,
        .settings = options->settings,
        .owning = options->owning,
        .common = options->common,
    };
    *out = joiner;
    router_metrics_init(&joiner->metrics, options->registry);
    return joiner_make_parts(joiner, error);
}

void joiner_free(struct joiner *joiner) {
    if (!joiner) return;
    joiner_free_parts(joiner);
    free(joiner);
}

void joiner_drain(struct joiner *joiner) {
    joiner->draining = true;
    warmup_stop(joiner->warmup);
    relations_stop(joiner->relations);
    owner_drain(joiner->owner);
}

bool joiner_busy(struct joiner *joiner) {
    joiner->draining = true;
    warmup_stop(joiner->warmup);
    relations_stop(joiner->relations);
    owner_stop(joiner->owner);
    return owner_busy(joiner->owner) || (joiner->commands && decider_busy(commands_decider(joiner->commands))) ||
           joiner_workers_busy(joiner);
}
