#include "telling.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "deliver/deliver.h"
#include "kafka/producer.h"
#include "tasks/carried.h"

enum { FLUSH_BYTES = 65536, FLUSH_US = 5000, SLICES = 20 };

struct telling {
    struct telling_options options;
    struct kafka_producer *producer;
    struct deliver *changes, *deliveries;
    struct watch_owner *watches;
    struct carried *carried; /* of COUNTERS alone: state 0 */
};

/* ---- sending ---- */

static void delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                      int64_t offset) {
    struct telling *telling = context;
    uint64_t epoch = (uint64_t)(uintptr_t)opaque;
    if (topic == &COUNTER_WATCHES) return; // a tombstone: what is left of a watcher is found again
    if (!code)
        epochs_acknowledge(telling->options.epochs, epoch);
    else if (epoch >= epochs_settled(telling->options.epochs))
        telling->options.lost(telling->options.context);
}

static int send_batch(struct telling *telling, const struct topic *topic, int32_t partition, const void *bytes,
                      size_t size, uint64_t epoch) {
    int code = kafka_producer_send(telling->producer, topic, partition, NULL, 0, bytes, size, (void *)(uintptr_t)epoch);
    return code == -EHOSTDOWN ? -EAGAIN : code;
}

static int send_changes(void *context, int32_t partition, const void *bytes, size_t size, uint64_t epoch) {
    return send_batch(context, &COUNTER_CHANGES, partition, bytes, size, epoch);
}

static int send_deliveries(void *context, int32_t route, const void *bytes, size_t size, uint64_t epoch) {
    return send_batch(context, &COUNTER_DELIVERIES, route, bytes, size, epoch);
}

static void put(struct deliver *outbox, int32_t destination, int32_t kind, const uint8_t *payload, size_t size) {
    struct deliver_envelope envelope = {.kind = kind, .payload = payload, .payload_size = size};
    deliver_put(outbox, destination, &envelope, 0, clock_monotonic_us());
}

void telling_dead(struct telling *telling, const struct kafka_record *record, const char *reason) {
    kafka_producer_send_dead(telling->producer, record, reason);
}

/* ---- watching ---- */

static bool version_of(void *context, int32_t partition, const void *name, size_t size, struct watch_version *version) {
    const struct telling_options *options = &((struct telling *)context)->options;
    return options->version(options->context, partition, name, size, version);
}

static void deliver_to_edge(void *context, int32_t route, const void *payload, size_t size) {
    put(((struct telling *)context)->deliveries, route, WATCH_DELIVERY_KIND, payload, size);
}

static void forget_watch(void *context, int32_t partition, const void *key, size_t size) {
    kafka_producer_send(((struct telling *)context)->producer, &COUNTER_WATCHES, partition, key, size, NULL, 0, NULL);
}

static int64_t watch_clock(const struct telling *telling) {
    return clock_monotonic_us() / 1000 * telling->options.speed;
}

int telling_watch(struct telling *telling, const struct kafka_record *record) {
    return watch_owner_read(telling->watches, record->partition, record->key, record->key_size, record->value,
                            record->value_size);
}

void telling_continue(struct telling *telling) {
    int64_t now = watch_clock(telling);
    for (int i = 0; i < SLICES && !deliver_blocked(telling->deliveries) && !watch_owner_continue(telling->watches, now);
         i++)
        ;
}

/* ---- partitions ---- */

void telling_attach(struct telling *telling, int32_t partition) {
    watch_owner_attach(telling->watches, partition, watch_clock(telling));
}

void telling_detach(struct telling *telling, int32_t partition) {
    watch_owner_detach(telling->watches, partition);
    carried_stop(telling->carried, partition);
}

void telling_live(struct telling *telling, int32_t partition, int64_t from) {
    carried_live(telling->carried, partition, &from);
    watch_owner_live(telling->watches, partition);
}

void telling_applied(struct telling *telling, const struct kafka_record *record, const struct counter *counter) {
    uint8_t payload[16 + COUNTER_NAME_MAX];
    char sum[24];
    if (!carried_due(telling->carried, 0, record->partition, record->offset) || !counter) return;
    bytes_put_be64(payload, (uint64_t)counter->sum);
    bytes_put_be64(payload + 8, (uint64_t)counter->version);
    memcpy(payload + 16, record->key, record->key_size);
    put(telling->changes, record->partition, COUNTER_CHANGE_KIND, payload, 16 + record->key_size);
    snprintf(sum, sizeof sum, "%lld", (long long)counter->sum);
    struct watch_version since = {.number = counter->version - 1}, version = {.number = counter->version};
    watch_owner_change(telling->watches, record->partition, record->key, record->key_size, since, version, sum,
                       strlen(sum));
}

/* ---- how far it is ---- */

void telling_flush_old(struct telling *telling, int64_t now_us) {
    deliver_flush_old(telling->changes, now_us);
    deliver_flush_old(telling->deliveries, now_us);
}

void telling_flush(struct telling *telling) {
    deliver_flush(telling->changes);
    deliver_flush(telling->deliveries);
    carried_note(telling->carried);
}

bool telling_blocked(struct telling *telling) {
    return !deliver_retry(telling->changes) || !deliver_retry(telling->deliveries);
}

size_t telling_settled(struct telling *telling, bool again, struct kafka_position *positions) {
    return carried_settled(telling->carried, again, positions);
}

int64_t telling_rewind(struct telling *telling, int32_t partition) {
    return carried_rewind(telling->carried, 0, partition);
}

void telling_forgotten(struct telling *telling) { carried_forget(telling->carried); }

/* ---- beginning and end ---- */

static struct deliver *outbox_new(struct telling *telling, int32_t destinations,
                                  int (*send)(void *, int32_t, const void *, size_t, uint64_t)) {
    struct deliver_options options = {
        .destinations = destinations,
        .flush_bytes = FLUSH_BYTES,
        .flush_us = FLUSH_US,
        .epochs = telling->options.epochs,
        .context = telling,
        .send = send,
    };
    return deliver_new(&options);
}

int telling_new(const struct telling_options *options, struct telling **out, struct error *error) {
    static const struct topic *const STATES[] = {&COUNTERS};
    struct telling *telling = mem_alloc(sizeof *telling);
    *telling = (struct telling){
        .options = *options,
        .carried = carried_new(STATES, 1, options->partitions, options->epochs),
    };
    telling->changes = outbox_new(telling, options->partitions, send_changes);
    telling->deliveries = outbox_new(telling, options->routes, send_deliveries);
    struct watch_owner_options watches = {
        .partitions = options->partitions,
        .context = telling,
        .version = version_of,
        .deliver = deliver_to_edge,
        .forget = forget_watch,
    };
    telling->watches = watch_owner_new(&watches);
    struct kafka_producer_options producer = {
        .loop = options->loop, .settings = options->kafka, .context = telling, .on_delivered = delivered};
    int code = kafka_producer_new(&producer, &telling->producer, error);
    if (code)
        telling_free(telling);
    else
        *out = telling;
    return code;
}

void telling_free(struct telling *telling) {
    if (!telling) return;
    kafka_producer_free(telling->producer, 0);
    watch_owner_free(telling->watches);
    deliver_free(telling->changes);
    deliver_free(telling->deliveries);
    carried_free(telling->carried);
    free(telling);
}
