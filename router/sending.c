#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "event/topics.h"
#include "router/state.h"

enum { LEAVE_UNTRACKED = 0 };

/* Everything but the halves of friendships goes out by one plain producer; `opaque` says what a message was: an epoch of the
 * outbox (deliveries), a ticket of consents (locations), a ticket of excess (friend-commands). */
static void delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                      int64_t offset) {
    struct router *router = context;
    uint64_t tag = (uint64_t)(uintptr_t)opaque;
    if (topic == &TOPIC_LOCATIONS) {
        if (tag != LEAVE_UNTRACKED) consents_acknowledge(router->consents, tag, code == 0);
    } else if (topic == &TOPIC_FRIEND_COMMANDS) {
        excess_acknowledge(router->excess, tag, code == 0, clock_wall_ms());
    } else if (!code) {
        outbox_acknowledge(router->outbox, tag);
    } else {
        router->metrics.batches_lost->value++;
        if (router->ownership && tag >= outbox_settled(router->outbox)) ownership_rewind(router->ownership);
    }
}

int sending_start(struct router *router, struct error *error) {
    struct kafka_producer_options options = {
        .loop = router->loop,
        .settings = router->kafka,
        .linger_ms = 0,
        .queue_bytes = (size_t)router->settings->outbox_queue_mb << 20,
        .context = router,
        .on_delivered = delivered,
    };
    return kafka_producer_new(&options, &router->producer, error);
}

int sending_batch(void *context, int32_t route, const void *bytes, size_t size, uint64_t epoch) {
    struct router *router = context;
    int code =
        kafka_producer_send(router->producer, &TOPIC_DELIVERIES, route, NULL, 0, bytes, size, (void *)(uintptr_t)epoch);
    if (code == -EHOSTDOWN) return -EAGAIN;
    if (!code) {
        router->metrics.batches->value++;
        router->metrics.batch_bytes->value += (double)size;
    } else if (code != -EAGAIN) {
        router->metrics.batches_lost->value++;
        log_warn(router->log, "a delivery batch cannot be sent", LOG_INT("route", route),
                 LOG_INT("bytes", (int64_t)size), LOG_TEXT("reason", strerror(-code)));
    }
    return code;
}

int sending_leave(struct router *router, int64_t user, int64_t opted, uint64_t ticket) {
    uint8_t key[8];
    struct location event = {.user = user,
                             .time = timeline_now(router->timeline),
                             .kind = LOCATION_LEAVE,
                             .route = PRESENCE_ROUTE_NONE,
                             .opted = opted,
                             .accuracy = -1};
    bytes_put_be64(key, (uint64_t)user);
    buffer_clear(&router->value);
    event_encode_location(&router->value, &event);
    int code = kafka_producer_send(router->producer, &TOPIC_LOCATIONS, KAFKA_PARTITION_BY_KEY, key, sizeof key,
                                   router->value.data, router->value.size, (void *)(uintptr_t)ticket);
    if (!code) router->metrics.leaves->value++;
    return code;
}

int sending_remove(struct router *router, const struct excess_item *item) {
    uint8_t key[8];
    struct friend_command command = {.kind = FRIEND_COMMAND_REMOVE,
                                     .from = item->user,
                                     .to = item->other,
                                     .time = clock_wall_ms(),
                                     .since = item->since};
    bytes_put_be64(key, (uint64_t)friendship_lower(item->user, item->other));
    buffer_clear(&router->value);
    event_encode_friend_command(&router->value, &command);
    return kafka_producer_send(router->producer, &TOPIC_FRIEND_COMMANDS, KAFKA_PARTITION_BY_KEY, key, sizeof key,
                               router->value.data, router->value.size, (void *)(uintptr_t)item->ticket);
}
