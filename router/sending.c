#include "router/sending.h"

#include <errno.h>
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

enum { LEAVE_UNTRACKED = 0 };

struct sending {
    struct sending_options options;
    struct kafka_producer *producer;
    struct buffer value;
    bool failed;
};

/* `opaque` says what a message was: an epoch (deliveries), or a ticket (locations, friend commands). */
static void delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                      int64_t offset) {
    struct sending *sending = context;
    const struct sending_options *options = &sending->options;
    uint64_t tag = (uint64_t)(uintptr_t)opaque;
    if (topic == &TOPIC_LOCATIONS) {
        if (tag != LEAVE_UNTRACKED) options->on_leave(options->context, tag, code == 0);
    } else if (topic == &TOPIC_FRIEND_COMMANDS) {
        options->on_remove(options->context, tag, code == 0);
    } else {
        if (code) options->metrics->batches_lost->value++;
        options->on_batch(options->context, tag, code == 0);
    }
}

int sending_new(const struct sending_options *options, struct sending **out, struct error *error) {
    struct sending *sending = MEM_NEW(&(struct sending){.options = *options});
    struct kafka_producer_options producer = {
        .loop = options->loop,
        .settings = options->kafka,
        .metrics = options->registry,
        .queue_bytes = options->queue_bytes,
        .context = sending,
        .on_delivered = delivered,
    };
    int code = kafka_producer_new(&producer, &sending->producer, error);
    if (code) {
        sending_free(sending);
        return code;
    }
    *out = sending;
    return 0;
}

void sending_free(struct sending *sending) {
    if (!sending) return;
    kafka_producer_free(sending->producer, 0);
    buffer_free(&sending->value);
    free(sending);
}

struct kafka_producer *sending_producer(struct sending *sending) {
    return sending->producer;
}

/* The producer takes nothing more. */
static void fail(struct sending *sending, int code) {
    struct error error;
    sending->failed = true;
    error_set(&error, code, "a delivery batch: %s", strerror(-code));
    sending->options.failed(sending->options.context, "Kafka's producer takes nothing more", &error);
}

int sending_batch(void *context, int32_t route, const void *bytes, size_t size, uint64_t epoch) {
    struct sending *sending = context;
    struct router_metrics *metrics = sending->options.metrics;
    if (sending->failed) return -EAGAIN;
    int code = kafka_producer_send(sending->producer, &TOPIC_DELIVERIES, route, NULL, 0, bytes, size,
                                   (void *)(uintptr_t)epoch);
    if (code == -EIO) fail(sending, code);
    if (code == -EIO || code == -EHOSTDOWN) return -EAGAIN;
    if (!code) {
        metrics->batches->value++;
        metrics->batch_bytes->value += (double)size;
    } else if (code != -EAGAIN) {
        metrics->batches_lost->value++;
        log_warn(sending->options.log, "a delivery batch cannot be sent", LOG_INT("route", route),
                 LOG_INT("bytes", (int64_t)size), LOG_TEXT("reason", strerror(-code)));
    }
    return code;
}

/* Sends the record that is encoded in sending->value, keyed by a user. */
static int send_value(struct sending *sending, const struct topic *topic, int64_t user, uint64_t ticket) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    return kafka_producer_send(sending->producer, topic, KAFKA_PARTITION_BY_KEY, key, sizeof key, sending->value.data,
                               sending->value.size, (void *)(uintptr_t)ticket);
}

int sending_leave(struct sending *sending, int64_t user, int64_t opted, int64_t time, uint64_t ticket) {
    struct location event = {.user = user,
                             .time = time,
                             .kind = LOCATION_LEAVE,
                             .route = PRESENCE_ROUTE_NONE,
                             .opted = opted,
                             .accuracy = -1};
    buffer_clear(&sending->value);
    event_encode_location(&sending->value, &event);
    int code = send_value(sending, &TOPIC_LOCATIONS, user, ticket);
    if (!code) sending->options.metrics->leaves->value++;
    return code;
}

int sending_remove(struct sending *sending, const struct excess_item *item) {
    struct friend_command command = {.kind = FRIEND_COMMAND_REMOVE,
                                     .from = item->user,
                                     .to = item->other,
                                     .time = clock_wall_ms(),
                                     .since = item->since};
    buffer_clear(&sending->value);
    half_encode_command(&sending->value, &command);
    return send_value(sending, &TOPIC_FRIEND_COMMANDS, friendship_lower(item->user, item->other), item->ticket);
}
