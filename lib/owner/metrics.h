/* An owner's metrics, by its prefix. Loop's thread. */
#pragma once

#include <stdint.h>

#include "base/metrics.h"
#include "topics/topic.h"

struct owner_metrics {
    struct metric *owned, *restored, *lag, *commits, *held, *unsettled;
    struct metric *restore_records, *standby_records; /* of states, by what they were read for */
    struct metric *standbys, *current, *standby_lag;
    struct metric *left, *rate, *seconds_left; /* of restoring */
    struct metric *pause, *commands_held;
    struct metric **partition_stage, **partition_lag; /* by partition */
    struct metric **next;                             /* by input, then partition */
    double records_before;                            /* a second ago */
};

void owner_metrics_init(struct owner_metrics *m, struct metrics *metrics, const char *prefix, int32_t partitions,
                        const struct topic *const *inputs, size_t input_count);
void owner_metrics_free(struct owner_metrics *m);
