#include "router/record_collector.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "event/codec.h"
#include "event/topics.h"
#include "router/friendship.h"
#include "router/presence.h"
#include "users/half.h"
#include "users/report.h"

enum { LEAVE_UNTRACKED = 0 };

struct record_collector {
    struct record_collector_options options;
    struct kafka_producer *producer;
    struct buffer value;
    bool failed;
};

/* `opaque` says what a message was: an epoch (deliveries), or a ticket (locations, friend commands). */
static void delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                      int64_t offset) {
    struct record_collector *collector = context;
    const struct record_collector_options *options = &collector->options;
    uint64_t tag = (uint64_t)(uintptr_t)opaque;
    if (topic == &TOPIC_LOCATIONS || topic == &TOPIC_LINK_COMMANDS || topic == &TOPIC_APPROACHES) {
        if (tag != LEAVE_UNTRACKED) options->on_leave(options->context, tag, code == 0);
    } else if (topic == &TOPIC_FRIEND_COMMANDS) {
        options->on_remove(options->context, tag, code == 0);
    } else if (topic == &TOPIC_DELIVERIES) {
        if (code) options->metrics->batches_lost->value++;
        options->on_batch(options->context, tag, code == 0);
    }
}

int record_collector_new(const struct record_collector_options *options, struct record_collector **out,
                         struct error *error) {
    struct record_collector *collector = MEM_NEW(&(struct record_collector){.options = *options});
    struct kafka_producer_options producer = {
        .loop = options->loop,
        .settings = options->kafka,
        .metrics = options->registry,
        .queue_bytes = options->queue_bytes,
        .context = collector,
        .on_delivered = delivered,
    };
    int code = kafka_producer_new(&producer, &collector->producer, error);
    if (code) {
        record_collector_free(collector);
        return code;
    }
    *out = collector;
    return 0;
}

void record_collector_free(struct record_collector *collector) {
    if (!collector) return;
    kafka_producer_free(collector->producer, 0);
    buffer_free(&collector->value);
    free(collector);
}

struct kafka_producer *record_collector_producer(struct record_collector *collector) {
    return collector->producer;
}

/* The producer takes nothing more. */
static void fail(struct record_collector *collector, int code) {
    struct error error;
    collector->failed = true;
    error_set(&error, code, "a delivery batch: %s", strerror(-code));
    collector->options.failed(collector->options.context, "Kafka's producer takes nothing more", &error);
}

int record_collector_batch(void *context, int32_t route, const void *bytes, size_t size, uint64_t epoch) {
    struct record_collector *collector = context;
    struct router_metrics *metrics = collector->options.metrics;
    if (collector->failed) return -EAGAIN;
    int code = kafka_producer_send(collector->producer, &TOPIC_DELIVERIES, route, NULL, 0, bytes, size,
                                   (void *)(uintptr_t)epoch);
    if (code == -EIO) fail(collector, code);
    if (code == -EIO || code == -EHOSTDOWN) return -EAGAIN;
    if (!code) {
        metrics->batches->value++;
        metrics->batch_bytes->value += (double)size;
    } else if (code != -EAGAIN) {
        metrics->batches_lost->value++;
        log_warn(collector->options.log, "a delivery batch cannot be sent", LOG_INT("route", route),
                 LOG_INT("bytes", (int64_t)size), LOG_TEXT("reason", strerror(-code)));
    }
    return code;
}

/* Sends the record that is encoded in collector->value, keyed by a user. */
static int send_value(struct record_collector *collector, const struct topic *topic, int64_t user, uint64_t ticket) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    return kafka_producer_send(collector->producer, topic, KAFKA_PARTITION_BY_KEY, key, sizeof key,
                               collector->value.data, collector->value.size, (void *)(uintptr_t)ticket);
}

int record_collector_leave(struct record_collector *collector, int64_t user, int64_t opted, int64_t time,
                           uint64_t ticket) {
    struct location event = {.user = user,
                             .time = time,
                             .kind = LOCATION_LEAVE,
                             .route = PRESENCE_ROUTE_NONE,
                             .opted = opted,
                             .accuracy = -1};
    buffer_clear(&collector->value);
    report_encode(&collector->value, &event);
    int code = send_value(collector, &TOPIC_LOCATIONS, user, ticket);
    if (!code) collector->options.metrics->leaves->value++;
    return code;
}

int record_collector_end_links(struct record_collector *collector, int64_t user, int64_t opted, uint64_t ticket) {
    const struct link_command command = {.kind = LINK_COMMAND_END_ALL, .user = user, .opted = opted};
    buffer_clear(&collector->value);
    event_encode_link_command(&collector->value, &command);
    return send_value(collector, &TOPIC_LINK_COMMANDS, user, ticket);
}

int record_collector_approach(struct record_collector *collector, const struct approach *approach) {
    const struct friend_approach record = {
        .friend = approach->friend, .distance_dm = llround(10 * approach->distance_m), .time = approach->time};
    buffer_clear(&collector->value);
    event_encode_friend_approach(&collector->value, &record);
    return send_value(collector, &TOPIC_APPROACHES, approach->user, 0);
}

int record_collector_place_told(struct record_collector *collector, int64_t user, const struct place_told *told,
                                uint64_t ticket) {
    buffer_clear(&collector->value);
    event_encode_place_told(&collector->value, told);
    return send_value(collector, &TOPIC_APPROACHES, user, ticket);
}

int record_collector_remove(struct record_collector *collector, const struct excess_item *item) {
    struct friend_command command = {.kind = FRIEND_COMMAND_REMOVE,
                                     .from = item->user,
                                     .to = item->other,
                                     .time = clock_wall_ms(),
                                     .since = item->since};
    buffer_clear(&collector->value);
    half_encode_command(&collector->value, &command);
    return send_value(collector, &TOPIC_FRIEND_COMMANDS, friendship_lower(item->user, item->other), item->ticket);
}
