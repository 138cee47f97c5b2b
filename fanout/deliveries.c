#include "fanout/deliveries.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

enum { LOG_EVERY_S = 10 };

struct deliveries {
    struct deliveries_options options;
    struct codec *codec;
    int64_t last_logged_us;
    struct {
        struct metric *items, *undecodable, *stream_time;
        struct histogram *latency;
    } metrics;
};

static void advance_stream(struct deliveries *deliveries, int64_t stream_time) {
    if (!protocol_clock_advance(deliveries->options.clock, stream_time)) return;
    deliveries->metrics.stream_time->value = (double)stream_time / 1000;
    screens_expire(deliveries->options.screens);
}

static void refuse(struct deliveries *deliveries, const struct kafka_record *record, const char *reason) {
    deliveries->metrics.undecodable->value++;
    if (deliveries->options.dead(deliveries->options.context, record, reason) ||
        log_due(&deliveries->last_logged_us, LOG_EVERY_S))
        log_warn(deliveries->options.log, "undecodable delivery batch", LOG_INT("partition", record->partition),
                 LOG_INT("offset", record->offset), LOG_TEXT("reason", reason));
}

static void apply_batch(struct deliveries *deliveries, const struct kafka_record *record) {
    /* All items of this version of the record are nearby's. */
    const struct screen_running *nearby = screens_of_kind(deliveries->options.screens, SCREEN_NEARBY);
    struct delivery_reader reader;
    struct delivery_item item;
    struct error error = {.text = "malformed item"};
    if (delivery_reader_start(&reader, deliveries->codec, record->value, record->value_size, &error)) {
        refuse(deliveries, record, error.text);
        return;
    }
    if (reader.stream_time < 0 || reader.stream_time > EVENT_TIME_MAX) {
        refuse(deliveries, record, "stream_time is out of range"); /* it would stop the clock for ever */
        return;
    }
    advance_stream(deliveries, reader.stream_time);
    int more;
    while ((more = delivery_reader_next(&reader, &item)) > 0) {
        if (nearby) nearby->screen->delivery(nearby->product, record->partition, &item);
        deliveries->metrics.items->value++;
    }
    if (more < 0) refuse(deliveries, record, error.text);
    if (reader.oldest_received > 0)
        histogram_observe(deliveries->metrics.latency, (double)(clock_wall_ms() - reader.oldest_received) / 1000);
}

void deliveries_apply(struct deliveries *deliveries, const struct kafka_record *records, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (records[i].value) apply_batch(deliveries, &records[i]);
    }
}

struct deliveries *deliveries_new(const struct deliveries_options *options) {
    static const double SECONDS[] = {.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10};
    struct metrics *m = options->metrics;
    struct deliveries *deliveries = mem_alloc(sizeof *deliveries);
    *deliveries = (struct deliveries){.options = *options, .codec = codec_new()};
    deliveries->metrics.items =
        metrics_counter(m, "starling_edge_delivery_items_total", "Items of delivery batches read.", NULL);
    deliveries->metrics.undecodable =
        metrics_counter(m, "starling_edge_deliveries_undecodable_total",
                        "Delivery batches that could not be decoded, or not to their end.", NULL);
    deliveries->metrics.stream_time =
        metrics_gauge(m, "starling_edge_stream_time_seconds", "The clock under clock=stream.", NULL);
    deliveries->metrics.latency = metrics_histogram(
        m, "starling_edge_delivery_latency_seconds",
        "From Kafka's time of a batch's oldest location to its application here.", NULL, SECONDS, ARRAY_SIZE(SECONDS));
    return deliveries;
}

void deliveries_free(struct deliveries *deliveries) {
    if (!deliveries) return;
    codec_free(deliveries->codec);
    free(deliveries);
}
