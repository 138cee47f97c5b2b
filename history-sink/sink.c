#include "history-sink/sink.h"

#include <errno.h>

#include "base/clock.h"
#include "base/sorted.h"
#include "event/topics.h"

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
        .loaded_rows = metrics_counter(m, "starling_history_rebuilt_rows_total",
                                       "Rows read back from files into the store.", NULL),
        .wiped_rows = metrics_counter(m, "starling_history_wiped_rows_total",
                                      "Rows of forgotten users that left the store.", NULL),
        .wiped_files = metrics_counter(m, "starling_history_wiped_files_total",
                                       "Files replaced by ones without the rows of forgotten users.", NULL),
        .wiped_file_rows = metrics_counter(m, "starling_history_wiped_file_rows_total",
                                           "Rows of forgotten users that left files.", NULL),
        .wipe_failures = metrics_counter(
            m, "starling_history_wipe_failures_total",
            "Times that rows of forgotten users could not be taken out of files; the log says why.", NULL),
    };
}

enum { AGAIN_S = 10, SECOND_US = 1000000 };

struct sink_partition *sink_find(const struct sink *sink, int32_t id) {
    size_t place = sorted_items_below(sink->partitions, sizeof *sink->partitions, sink->count, id);
    return place < sink->count && sink->partitions[place].id == id ? &sink->partitions[place] : NULL;
}

bool sink_answers(const struct sink *sink, const struct sink_partition *partition) {
    if (partition->state != PARTITION_READING || !partition->whole) return false;
    // The consumer passes over what another client's transactions leave in the log: no record comes of it.
    int64_t position = kafka_consumer_position(sink->consumer, &TOPIC_LOCATIONS, partition->id);
    int64_t read = partition->next > position ? partition->next : position;
    return (read > partition->stored ? read : partition->stored) >= partition->target;
}

void sink_settle_soon(struct sink *sink) { loop_timer_again(sink->tick, 1, SINK_TICK_MS); }

void sink_write(struct sink *sink) {
    struct error error;
    for (size_t i = 0; i < sink->count; i++) {
        struct sink_partition *partition = &sink->partitions[i];
        if (!partition->marked || partition->state < PARTITION_FOUND) continue;
        partition->marked = false;
        if (partition->whole && partition->next > partition->stored) partition->stored = partition->next;
        rows_put_mark(sink->rows, (int32_t)partition->id, partition->stored);
    }
    if (rows_write(sink->rows, &error)) service_fail(sink->service, error.text);
}

static void look_again_at(struct sink *sink, struct sink_partition *partition, int64_t look_at_us) {
    // The store keeps what it has, and says so.
    sink_write(sink);
    sink_partition_reset(partition, look_at_us);
    sink_settle_soon(sink);
}

void sink_look_again(struct sink *sink, struct sink_partition *partition) { look_again_at(sink, partition, 0); }

void sink_restart(struct sink *sink, struct sink_partition *partition, int code, const char *reason) {
    struct log *log = service_log(sink->service);
    bool raced = code == -EEXIST;
    if (raced) {
        sink->metrics.races->value++;
        log_warn(log, "another sink has published", LOG_INT("partition", partition->id), LOG_TEXT("reason", reason));
    } else {
        log_error(log, "partition refused", LOG_INT("partition", partition->id), LOG_TEXT("reason", reason),
                  LOG_INT("again_in_s", AGAIN_S));
        partition->refused = true;
    }
    look_again_at(sink, partition, clock_monotonic_us() + (raced ? 0 : (int64_t)AGAIN_S * SECOND_US));
}

int64_t sink_horizon(const struct sink *sink) {
    int64_t days = sink->settings.store_days, kept = sink->settings.retention_days;
    if (kept && (!days || kept < days)) days = kept;
    return days ? clock_wall_ms() - days * 24 * 3600 * 1000 : 0;
}
