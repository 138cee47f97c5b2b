/* The sink's metrics. Loop's thread. */
#ifndef HISTORY_SINK_METRICS_H
#define HISTORY_SINK_METRICS_H

#include "base/metrics.h"

struct sink_metrics {
    struct metric *rows, *published_rows, *files, *bytes, *races, *undecodable, *dropped, *queries, *owned, *refused,
        *merged_files, *merged_rows, *merged_bytes, *merge_failures, *removed_files, *oldest, *files_left, *loaded_rows,
        *store_bytes, *wiped_rows, *wiped_files, *wiped_file_rows, *wipe_failures, *wiping_left, *wiping_oldest;
};

struct sink_metrics sink_metrics_new(struct metrics *metrics);

#endif
