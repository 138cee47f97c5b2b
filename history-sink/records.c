#include "history-sink/records.h"

#include "base/bytes.h"
#include "geo/geo.h"
#include "history-sink/wiping.h"
#include "json/details.h"

enum { LOG_EVERY_S = 10 };

/* ---- publishing ---- */

static void publish_succeeded(struct sink *sink, struct sink_partition *partition,
                              const struct segment_published *file) {
    partition->on_their_way--;
    partition->published = file->chain;
    partition->marked = true;
    log_debug(service_log(sink->service), "file published", LOG_INT("partition", partition->id),
              LOG_INT("first", file->chain.file.first), LOG_INT("end", file->chain.end), LOG_INT("rows", file->rows));
}

static void published(void *context, const struct publish_line *line, int32_t id, int code, int64_t rows,
                      const struct segment_published *file, const char *reason) {
    struct sink *sink = context;
    sink->rows_on_way -= rows;
    records_bound(sink);
    struct sink_partition *partition = sink_find(sink, id);
    bool counts = partition && partition->line == line; // it was not restarted or given away meanwhile
    if (code == 0) {
        sink->metrics.files->value++;
        sink->metrics.published_rows->value += (double)file->rows;
        sink->metrics.bytes->value += (double)file->bytes;
    }
    if (counts && code == 0)
        publish_succeeded(sink, partition, file);
    else if (counts && !sink->draining)
        sink_restart(sink, partition, code, reason);
    else if (code)
        log_warn(service_log(sink->service),
                 "a file was not published; whoever owns its partition reads its rows again", LOG_INT("partition", id),
                 LOG_TEXT("reason", reason));
}

static void send_off(struct sink *sink, struct sink_partition *partition, struct history_segment *segment) {
    if (!partition->on_their_way++) partition->oldest_on_way = segment_oldest(segment);
    partition->chain = segment_end(segment);
    sink->rows_on_way += segment_rows(segment);
    publish_line_add(partition->line, sink->worker, sink->storage, segment, published, sink);
}

void records_publish(struct sink *sink, struct sink_partition *partition) {
    struct history_segment *segment = partition->open;
    partition->open = NULL;
    if (segment) send_off(sink, partition, segment);
}

void records_close_hour(struct sink *sink, struct sink_partition *partition) {
    if (partition->open || partition->on_their_way || !partition->chain.some || chain_closed(&partition->chain)) return;
    send_off(sink, partition, segment_closing((int32_t)partition->id, &partition->chain));
}

/* Half of the memory is for files that are gathered, half for those that are being published. */
void records_bound(struct sink *sink) {
    int64_t half = sink->settings.roll_memory / SEGMENT_ROW_MEMORY / 2;
    for (;;) {
        struct sink_partition *largest = NULL;
        int64_t rows = 0;
        for (size_t i = 0; i < sink->count; i++) {
            struct sink_partition *partition = &sink->partitions[i];
            if (!partition->open) continue;
            rows += segment_rows(partition->open);
            if (!largest || segment_rows(partition->open) > segment_rows(largest->open)) largest = partition;
        }
        if (rows <= half || !largest) break;
        records_publish(sink, largest);
    }
    kafka_consumer_hold(sink->consumer, sink->draining || sink->rows_on_way > half);
}

void records_publish_full(struct sink *sink) {
    for (size_t i = 0; i < sink->count; i++) {
        struct sink_partition *partition = &sink->partitions[i];
        if (partition->open && segment_full(partition->open, &sink->limits)) records_publish(sink, partition);
    }
}

void records_publish_all(struct sink *sink) {
    for (size_t i = 0; i < sink->count; i++) records_publish(sink, &sink->partitions[i]);
}

/* ---- records ---- */

static void take_row(struct sink *sink, struct sink_partition *partition, const struct history_row *row) {
    if (partition->open && !segment_takes(partition->open, row->received)) records_publish(sink, partition);
    if (!partition->open) partition->open = segment_new(&partition->chain, row);
    if (wiping_has(sink->wiping, row)) {
        // The file is named and ends as it would with the row: another sink may not know yet that the user is forgotten.
        segment_pass(partition->open, row->offset);
        return;
    }
    segment_append(partition->open, row);
    if (row->offset >= partition->stored) rows_put(sink->rows, row);
    tracer_keep(service_kafka(sink->service)->tracer);
    sink->metrics.rows->value++;
    if (segment_rows(partition->open) >= sink->limits.rows) records_publish(sink, partition);
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

static void take_record(struct sink *sink, struct sink_partition *partition, const struct kafka_record *record) {
    struct location location;
    struct error error;
    if (event_decode_location(sink->codec, record->value, record->value_size, &location, &error)) {
        refuse(sink, record, error.text);
        return;
    }
    if (location.kind != LOCATION_REPORT && location.kind != LOCATION_JOIN) return;
    if (record->key_size != 8 || (int64_t)bytes_get_be64(record->key) != location.user) {
        refuse(sink, record, "the key is not its user");
        return;
    }
    if (location.user < 0 || location.time < 0 || !geo_valid((struct geo_point){location.lat, location.lng})) {
        refuse(sink, record, "the user, the time or the position is out of range");
        return;
    }
    take_row(sink, partition,
             &(struct history_row){
                 .user = location.user,
                 .lat = location.lat,
                 .lng = location.lng,
                 .time = location.time,
                 .accuracy = location.accuracy,
                 .received = record->timestamp,
                 .partition = record->partition,
                 .offset = record->offset,
                 DETAILS_OF(&location),
             });
}

void records_arrived(void *context, const struct kafka_record *records, size_t count) {
    struct sink *sink = context;
    for (size_t i = 0; i < count; i++) {
        struct sink_partition *partition = sink_find(sink, records[i].partition);
        // Not ours, on its way back to LOOKING, or read again from before where its files end.
        if (!partition || partition->state != PARTITION_READING || records[i].offset < partition->next) continue;
        take_record(sink, partition, &records[i]);
        partition->next = records[i].offset + 1;
        partition->marked = true;
    }
    records_publish_full(sink);
    records_bound(sink);
    sink_write(sink);
}
