/* Metrics of partitions that come and go: stages, lag, take-overs, stand-by, restoring. Loop's thread. */
#ifndef ROUTER_STANDBY_METRICS_H
#define ROUTER_STANDBY_METRICS_H

#include <stdint.h>

#include "base/metrics.h"

struct standby_metrics {
    struct metric *restore_records, *standby_records; /* read of friendships and sharing, by what they were read for */
    struct metric *standbys, *current, *lag;
    struct metric *left, *rate, *seconds_left; /* of restoring */
    struct metric *pause;
    struct metric **partition_stage, **partition_lag; /* by partition */
    double records_before;                            /* a second ago */
};

void standby_metrics_init(struct standby_metrics *m, struct metrics *metrics, int32_t partitions);
void standby_metrics_free(struct standby_metrics *m);

#endif
