/* Turns locations into deliveries. Each believable location feeds presence; those of owned partitions are joined with the friend list of
 * their user and with the friends' presence, and the results go to the outbox. Loop's thread.
 */
#pragma once

#include "router/graph.h"

struct reports;
struct router;

struct reports *reports_new(struct router *router);
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
