#include "history-sink/metrics.h"

struct sink_metrics sink_metrics_new(struct metrics *m) {
    return (struct sink_metrics){
        .rows = metrics_counter(m, "starling_history_rows_total", "Rows written to open files.", NULL),
        .published_rows = metrics_counter(m, "starling_history_published_rows_total", "Rows in published files.", NULL),
        .files = metrics_counter(m, "starling_history_files_total", "Files published.", NULL),
        .bytes = metrics_counter(m, "starling_history_file_bytes_total", "Bytes of files published.", NULL),
        .races = metrics_counter(m, "starling_history_races_lost_total",
                                 "Files dropped because another sink had published first.", NULL),
        .merged_files =
            metrics_counter(m, "starling_history_merged_files_total", "Files of finished hours published.", NULL),
        .merged_rows =
            metrics_counter(m, "starling_history_merged_rows_total", "Rows in files of finished hours.", NULL),
        .merged_bytes =
            metrics_counter(m, "starling_history_merged_bytes_total", "Bytes of files of finished hours.", NULL),
        .merge_failures = metrics_counter(m, "starling_history_merge_failures_total",
                                          "Times that finished hours could not be merged; the log says why.", NULL),
        .removed_files =
            metrics_counter(m, "starling_history_removed_files_total", "Files removed, merged or too old.", NULL),
        .undecodable = metrics_counter(m, "starling_history_undecodable_total",
                                       "Records that could not be read, sent to the dead letter queue.", NULL),
        .dropped = metrics_counter(m, "starling_history_dropped_offsets_total",
                                   "Offsets that Kafka dropped before they were read.", NULL),
        .queries = metrics_counter(m, "starling_history_queries_total", "Well-formed queries of peers.", NULL),
        .owned =
            metrics_gauge(m, "starling_history_partitions", "Partitions of locations that this process owns.", NULL),
        .refused = metrics_gauge(m, "starling_history_refused_partitions",
                                 "Owned partitions that do not work because of their files; the log says why.", NULL),
        .oldest =
            metrics_gauge(m, "starling_history_oldest_unpublished_seconds",
                          "Age of the oldest row that may be in no published file; of a partition that does not work, "
                          "how long it has not. 0: all are.",
                          NULL),
        .files_left = metrics_gauge(m, "starling_history_rebuild_files",
                                    "Published files that are still to be read back into the store.", NULL),
        .loaded_rows = metrics_counter(m, "starling_history_rebuilt_rows_total",
                                       "Rows read back from files into the store.", NULL),
        .store_bytes = metrics_gauge(m, "starling_history_store_bytes", "The store's size on disk.", NULL),
        .wiped_rows = metrics_counter(m, "starling_history_wiped_rows_total",
                                      "Rows of forgotten users that left the store.", NULL),
        .wiped_files = metrics_counter(m, "starling_history_wiped_files_total",
                                       "Files replaced by ones without the rows of forgotten users.", NULL),
        .wiped_file_rows = metrics_counter(m, "starling_history_wiped_file_rows_total",
                                           "Rows of forgotten users that left files.", NULL),
        .wipe_failures = metrics_counter(
            m, "starling_history_wipe_failures_total",
            "Times that rows of forgotten users could not be taken out of files; the log says why.", NULL),
        .wiping_left = metrics_gauge(m, "starling_history_wiping_users",
                                     "Erasures of users that may have rows in files of owned partitions.", NULL),
        .wiping_oldest = metrics_gauge(m, "starling_history_wiping_oldest_seconds",
                                       "Age of the oldest of these erasures; 0 when none is left.", NULL),
    };
}
