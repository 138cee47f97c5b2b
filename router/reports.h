/* Turns locations into deliveries. Each believable location feeds presence; those of owned partitions are joined with the friend list of
 * their user and with the friends' presence, and the results go to the outbox. Loop's thread.
 */
#pragma once

#include "deliver/deliver.h"
#include "router/discover.h"
#include "router/graph.h"
#include "router/notifying.h"
#include "router/opting.h"
#include "router/presence.h"
#include "tasks/tasks.h"

struct reports;

struct reports_options {
    uv_loop_t *loop;
    struct router_metrics *metrics;
    int32_t partitions, routes;
    int64_t inactive_ms;
    double radius_m;
    struct grid rounded;             /* of places that friends see rounded */
    int64_t max_lag_s;               /* router.max.lag.s */
    int64_t joins_rate, joins_burst; /* router.joins.user.* */
    struct metrics *registry;
    size_t input; /* the owner's number of the topic locations */
    struct tracer *tracer;
    struct presence *presence;
    struct report_clock *clock;
    struct graph *graph;
    struct opting *opting;
    struct notifying *notifying; /* NULL: nobody is notified */
    struct discover *discover;   /* hears of every event that presence has taken */
    struct deliver *outbox;
    struct record_collector *collector;
    struct tasks *tasks;
    void *context;
    void (*failed)(void *context, const struct error *error); /* the store failed: the process must end */
};

struct reports *reports_new(const struct reports_options *options);
void reports_free(struct reports *reports); /* NULL is fine */

/* Handles one location. owned: joins it; else it only feeds presence. now_us: monotonic. */
void reports_handle(struct reports *reports, const struct kafka_record *record, bool owned, int64_t now_us);

/* A friendship was made (tells the user of the other), has ended (the same), or is rounded otherwise (tells each of the other where that
 * is, as it is seen now). */
void reports_friends_changed(struct reports *reports, const struct graph_change *change);

/* Presence holds the whole inactive window: rosters are complete from now on. */
void reports_warm(struct reports *reports);
bool reports_are_warm(const struct reports *reports);

/* Ten times a second: lag_ms says how far reading is behind. At more than a second no digests are sent. */
void reports_measure(struct reports *reports, int64_t lag_ms);
bool reports_lagging(const struct reports *reports);

/* reports_settle joins all reports that are held because reading is far behind. reports_lower lowers offsets (by partition) to the first
 * held report. */
void reports_settle(struct reports *reports);
void reports_lower(const struct reports *reports, int64_t *offsets);
