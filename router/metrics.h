/* The router's metrics: one field a series, made once. Loop's thread. */
#pragma once

#include "base/metrics.h"

struct router_metrics {
    struct metric *events_owned, *events_other; /* locations handled */
    struct metric *joined, *active_friends, *deliveries, *rosters, *digests;
    struct metric *refused_sharing, *ignored_time, *undecodable;
    struct metric *batches, *batch_bytes, *batches_lost;
    struct metric *commands, *halves, *transactions, *transactions_failed;
    struct metric *friendships_applied, *made, *parted, *excess;
    struct metric *leaves;
    struct metric *reports_skipped, *reports_held;
    struct metric *discovered, *public_users, *public_placed;

    struct metric *warm, *caught_up, *digesting;
    struct metric *commands_queued, *overlay;
    struct histogram *friends, *active, *join_seconds;
};

void router_metrics_init(struct router_metrics *m, struct metrics *metrics);
