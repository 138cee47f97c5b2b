/* Locations become deliveries: each one that is believable feeds presence, and those of owned partitions are joined with the friend
 * list of their user and the presence of these friends. What comes of that goes to the outbox. Loop's thread.
 */
#ifndef ROUTER_REPORTS_H
#define ROUTER_REPORTS_H

#include "deliver/deliver.h"
#include "owner/owner.h"
#include "router/graph.h"
#include "router/opting.h"
#include "router/presence.h"

struct reports;

struct reports_options {
    uv_loop_t *loop;
    struct router_metrics *metrics;
    int32_t partitions, routes;
    int64_t inactive_ms;
    double radius_m;
    int64_t max_lag_s; /* router.max.lag.s */
    size_t input;      /* the owner's number of the topic locations */
    struct presence *presence;
    struct report_clock *clock;
    struct graph *graph;
    struct opting *opting;
    struct deliver *outbox;
    struct sending *sending;
    void *context;
    void (*failed)(void *context, const struct error *error); /* the store failed: there is no going on */
};

struct reports *reports_new(const struct reports_options *options);
void reports_free(struct reports *reports); /* NULL is fine */

/* Before reports of owned partitions come. */
void reports_set_owner(struct reports *reports, struct owner *owner);

/* One location. owned: it is joined; else it only feeds presence. now_us: monotonic. */
void reports_handle(struct reports *reports, const struct kafka_record *record, bool owned, int64_t now_us);

/* Two have become friends, or have parted: the user, whose list it is, is told. */
void reports_befriended(struct reports *reports, int64_t user, int64_t other);
void reports_parted(struct reports *reports, int64_t user, int64_t other);

/* Presence holds the whole inactive window: rosters are complete from now on. */
void reports_warm(struct reports *reports);
bool reports_are_warm(const struct reports *reports);

/* Ten times a second: how far behind the reading is. More than a second: no digests are sent. */
void reports_measure(struct reports *reports, int64_t lag_ms);
bool reports_lagging(const struct reports *reports);

/* What is held because the reading is far behind: all of it is joined now. Offsets (by partition) before it are lowered to. */
void reports_settle(struct reports *reports);
void reports_lower(const struct reports *reports, int64_t *offsets);

#endif
