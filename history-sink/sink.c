#include "history-sink/sink.h"

#include <errno.h>

#include "base/clock.h"
#include "base/sorted.h"
#include "event/topics.h"

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
