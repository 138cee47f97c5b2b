#include "router/metrics.h"

#include "base/config.h"

static struct metric *counter(struct metrics *metrics, const char *name, const char *help) {
    return metrics_counter(metrics, name, help, NULL);
}

static struct metric *gauge(struct metrics *metrics, const char *name, const char *help) {
    return metrics_gauge(metrics, name, help, NULL);
}

static void make_counters(struct router_metrics *m, struct metrics *s) {
    const char *events = "starling_router_events_total",
               *events_help = "Records of the topic locations that were handled";
    m->events_owned = metrics_counter(s, events, events_help, "partition=\"owned\"");
    m->events_other = metrics_counter(s, events, events_help, "partition=\"other\"");
    m->joined = counter(s, "starling_router_joins_total", "Events that were joined with a friend list");
    m->active_friends = counter(s, "starling_router_active_friends_total", "Active friends that joins found");
    m->deliveries =
        counter(s, "starling_router_deliveries_total", "Positions told: recipients of moves, entries of rosters");
    m->rosters = counter(s, "starling_router_rosters_total", "Rosters sent");
    m->digests = counter(s, "starling_router_digests_total", "Digests sent");
    const char *refused = "starling_router_refused_total", *refused_help = "Events that were not taken, by reason";
    m->refused_sharing = metrics_counter(s, refused, refused_help, "reason=\"opted_out\"");
    m->ignored_time = metrics_counter(s, refused, refused_help, "reason=\"time\"");
    m->undecodable = metrics_counter(s, refused, refused_help, "reason=\"undecodable\"");
    m->batches = counter(s, "starling_router_batches_total", "Delivery batches sent");
    m->batch_bytes = counter(s, "starling_router_batch_bytes_total", "Bytes of delivery batches sent");
    m->batches_lost =
        counter(s, "starling_router_batches_lost_total", "Delivery batches that Kafka did not acknowledge");
    m->commands = counter(s, "starling_router_commands_total", "Friend commands handled");
    m->halves = counter(s, "starling_router_halves_written_total", "Halves of friendships written");
    m->transactions = counter(s, "starling_router_transactions_total", "Transactions committed");
    m->transactions_failed =
        counter(s, "starling_router_transactions_failed_total", "Transactions that were not committed");
    m->friendships_applied = counter(s, "starling_router_friendships_applied_total", "Records of friendships applied");
    const char *changes = "starling_router_friend_changes_total",
               *changes_help = "Entries of friend lists made and parted";
    m->made = metrics_counter(s, changes, changes_help, "change=\"made\"");
    m->parted = metrics_counter(s, changes, changes_help, "change=\"parted\"");
    m->excess = counter(s, "starling_router_excess_total", "Friendships beyond the cap, whose removal was asked for");
    m->reports_skipped = counter(s, "starling_router_reports_skipped_total",
                                 "Reports not joined because a newer one of the same user waited behind them");
    m->discovered = counter(s, "starling_router_discovered_total", "Lists of strangers nearby that were answered");
    m->leaves = counter(s, "starling_router_leaves_total", "LEAVE events produced");
}

static void make_gauges(struct router_metrics *m, struct metrics *s) {
    m->warm = gauge(s, "starling_router_warm", "1 when presence holds the whole inactive window");
    m->caught_up = gauge(s, "starling_router_caught_up",
                         "1 when warm, all owned partitions are restored and all input is less than a second behind");
    m->digesting = gauge(s, "starling_router_digesting", "1 while digests are sent");
    m->public_users = gauge(s, "starling_router_public_users", "Users who share publicly");
    m->public_placed =
        gauge(s, "starling_router_public_placed_users", "Users who share publicly and have reported recently");
    m->reports_held = gauge(s, "starling_router_reports_held",
                            "Reports held while far behind, or of users whose joins cost too much; one a user");
    m->commands_queued = gauge(s, "starling_router_commands_queued", "Friend commands read and not handled yet");
    m->overlay = gauge(s, "starling_router_overlay_halves", "Halves written and not read back yet");
}

void router_metrics_init(struct router_metrics *m, struct metrics *metrics) {
    static const double FRIENDS[] = {1, 10, 50, 100, 200, 400, 800, 1600, 5000};
    static const double SECONDS[] = {5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 0.1};
    make_counters(m, metrics);
    make_gauges(m, metrics);
    m->friends = metrics_histogram(metrics, "starling_router_friends", "Friends of the users whose events were joined",
                                   NULL, FRIENDS, ARRAY_SIZE(FRIENDS));
    m->active =
        metrics_histogram(metrics, "starling_router_candidates", "Active friends of the users whose events were joined",
                          NULL, FRIENDS, ARRAY_SIZE(FRIENDS));
    m->join_seconds = metrics_histogram(metrics, "starling_router_join_seconds",
                                        "What a join takes, from its friend list to the outbox; one in 64 is timed",
                                        NULL, SECONDS, ARRAY_SIZE(SECONDS));
}
