#include "comments/edges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "deliver/deliver.h"
#include "event/delivery.h"
#include "event/topics.h"

struct edges {
    struct edges_options options;
    struct kafka_producer *producer;
    struct deliver *deliver;
    bool failed;
    struct metric *batches, *lost;
};

static void delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                      int64_t offset) {
    struct edges *edges = context;
    if (topic != &TOPIC_DELIVERIES) return; // a tombstone is written again when the watch is found once more
    if (code) edges->lost->value++;
    epochs_acknowledge(edges->options.epochs, (uint64_t)(uintptr_t)opaque);
}

static int send_batch(void *context, int32_t route, const void *bytes, size_t size, uint64_t epoch) {
    struct edges *edges = context;
    struct error error;
    if (edges->failed) return -EAGAIN;
    int code =
        kafka_producer_send(edges->producer, &TOPIC_DELIVERIES, route, NULL, 0, bytes, size, (void *)(uintptr_t)epoch);
    if (!code) edges->batches->value++;
    if (!code || code == -EAGAIN || code == -EHOSTDOWN) return code ? -EAGAIN : 0;
    edges->lost->value++;
    if (code == -EINVAL) return code; // a batch that is too large is lost: roll calls find that out
    edges->failed = true;
    error_set(&error, code, "%zu bytes for %s: %s", size, TOPIC_DELIVERIES.name, strerror(-code));
    edges->options.failed(edges->options.context, "Kafka's producer takes nothing more", &error);
    return -EAGAIN;
}

void edges_deliver(void *context, int32_t route, const void *payload, size_t size) {
    struct edges *edges = context;
    struct deliver_envelope envelope = {.kind = DELIVERY_COMMENTS, .payload = payload, .payload_size = size};
    deliver_put(edges->deliver, route, &envelope, 0, clock_monotonic_us());
}

void edges_forget_watch(void *context, int32_t partition, const void *key, size_t size) {
    struct edges *edges = context;
    kafka_producer_send(edges->producer, &TOPIC_COMMENT_WATCHES, partition, key, size, NULL, 0, NULL);
}

void edges_flush_old(struct edges *edges, int64_t now_us) { deliver_flush_old(edges->deliver, now_us); }

int64_t edges_flush_ready(struct edges *edges, int64_t now_us) { return deliver_flush_ready(edges->deliver, now_us); }

void edges_flush(struct edges *edges) { deliver_flush(edges->deliver); }

bool edges_blocked(struct edges *edges) { return deliver_blocked(edges->deliver) && !deliver_retry(edges->deliver); }

int edges_new(const struct edges_options *options, struct edges **out, struct error *error) {
    struct metrics *m = options->metrics;
    struct edges *edges = mem_alloc(sizeof *edges);
    *edges = (struct edges){
        .options = *options,
        .batches = metrics_counter(m, "starling_comments_batches_total", "Batches of changes sent to edges.", NULL),
        .lost = metrics_counter(m, "starling_comments_lost_total", "Batches for edges that Kafka did not take.", NULL),
    };
    edges->deliver = deliver_new(&(struct deliver_options){
        .destinations = options->routes,
        .flush_bytes = (size_t)options->owning->outbox_flush_bytes,
        .flush_us = options->owning->outbox_flush_ms * 1000,
        .gather_most_us = DELIVER_GATHER_US,
        .epochs = options->epochs,
        .tracer = options->kafka->tracer,
        .context = edges,
        .send = send_batch,
    });
    int code = kafka_producer_new(
        &(struct kafka_producer_options){.loop = options->loop,
                                         .settings = options->kafka,
                                         .metrics = options->metrics,
                                         .queue_bytes = (size_t)options->owning->outbox_queue_mb << 20,
                                         .context = edges,
                                         .on_delivered = delivered},
        &edges->producer, error);
    if (code)
        edges_free(edges);
    else
        *out = edges;
    return code;
}

void edges_free(struct edges *edges) {
    if (!edges) return;
    kafka_producer_free(edges->producer, 0);
    deliver_free(edges->deliver);
    free(edges);
}
