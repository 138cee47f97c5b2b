#include "fanout/deliveries.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "fanout/edge_private.h"

enum { LOG_EVERY_S = 10, LOG_ITEM_EVERY_S = 1, TRACED_MAX = 16 };

struct deliveries {
    struct edge *edge;
    struct deliver_reader *reader;
    int64_t last_logged_us, last_item_logged_us;
    struct {
        struct metric *items, *unknown, *malformed, *undecodable, *stream_time;
        struct histogram *latency;
    } metrics;
};

static void advance_stream(struct deliveries *deliveries, int64_t stream_time) {
    if (!protocol_clock_advance(&deliveries->edge->clock, stream_time)) return;
    deliveries->metrics.stream_time->value = (double)stream_time / 1000;
    SCREENS_CALL(&deliveries->edge->screens, expire);
}

static void refuse(struct deliveries *deliveries, const struct kafka_record *record, const char *reason) {
    deliveries->metrics.undecodable->value++;
    if (kafka_producer_send_dead(deliveries->edge->producer, record, reason) ||
        log_due(&deliveries->last_logged_us, LOG_EVERY_S))
        log_warn(service_log(deliveries->edge->service), "undecodable delivery batch",
                 LOG_INT("partition", record->partition), LOG_INT("offset", record->offset),
                 LOG_TEXT("reason", reason));
}

/* A traced delivery is followed to the frames of its receivers, of some of them at least. */
static void trace_recipients(struct deliveries *deliveries, const struct screen_running *screen,
                             const struct deliver_envelope *envelope) {
    const struct edge *edge = deliveries->edge;
    if (!tracer_current(sessions_tracer(edge->sessions))) return;
    unsigned place = (unsigned)(screen - edge->screens.at);
    for (size_t i = 0; i < envelope->recipient_count && i < TRACED_MAX; i++)
        sessions_trace(edge->sessions, envelope->recipients[i], place);
}

/* An item that cannot be read costs itself only: the others of the batch are applied. */
static void apply(struct deliveries *deliveries, const struct kafka_record *record,
                  const struct deliver_envelope *envelope) {
    const struct screen_running *screen = screens_of_kind(&deliveries->edge->screens, envelope->kind);
    deliveries->metrics.items->value++;
    if (!screen) {
        deliveries->metrics.unknown->value++;
    } else if (screen->screen->delivery(screen->product, record->partition, envelope)) {
        deliveries->metrics.malformed->value++;
        if (log_due(&deliveries->last_item_logged_us, LOG_ITEM_EVERY_S))
            log_warn(service_log(deliveries->edge->service), "undecodable item of a delivery batch",
                     LOG_INT("partition", record->partition), LOG_INT("offset", record->offset),
                     LOG_INT("kind", envelope->kind));
    } else {
        trace_recipients(deliveries, screen, envelope);
    }
}

static void apply_batch(struct deliveries *deliveries, const struct kafka_record *record) {
    struct deliver_head head;
    struct deliver_envelope envelope;
    struct error error = {.text = "malformed item"};
    if (deliver_reader_start(deliveries->reader, record->value, record->value_size, &head, &error)) {
        refuse(deliveries, record, error.text);
        return;
    }
    if (head.stream_time < 0 || head.stream_time > EVENT_TIME_MAX) {
        refuse(deliveries, record, "stream_time is out of range"); /* it would stop the clock for ever */
        return;
    }
    advance_stream(deliveries, head.stream_time);
    int more;
    for (size_t n = 0; (more = deliver_reader_next(deliveries->reader, &envelope)) > 0; n++) {
        tracer_item(sessions_tracer(deliveries->edge->sessions), n);
        apply(deliveries, record, &envelope);
    }
    tracer_item(sessions_tracer(deliveries->edge->sessions), SIZE_MAX);
    if (more < 0) refuse(deliveries, record, error.text);
    if (head.oldest_received > 0)
        histogram_observe(deliveries->metrics.latency, (double)(clock_wall_ms() - head.oldest_received) / 1000);
}

void deliveries_apply(struct deliveries *deliveries, const struct kafka_record *records, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (records[i].value) apply_batch(deliveries, &records[i]);
}

static struct metric *skipped(struct metrics *m, const char *labels) {
    return metrics_counter(m, "starling_edge_delivery_items_skipped_total",
                           "Items of delivery batches that were read, and could not be applied.", labels);
}

struct deliveries *deliveries_new(struct edge *edge) {
    static const double SECONDS[] = {.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10};
    struct metrics *m = service_metrics(edge->service);
    struct deliveries *deliveries = MEM_NEW(&(struct deliveries){.edge = edge, .reader = deliver_reader_new()});
    deliveries->metrics.items =
        metrics_counter(m, "starling_edge_delivery_items_total", "Items of delivery batches read.", NULL);
    deliveries->metrics.unknown = skipped(m, "reason=\"unknown_kind\"");
    deliveries->metrics.malformed = skipped(m, "reason=\"malformed\"");
    deliveries->metrics.undecodable =
        metrics_counter(m, "starling_edge_deliveries_undecodable_total",
                        "Delivery batches that could not be decoded, or not to their end.", NULL);
    deliveries->metrics.stream_time =
        metrics_gauge_unknown(m, "starling_edge_stream_time_seconds", "The clock under clock=stream.", NULL);
    deliveries->metrics.latency = metrics_histogram(
        m, "starling_edge_delivery_latency_seconds",
        "From Kafka's time of a batch's oldest location to its application here.", NULL, SECONDS, ARRAY_SIZE(SECONDS));
    return deliveries;
}

void deliveries_free(struct deliveries *deliveries) {
    if (!deliveries) return;
    deliver_reader_free(deliveries->reader);
    free(deliveries);
}
