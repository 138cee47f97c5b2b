#include "telling.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "deliver/deliver.h"

enum { FLUSH_BYTES = 65536, FLUSH_US = 5000, SLICES = 20 };

struct telling {
    struct telling_options options;
    struct kafka_producer *producer;
    struct deliver *changes, *deliveries;
    struct watch_owner *watches;
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

/* ---- watching ---- */

static bool version_of(void *context, int32_t partition, const void *name, size_t size, struct watch_version *version) {
    struct telling *telling = context;
    uint8_t value[COUNTER_SIZE];
    struct counter counter = {.sum = 0};
    struct error error;
    if (ledger_get(telling->options.ledger, partition, name, size, value, sizeof value, &error) == 1)
        counter_get(value, &counter);
    *version = (struct watch_version){.number = counter.version};
    return true;
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

void telling_continue(struct telling *telling) {
    int64_t now = watch_clock(telling);
    for (int i = 0; i < SLICES && !deliver_blocked(telling->deliveries) && !watch_owner_continue(telling->watches, now);
         i++)
        ;
}

static int open_part(void *store, int32_t partition, int64_t now_ms, int64_t since_ms, struct error *error) {
    struct telling *telling = store;
    watch_owner_attach(telling->watches, partition, watch_clock(telling));
    return 0;
}

static void close_part(void *store, int32_t partition) {
    watch_owner_detach(((struct telling *)store)->watches, partition);
}

static int begin_live(void *store, int32_t partition, bool live, struct error *error) {
    watch_owner_live(((struct telling *)store)->watches, partition);
    return 0;
}

static int take(void *store, size_t topic, const struct kafka_record *record, const char **reason,
                struct error *error) {
    struct watch_owner *watches = ((struct telling *)store)->watches;
    if (watch_owner_read(watches, record->partition, record->key, record->key_size, record->value, record->value_size))
        *reason = "no watch record";
    return 0;
}

const struct state_kind TELLING_KIND = {
    .in_memory = true, .open = open_part, .close = close_part, .live = begin_live, .take = take};

/* ---- effects ---- */

void telling_change(struct telling *telling, const struct kafka_record *record, const struct counter *counter) {
    uint8_t payload[16 + COUNTER_NAME_MAX];
    char sum[24];
    bytes_put_be64(payload, (uint64_t)counter->sum);
    bytes_put_be64(payload + 8, (uint64_t)counter->version);
    memcpy(payload + 16, record->key, record->key_size);
    put(telling->changes, record->partition, COUNTER_CHANGE_KIND, payload, 16 + record->key_size);
    snprintf(sum, sizeof sum, "%lld", (long long)counter->sum);
    struct watch_version since = {.number = counter->version - 1}, version = {.number = counter->version};
    watch_owner_change(telling->watches, record->partition, record->key, record->key_size, since, version, sum,
                       strlen(sum));
}

void telling_flush_old(struct telling *telling, int64_t now_us) {
    deliver_flush_old(telling->changes, now_us);
    deliver_flush_old(telling->deliveries, now_us);
}

void telling_flush(struct telling *telling) {
    deliver_flush(telling->changes);
    deliver_flush(telling->deliveries);
}

bool telling_blocked(struct telling *telling) {
    return !deliver_retry(telling->changes) || !deliver_retry(telling->deliveries);
}

struct kafka_producer *telling_producer(struct telling *telling) {
    return telling->producer;
}

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
    struct telling *telling = mem_alloc(sizeof *telling);
    *telling = (struct telling){.options = *options};
    telling->changes = outbox_new(telling, options->partitions, send_changes);
    telling->deliveries = outbox_new(telling, options->routes, send_deliveries);
    struct watch_owner_options watches = {
        .partitions = options->partitions,
        .context = telling,
        .output = telling,
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
    free(telling);
}
