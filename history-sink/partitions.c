/* Which partitions are ours and how far each one is. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "history-sink/sink.h"

enum {
    TICK_MS = 200,
    AGAIN_S = 10,
    COMMIT_S = 5,
    LOG_EVERY_S = 10,
    SECOND_US = 1000000,
    KAFKA_AGAIN_US = 500000,
    ASK_TIMEOUT_MS = 2000
};

static void settle_soon(struct sink *sink) { loop_timer_again(sink->tick, 1, TICK_MS); }

struct partition *partition_find(const struct sink *sink, int32_t id) {
    size_t low = 0, high = sink->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (sink->partitions[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sink->count && sink->partitions[low].id == id ? &sink->partitions[low] : NULL;
}

bool partition_answers(const struct sink *sink, const struct partition *partition) {
    if (partition->state != PARTITION_READING || !partition->whole) return false;
    // What another client's transactions leave in the log is passed over without a record.
    int64_t position = kafka_consumer_position(sink->consumer, &TOPIC_LOCATIONS, partition->id);
    int64_t read = partition->next > position ? partition->next : position;
    return (read > partition->stored ? read : partition->stored) >= partition->target;
}

/* ---- the folder ---- */

/* Back to the start, keeping what the outside knows of it. */
static void partition_reset(struct partition *partition, int64_t look_at_us) {
    segment_drop(partition->open);
    segment_reader_free(partition->reader);
    archive_list_clear(&partition->files);
    *partition = (struct partition){
        .id = partition->id,
        .state = PARTITION_LOOKING,
        .subscribed = partition->subscribed,
        .refused = partition->refused,
        .look_at_us = look_at_us,
        .lag = partition->lag,
    };
}

void partition_restart(struct sink *sink, struct partition *partition, int code, const char *reason) {
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
    // The store keeps what it has, and says so.
    records_write(sink);
    partition_reset(partition, clock_monotonic_us() + (raced ? 0 : (int64_t)AGAIN_S * SECOND_US));
    settle_soon(sink);
}

static void look_at_due(struct sink *sink) {
    int64_t now = clock_monotonic_us();
    size_t count = 0;
    struct error error;
    if (look_busy(sink->look)) return;
    struct archive_wanted *wanted = mem_zero(sink->count + 1, sizeof *wanted);
    for (size_t i = 0; i < sink->count; i++) {
        struct partition *partition = &sink->partitions[i];
        struct rows_mark mark;
        if (partition->state != PARTITION_LOOKING || partition->look_at_us > now) continue;
        if (rows_mark(sink->rows, partition->id, &mark, &error)) {
            service_fail(sink->service, error.text);
            break;
        }
        wanted[count++] = (struct archive_wanted){.partition = partition->id, .from = mark.next};
    }
    sink->looked = sink->assignment;
    if (count) look_start(sink->look, wanted, count);
    free(wanted);
}

/* Its end is known. */
void partition_measured(struct sink *sink, struct partition *partition, int64_t end) {
    if (end > partition->target) {
        struct error error;
        error_set(&error, 0,
                  "history.dir has files up to offset %" PRId64 ", but the topic ends at %" PRId64
                  ": was it made anew? Then history.dir and data.dir belong to another topic and must be moved away",
                  end, partition->target);
        partition_restart(sink, partition, -EINVAL, error.text);
        return;
    }
    if (end < partition->kept && partition->has_newest) {
        sink->metrics.dropped->value += (double)(partition->kept - end);
        log_warn(service_log(sink->service), "Kafka has dropped records that were not read",
                 LOG_INT("partition", partition->id), LOG_INT("from_offset", end),
                 LOG_INT("to_offset", partition->kept));
    }
    partition->state = PARTITION_FOUND;
    partition->end = end;
    partition->next = end > partition->kept ? end : partition->kept;
    // More is stored than published when the sink that wrote the store was killed.
    partition->whole = partition->stored >= end;
    partition->marked = true;
    settle_soon(sink);
}

/* Files whose rows would all be too old for the store. */
static void skip_old_files(const struct sink *sink, struct partition *partition) {
    int64_t hour = archive_hour_of(sink_horizon(sink));
    const struct archive_file *files = partition->files.files;
    while (partition->file_at + 1 < partition->file_count && files[partition->file_at].hour < hour)
        partition->file_at++;
    if (files[partition->file_at].first > partition->stored && partition->file_at)
        partition->stored = files[partition->file_at].first;
}

static void partition_found(struct sink *sink, struct partition *partition, const struct archive_wanted *wanted) {
    struct rows_mark mark;
    struct error error;
    if (rows_mark(sink->rows, partition->id, &mark, &error)) {
        service_fail(sink->service, error.text);
        return;
    }
    partition->stored = mark.next;
    partition->has_newest = wanted->found.count > 0;
    if (!partition->has_newest) {
        partition_measured(sink, partition, 0);
        return;
    }
    partition->files.count = partition->file_count = wanted->found.count;
    partition->files.files = mem_alloc(wanted->found.count * sizeof *wanted->found.files);
    for (size_t i = 0; i < wanted->found.count; i++) partition->files.files[i] = wanted->found.files[i];
    partition->newest = wanted->found.files[wanted->found.count - 1];
    skip_old_files(sink, partition);
    if (mark.file == partition->newest.first)
        partition_measured(sink, partition, mark.end);
    else
        partition->state = PARTITION_MEASURING;
    loop_idle_on(sink->loader, 1);
}

/* Where partitions begin and end in Kafka, asked after their files, which then end no later. By time, as librdkafka's
 * question for watermarks waits for a broker that is away whatever timeout it is given. Blocks the loop. */
static int ask_kafka(struct sink *sink, const struct archive_wanted *wanted, size_t count, struct kafka_position *kept,
                     struct kafka_position *ends) {
    struct error error;
    for (size_t i = 0; i < count; i++)
        kept[i] = ends[i] = (struct kafka_position){&TOPIC_LOCATIONS, wanted[i].partition, KAFKA_OFFSET_NONE};
    int code = kafka_consumer_offsets_at(sink->consumer, kept, count, 0, ASK_TIMEOUT_MS, &error);
    if (code == 0) code = kafka_consumer_offsets_at(sink->consumer, ends, count, INT64_MAX, ASK_TIMEOUT_MS, &error);
    if (code && log_due(&sink->kafka_away_us, LOG_EVERY_S))
        log_warn(service_log(sink->service), "Kafka does not say where partitions end", LOG_TEXT("reason", error.text));
    return code;
}

void partitions_seen(void *context, int code, const struct archive_wanted *wanted, size_t count, const char *reason) {
    struct sink *sink = context;
    settle_soon(sink);
    if (sink->looked != sink->assignment || sink->draining) return; // for another assignment
    struct kafka_position *kept = mem_alloc((count + 1) * sizeof *kept), *ends = mem_alloc((count + 1) * sizeof *ends);
    int kafka_code = code ? 0 : ask_kafka(sink, wanted, count, kept, ends);
    for (size_t i = 0; i < count; i++) {
        struct partition *partition = partition_find(sink, wanted[i].partition);
        if (!partition || partition->state != PARTITION_LOOKING) continue;
        if (code) {
            partition_restart(sink, partition, code == -EEXIST ? -EIO : code, reason);
        } else if (kafka_code) {
            // Kafka's silence is no fault of the partition.
            partition->look_at_us = clock_monotonic_us() + KAFKA_AGAIN_US;
        } else {
            partition->kept = kept[i].offset;
            partition->target = ends[i].offset;
            partition_found(sink, partition, &wanted[i]);
        }
    }
    free(kept);
    free(ends);
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
        sink->partitions[at] = (struct partition){
            .id = owned[i].partition,
            .state = PARTITION_LOOKING,
            .lag = metrics_gauge(metrics, "starling_history_lag_records",
                                 "Records of an owned partition that Kafka has and this sink has not read.", labels),
        };
        free(labels);
    }
    sink->metrics.owned->value = (double)count;
    log_info(service_log(sink->service), "partitions assigned", LOG_INT("count", (int64_t)count));
    settle_soon(sink);
}

static void commit(struct sink *sink) {
    struct kafka_position *positions = mem_alloc((sink->count + 1) * sizeof *positions);
    size_t count = 0;
    for (size_t i = 0; i < sink->count; i++) {
        const struct partition *partition = &sink->partitions[i];
        int64_t next = kafka_consumer_position(sink->consumer, &TOPIC_LOCATIONS, partition->id);
        if (partition->state != PARTITION_READING || next < 0) continue;
        positions[count++] = (struct kafka_position){&TOPIC_LOCATIONS, partition->id, next};
    }
    kafka_consumer_commit(sink->consumer, positions, count);
    free(positions);
}

void partitions_publish(struct sink *sink) {
    for (size_t i = 0; i < sink->count; i++) records_publish(sink, &sink->partitions[i]);
    records_write(sink);
    commit(sink);
}

void partitions_clear(struct sink *sink) {
    for (size_t i = 0; i < sink->count; i++) {
        struct partition *partition = &sink->partitions[i];
        segment_drop(partition->open);
        segment_reader_free(partition->reader);
        archive_list_clear(&partition->files);
        metrics_remove(service_metrics(sink->service), partition->lag);
    }
    free(sink->partitions);
    sink->partitions = NULL;
    sink->count = 0;
}

void partitions_revoked(void *context, bool lost) {
    struct sink *sink = context;
    sink->assigned = false;
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
    struct partition *partition = partition_find(sink, id);
    if (!partition || partition->state != PARTITION_READING) return;
    // Publish what there is; the look that follows tells whether Kafka has dropped records or is another one.
    if (!records_publish(sink, partition)) return;
    records_write(sink);
    partition_reset(partition, 0);
    settle_soon(sink);
}

/* ---- what is due ---- */

static bool settle_reading(struct sink *sink, struct error *error) {
    struct kafka_position *more = mem_alloc((sink->count + 1) * sizeof *more);
    struct kafka_position *less = mem_alloc((sink->count + 1) * sizeof *less);
    size_t more_count = 0, less_count = 0;
    for (size_t i = 0; i < sink->count; i++) {
        struct partition *partition = &sink->partitions[i];
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

static void tell_readiness(struct sink *sink) {
    size_t answering = 0;
    for (size_t i = 0; i < sink->count; i++) {
        struct partition *partition = &sink->partitions[i];
        if (!partition_answers(sink, partition)) continue;
        answering++;
        if (!partition->refused) continue;
        partition->refused = false;
        log_info(service_log(sink->service), "partition is well again", LOG_INT("partition", partition->id));
    }
    service_ready(sink->service, "history", sink->assigned && answering == sink->count);
}

void partitions_tick(struct sink *sink) {
    struct error error;
    if (!sink->assigned || sink->draining) return;
    if (!settle_reading(sink, &error)) {
        service_fail(sink->service, error.text);
        return;
    }
    records_publish_full(sink);
    records_write(sink);
    look_at_due(sink);
    if (rebuild_files_left(sink)) loop_idle_on(sink->loader, 1);
    tell_readiness(sink);
    int64_t now = clock_monotonic_us();
    if (now - sink->committed_us < (int64_t)COMMIT_S * SECOND_US) return;
    sink->committed_us = now;
    commit(sink);
}
