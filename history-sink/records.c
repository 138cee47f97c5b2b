/* Records become rows, in the open file and in the store. */
#include <errno.h>

#include "base/clock.h"
#include "geo/geo.h"
#include "history-sink/sink.h"

enum { LOG_EVERY_S = 10 };

bool records_publish(struct sink *sink, struct partition *partition) {
    struct segment_published published;
    struct error error;
    if (!partition->open) return true;
    int code = segment_publish(partition->open, &published, &error);
    partition->open = NULL;
    if (code) {
        partition_restart(sink, partition, code, error.text);
        return false;
    }
    partition->has_newest = true;
    partition->newest = published.file;
    partition->end = published.last + 1;
    partition->marked = true;
    sink->metrics.files->value++;
    sink->metrics.published_rows->value += (double)published.rows;
    sink->metrics.bytes->value += (double)published.bytes;
    log_debug(service_log(sink->service), "file published", LOG_INT("partition", partition->id),
              LOG_INT("first", published.file.first), LOG_INT("last", published.last), LOG_INT("rows", published.rows));
    return true;
}

void records_publish_full(struct sink *sink) {
    for (size_t i = 0; i < sink->count; i++) {
        struct partition *partition = &sink->partitions[i];
        if (partition->open && segment_full(partition->open, &sink->limits)) records_publish(sink, partition);
    }
}

void records_write(struct sink *sink) {
    struct error error;
    for (size_t i = 0; i < sink->count; i++) {
        struct partition *partition = &sink->partitions[i];
        if (!partition->marked || partition->state < PARTITION_FOUND) continue;
        partition->marked = false;
        if (partition->whole && partition->next > partition->stored) partition->stored = partition->next;
        rows_put_mark(sink->rows, partition->id,
                      &(struct rows_mark){.next = partition->stored,
                                          .file = partition->has_newest ? partition->newest.first : -1,
                                          .end = partition->end});
    }
    if (rows_write(sink->rows, &error)) service_fail(sink->service, error.text);
}

static int file_append(struct sink *sink, struct partition *partition, const struct history_row *row,
                       struct error *error) {
    if (!partition->open) {
        int code = segment_open(sink->settings.dir, partition->has_newest ? &partition->newest : NULL, partition->end,
                                row, &partition->open, error);
        if (code) return code;
    }
    return segment_append(partition->open, row, error);
}

/* false: the partition was restarted, and the record will come again. */
static bool take_row(struct sink *sink, struct partition *partition, const struct history_row *row) {
    struct error error;
    if (partition->open && !segment_takes(partition->open, row->received) && !records_publish(sink, partition))
        return false;
    int code = file_append(sink, partition, row, &error);
    if (code) {
        partition_restart(sink, partition, code == -EEXIST ? -EIO : code, error.text);
        return false;
    }
    if (row->offset >= partition->stored) rows_put(sink->rows, row);
    sink->metrics.rows->value++;
    if (segment_rows(partition->open) >= sink->limits.rows) return records_publish(sink, partition);
    return true;
}

static void refuse(struct sink *sink, const struct kafka_record *record, const char *reason) {
    sink->metrics.undecodable->value++;
    // Kafka itself refuses no byte; a full queue does, and then the record is in the source topic still.
    int code = kafka_producer_send_dead(sink->producer, record, reason);
    if (!log_due(&sink->bad_record_us, LOG_EVERY_S)) return;
    log_warn(service_log(sink->service), "undecodable record", LOG_INT("partition", record->partition),
             LOG_INT("offset", record->offset), LOG_TEXT("reason", reason),
             LOG_TEXT("dead_letter", code ? "lost" : "sent"));
}

static bool take_record(struct sink *sink, struct partition *partition, const struct kafka_record *record) {
    struct location location;
    struct error error;
    if (event_decode_location(sink->codec, record->value, record->value_size, &location, &error)) {
        refuse(sink, record, error.text);
        return true;
    }
    if (location.kind != LOCATION_REPORT && location.kind != LOCATION_JOIN) return true;
    if (location.user < 0 || location.time < 0 || !geo_valid((struct geo_point){location.lat, location.lng})) {
        refuse(sink, record, "the user, the time or the position is out of range");
        return true;
    }
    return take_row(sink, partition,
                    &(struct history_row){
                        .user = location.user,
                        .lat = location.lat,
                        .lng = location.lng,
                        .time = location.time,
                        .accuracy = location.accuracy,
                        .received = record->timestamp,
                        .partition = record->partition,
                        .offset = record->offset,
                    });
}

void records_arrived(void *context, const struct kafka_record *records, size_t count) {
    struct sink *sink = context;
    for (size_t i = 0; i < count; i++) {
        struct partition *partition = partition_find(sink, records[i].partition);
        // Not ours, on its way back to LOOKING, or read again from before where its files end.
        if (!partition || partition->state != PARTITION_READING || records[i].offset < partition->next) continue;
        if (!take_record(sink, partition, &records[i])) continue;
        partition->next = records[i].offset + 1;
        partition->marked = true;
    }
    records_publish_full(sink);
    records_write(sink);
}
