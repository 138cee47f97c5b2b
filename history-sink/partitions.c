#include "history-sink/partitions.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "history-sink/merging.h"
#include "history-sink/rebuild.h"
#include "history-sink/records.h"
#include "history-sink/wiping.h"

enum {
    COMMIT_S = 5,
    LOG_EVERY_S = 10,
    SECOND_US = 1000000,
    KAFKA_AGAIN_US = 500000,
};

static void look_at_due(struct sink *sink) {
    int64_t now = clock_monotonic_us();
    size_t count = 0;
    struct error error;
    if (look_busy(sink->look)) return;
    struct archive_wanted *wanted = mem_zero(sink->count + 1, sizeof *wanted);
    for (size_t i = 0; i < sink->count; i++) {
        struct sink_partition *partition = &sink->partitions[i];
        int64_t next;
        if (partition->state != PARTITION_LOOKING || partition->look_at_us > now) continue;
        if (rows_mark(sink->rows, partition->id, &next, &error)) {
            service_fail(sink->service, error.text);
            break;
        }
        wanted[count++] = (struct archive_wanted){.partition = partition->id, .from = next};
    }
    sink->looked = sink->assignment;
    if (count) look_start(sink->look, wanted, count);
    free(wanted);
}

static void seen_one(struct sink *sink, struct sink_partition *partition, const struct look_seen *seen, size_t i) {
    const struct look_end *end = &seen->chains[i];
    partition->kept = seen->kept[i].offset;
    partition->target = seen->ends[i].offset;
    if (end->code == -ENOENT) // merged and removed since it was listed
        sink_look_again(sink, partition);
    else if (end->code)
        sink_restart(sink, partition, end->code == -EEXIST ? -EIO : end->code, end->error.text);
    else
        rebuild_begin(sink, partition, &seen->wanted[i].found, &end->chain);
}

void partitions_seen(void *context, const struct look_seen *seen) {
    struct sink *sink = context;
    sink_settle_soon(sink);
    if (sink->looked != sink->assignment || sink->draining) return; // for another assignment
    if (seen->kafka_code && log_due(&sink->kafka_away_us, LOG_EVERY_S))
        log_warn(service_log(sink->service), "Kafka does not say where partitions end",
                 LOG_TEXT("reason", seen->reason));
    for (size_t i = 0; i < seen->count; i++) {
        struct sink_partition *partition = sink_find(sink, seen->wanted[i].partition);
        if (!partition || partition->state != PARTITION_LOOKING) continue;
        if (seen->code) {
            sink_restart(sink, partition, seen->code == -EEXIST ? -EIO : seen->code, seen->reason);
        } else if (seen->kafka_code) {
            // Kafka's silence is no fault of the partition.
            partition->look_at_us = clock_monotonic_us() + KAFKA_AGAIN_US;
        } else {
            seen_one(sink, partition, seen, i);
        }
    }
}

/* ---- Kafka ---- */

void partitions_assigned(void *context, const struct kafka_position *owned, size_t count) {
    struct sink *sink = context;
    struct metrics *metrics = service_metrics(sink->service);
    partitions_clear(sink);
    sink->assignment++;
    sink->assigned = true;
    sink->partitions = mem_zero(count + 1, sizeof *sink->partitions);
    for (size_t i = 0; i < count; i++) {
        size_t at = sink->count++;
        for (; at > 0 && sink->partitions[at - 1].id > owned[i].partition; at--)
            sink->partitions[at] = sink->partitions[at - 1];
        char *labels = mem_format("partition=\"%d\"", owned[i].partition);
        struct metric *lag =
            metrics_gauge(metrics, "starling_history_lag_records",
                          "Records of an owned partition that Kafka has and this sink has not read.", labels);
        sink->partitions[at] = sink_partition_assigned(owned[i].partition, lag);
        sink->partitions[at].number = (uint64_t)sink->assignment << 32;
        free(labels);
    }
    sink->metrics.owned->value = (double)count;
    log_info(service_log(sink->service), "partitions assigned", LOG_INT("count", (int64_t)count));
    sink_settle_soon(sink);
}

static void commit(struct sink *sink) {
    struct kafka_position *positions = mem_alloc((sink->count + 1) * sizeof *positions);
    size_t count = 0;
    for (size_t i = 0; i < sink->count; i++) {
        const struct sink_partition *partition = &sink->partitions[i];
        int64_t next = kafka_consumer_position(sink->consumer, &TOPIC_LOCATIONS, partition->id);
        if (partition->state != PARTITION_READING || next < 0) continue;
        positions[count++] = (struct kafka_position){&TOPIC_LOCATIONS, partition->id, next};
    }
    kafka_consumer_commit(sink->consumer, positions, count);
    free(positions);
}

void partitions_publish(struct sink *sink) {
    records_publish_all(sink);
    sink_write(sink);
    commit(sink);
}

void partitions_clear(struct sink *sink) {
    for (size_t i = 0; i < sink->count; i++) {
        sink_partition_clear(&sink->partitions[i]);
        metrics_remove(service_metrics(sink->service), sink->partitions[i].lag);
    }
    free(sink->partitions);
    sink->partitions = NULL;
    sink->count = 0;
}

void partitions_revoked(void *context, bool lost) {
    struct sink *sink = context;
    sink->assigned = false;
    merging_stop(sink->merging);
    wiping_revoked(sink->wiping);
    service_ready(sink->service, "history", false);
    // Lost: somebody else writes these rows already. Publishing them could do no harm, but only get in each other's way.
    if (!lost) partitions_publish(sink);
    log_info(service_log(sink->service), "partitions revoked", LOG_INT("count", (int64_t)sink->count),
             LOG_TEXT("lost", lost ? "true" : "false"));
    partitions_clear(sink);
    sink->metrics.owned->value = 0;
}

void partitions_offset_lost(void *context, const struct topic *topic, int32_t id) {
    struct sink *sink = context;
    struct sink_partition *partition = sink_find(sink, id);
    if (!partition || partition->state != PARTITION_READING) return;
    // Publish what there is; the look that follows tells whether Kafka has dropped records or is another one.
    records_publish(sink, partition);
    sink_look_again(sink, partition);
}

/* ---- what is due ---- */

static bool settle_reading(struct sink *sink, struct error *error) {
    struct kafka_position *more = mem_alloc((sink->count + 1) * sizeof *more);
    struct kafka_position *less = mem_alloc((sink->count + 1) * sizeof *less);
    size_t more_count = 0, less_count = 0;
    for (size_t i = 0; i < sink->count; i++) {
        struct sink_partition *partition = &sink->partitions[i];
        struct kafka_position position = {&TOPIC_LOCATIONS, partition->id, partition->next};
        bool found = partition->state == PARTITION_FOUND;
        if (partition->subscribed && partition->state != PARTITION_READING) less[less_count++] = position;
        if (found) more[more_count++] = position;
        if (found) partition->state = PARTITION_READING;
        partition->subscribed = partition->state == PARTITION_READING;
    }
    int code = less_count ? kafka_consumer_read_less(sink->consumer, less, less_count, error) : 0;
    if (code == 0 && more_count) code = kafka_consumer_read_more(sink->consumer, more, more_count, error);
    free(more);
    free(less);
    return code == 0;
}

/* It has read to where Kafka ended at the look. */
static bool has_caught_up(const struct sink *sink, const struct sink_partition *partition) {
    int64_t position = kafka_consumer_position(sink->consumer, &TOPIC_LOCATIONS, partition->id);
    return partition->state == PARTITION_READING &&
           (position > partition->next ? position : partition->next) >= partition->target;
}

static void tell_readiness(struct sink *sink) {
    size_t answering = 0;
    for (size_t i = 0; i < sink->count; i++) {
        struct sink_partition *partition = &sink->partitions[i];
        // From here on the open file knows what waits.
        if (has_caught_up(sink, partition)) partition->waits_since = 0;
        if (!sink_answers(sink, partition)) continue;
        answering++;
        if (!partition->refused) continue;
        partition->refused = false;
        log_info(service_log(sink->service), "partition is well again", LOG_INT("partition", partition->id));
    }
    service_ready(sink->service, "history", sink->assigned && answering == sink->count);
}

void partitions_tick(struct sink *sink) {
    struct error error;
    if (!sink->assigned || sink->draining || !wiping_ready(sink->wiping)) return;
    if (!settle_reading(sink, &error)) {
        service_fail(sink->service, error.text);
        return;
    }
    records_publish_full(sink);
    sink_write(sink);
    look_at_due(sink);
    rebuild_go_on(sink->rebuild);
    tell_readiness(sink);
    int64_t now = clock_monotonic_us();
    if (now - sink->committed_us < (int64_t)COMMIT_S * SECOND_US) return;
    sink->committed_us = now;
    commit(sink);
}
