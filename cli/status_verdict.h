/* The verdict of `starling status`: is everything well, and if not, what is wrong? Pure; one thread. */
#pragma once

#include "cli/status.h"

/* The values are the command's exit codes. */
enum status_level { STATUS_HEALTHY = 0, STATUS_DEGRADED = 1, STATUS_DOWN = 2 };

/* The exit code of wrong usage: nothing is known about the deployment. */
enum { STATUS_UNUSABLE = 3 };

struct status_verdict {
    enum status_level level;
    struct buffer *reasons; /* a text each, for people, the worst first; freed by status_verdict_clear */
    size_t reason_count;
};

/* Down: a group has no member although its topics hold records, or no group has any; or none of the gateways, or of the edges, is ready. Degraded: a
 * gateway or an edge is not ready, or, of addresses that somebody gave, one is silent or none is a gateway's; partitions are nobody's, a group shares
 * its partitions out again, or records wait for longer than half a minute. */
void status_judge(const struct status *status, struct status_verdict *verdict);
void status_verdict_clear(struct status_verdict *verdict);

const char *status_level_name(enum status_level level); /* "healthy" */

/* Records that wait for the group: of a partition, or of all. STATUS_UNKNOWN where the group has committed nothing. */
int64_t status_lag(const struct status_topic *topic, int partition);
int64_t status_lag_total(const struct status_topic *topic);
