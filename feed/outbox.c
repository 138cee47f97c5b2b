#include "feed/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "deliver/deliver.h"
#include "edits/encode.h"
#include "event/delivery.h"
#include "event/topics.h"
#include "watch/watch.h"

enum { TIMELINES, REQUESTS, HOT, DELIVERIES, OUTBOXES };

static const struct topic *const TOPICS[OUTBOXES] = {&TOPIC_TIMELINES, &TOPIC_TIMELINE_REQUESTS, &TOPIC_HOT_POSTS,
                                                     &TOPIC_DELIVERIES};

/* The context of one outbox of lib/deliver: its sender must know the topic. */
struct lane {
    struct outbox *outbox;
    const struct topic *topic;
    struct deliver *deliver;
};

struct waiting_command {
    const struct topic *topic;
    uint8_t key[NOTICE_KEY_SIZE];
    size_t key_size;
    struct buffer value; /* no data: a tombstone */
    uint64_t epoch;
};

struct outbox {
    struct outbox_options options;
    struct kafka_producer *producer;
    struct lane lanes[OUTBOXES];
    struct waiting_command *waiting; /* in order, from waiting_first on */
    size_t waiting_first, waiting_count, waiting_room;
    bool failed;
    struct metric *batches, *commands, *lost;
};

static void delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                      int64_t offset) {
    struct outbox *outbox = context;
    uint64_t epoch = (uint64_t)(uintptr_t)opaque;
    if (topic == &TOPIC_FEED_WATCHES) return;       // the watch is found again, and its tombstone is written later
    if (topic == &TOPIC_DEVICES) return;            // so is the session
    if (topic == &TOPIC_DIRECTORY_COMMANDS) return; // the question that led to it is asked again
    if (code) outbox->lost->value++;
    if (!code || topic == &TOPIC_DELIVERIES) { // roll calls repair a lost delivery
        epochs_acknowledge(outbox->options.epochs, epoch);
        return;
    }
    if (epoch >= epochs_settled(outbox->options.epochs)) outbox->options.lost(outbox->options.context);
}

/* The producer takes nothing more, as after a fatal error. Records that were not sent wait, so that their epoch is never settled: the
 * next owner carries out their effects. */
static void fail(struct outbox *outbox, const struct topic *topic, size_t size, int code) {
    struct error error;
    outbox->lost->value++;
    if (outbox->failed) return;
    outbox->failed = true;
    error_set(&error, code, "%zu bytes for %s: %s", size, topic->name, strerror(-code));
    outbox->options.failed(outbox->options.context, "Kafka's producer takes nothing more", &error);
}

/* ---- items ---- */

static int send_batch(void *context, int32_t partition, const void *bytes, size_t size, uint64_t epoch) {
    struct lane *lane = context;
    struct outbox *outbox = lane->outbox;
    if (outbox->failed) return -EAGAIN;
    int code =
        kafka_producer_send(outbox->producer, lane->topic, partition, NULL, 0, bytes, size, (void *)(uintptr_t)epoch);
    if (!code) outbox->batches->value++;
    if (code && code != -EAGAIN && code != -EHOSTDOWN) fail(outbox, lane->topic, size, code);
    return code ? -EAGAIN : 0;
}

static struct deliver *lane_of(struct outbox *outbox, const struct topic *topic) {
    size_t i = 0;
    while (TOPICS[i] != topic) i++;
    return outbox->lanes[i].deliver;
}

void outbox_put(struct outbox *outbox, const struct topic *topic, int32_t partition, const int64_t *users, size_t count,
                const struct timeline_item *item) {
    struct deliver *deliver = lane_of(outbox, topic);
    uint8_t *payload = deliver_payload(deliver, timeline_item_size_max(item));
    struct deliver_envelope envelope = {
        .kind = DELIVERY_TIMELINE,
        .recipients = users,
        .recipient_count = count,
        .payload = payload,
        .payload_size = (size_t)(timeline_item_write(payload, item) - payload),
    };
    deliver_put(deliver, partition, &envelope, 0, clock_monotonic_us());
}

void outbox_deliver(void *context, int32_t route, const void *payload, size_t size) {
    struct outbox *outbox = context;
    struct deliver_envelope envelope = {.kind = WATCH_DELIVERY_KIND, .payload = payload, .payload_size = size};
    deliver_put(outbox->lanes[DELIVERIES].deliver, route, &envelope, 0, clock_monotonic_us());
}

void outbox_flush_deliveries(struct outbox *outbox) { deliver_flush(outbox->lanes[DELIVERIES].deliver); }

void outbox_forget_watch(void *context, int32_t partition, const void *key, size_t size) {
    struct outbox *outbox = context;
    kafka_producer_send(outbox->producer, &TOPIC_FEED_WATCHES, partition, key, size, NULL, 0, NULL);
}

void outbox_forget_device(void *context, int32_t partition, const void *key, size_t size) {
    struct outbox *outbox = context;
    kafka_producer_send(outbox->producer, &TOPIC_DEVICES, partition, key, size, NULL, 0, NULL);
}

/* ---- commands ---- */

static int send_command(struct outbox *outbox, const struct waiting_command *command) {
    return kafka_producer_send(outbox->producer, command->topic, KAFKA_PARTITION_BY_KEY, command->key,
                               command->key_size, command->value.data, command->value.size,
                               (void *)(uintptr_t)command->epoch);
}

/* Sends commands that wait, in order, as long as the producer takes them. */
static void send_waiting(struct outbox *outbox) {
    while (outbox->waiting_count && !outbox->failed) {
        struct waiting_command *command = &outbox->waiting[outbox->waiting_first];
        int code = send_command(outbox, command);
        if (code && code != -EAGAIN && code != -EHOSTDOWN) fail(outbox, command->topic, command->value.size, code);
        if (code) return;
        outbox->commands->value++;
        buffer_free(&command->value);
        outbox->waiting_first++;
        outbox->waiting_count--;
    }
    outbox->waiting_first = 0;
}

/* Takes over the value. */
static void put_record(struct outbox *outbox, const struct topic *topic, const void *key, size_t key_size,
                       struct buffer value) {
    size_t end = outbox->waiting_first + outbox->waiting_count;
    MEM_ROOM(outbox->waiting, end, outbox->waiting_room);
    outbox->waiting[end] = (struct waiting_command){
        .topic = topic, .key_size = key_size, .value = value, .epoch = epochs_expect(outbox->options.epochs)};
    memcpy(outbox->waiting[end].key, key, key_size);
    outbox->waiting_count++;
    send_waiting(outbox);
}

static void put_command(struct outbox *outbox, const struct topic *topic, int64_t user, struct buffer value) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    put_record(outbox, topic, key, sizeof key, value);
}

void outbox_follower_command(struct outbox *outbox, const struct follower_command *command) {
    struct buffer value = {.data = NULL};
    event_encode_follower_command(&value, command);
    put_command(outbox, &TOPIC_FOLLOWER_COMMANDS, command->author, value);
}

void outbox_post_command(struct outbox *outbox, const struct post_command *command) {
    struct buffer value = {.data = NULL};
    edit_encode_post_command(&value, command);
    put_command(outbox, &TOPIC_POST_COMMANDS, command->user, value);
}

void outbox_notice_gone(struct outbox *outbox, const uint8_t key[NOTICE_KEY_SIZE]) {
    put_record(outbox, &TOPIC_NOTICES, key, NOTICE_KEY_SIZE, (struct buffer){.data = NULL});
}

void outbox_notice(struct outbox *outbox, const struct notice_key *key, const struct notice *notice) {
    uint8_t bytes[NOTICE_KEY_SIZE];
    struct buffer value = {.data = NULL};
    notice_key_write(bytes, key);
    notice_encode(&value, notice);
    put_record(outbox, &TOPIC_NOTICES, bytes, sizeof bytes, value);
}

/* ---- sending ---- */

void outbox_flush_old(struct outbox *outbox, int64_t now_us) {
    for (size_t i = 0; i < OUTBOXES; i++) deliver_flush_old(outbox->lanes[i].deliver, now_us);
}

int64_t outbox_flush_ready(struct outbox *outbox, int64_t now_us) {
    int64_t soonest = 0;
    for (size_t i = 0; i < OUTBOXES; i++) {
        int64_t left_ms = deliver_flush_ready(outbox->lanes[i].deliver, now_us);
        if (left_ms && (!soonest || left_ms < soonest)) soonest = left_ms;
    }
    return soonest;
}

void outbox_flush_timeline(struct outbox *outbox, int32_t partition) {
    deliver_flush_one(outbox->lanes[TIMELINES].deliver, partition);
}

void outbox_flush(struct outbox *outbox) {
    for (size_t i = 0; i < OUTBOXES; i++) deliver_flush(outbox->lanes[i].deliver);
}

bool outbox_retry(struct outbox *outbox) {
    send_waiting(outbox);
    for (size_t i = 0; i < OUTBOXES; i++) deliver_retry(outbox->lanes[i].deliver);
    return !outbox_blocked(outbox);
}

bool outbox_blocked(const struct outbox *outbox) {
    bool blocked = outbox->waiting_count > 0;
    for (size_t i = 0; i < OUTBOXES; i++) blocked = blocked || deliver_blocked(outbox->lanes[i].deliver);
    return blocked;
}

struct kafka_producer *outbox_producer(struct outbox *outbox) {
    return outbox->producer;
}

/* ---- beginning and end ---- */

static struct metric *counter(struct metrics *metrics, const char *name, const char *doc) {
    return metrics_counter(metrics, name, doc, NULL);
}

int outbox_new(const struct outbox_options *options, struct outbox **out, struct error *error) {
    struct metrics *m = options->metrics;
    struct outbox *outbox = MEM_NEW(&(struct outbox){
        .options = *options,
        .batches = counter(m, "starling_feed_batches_total", "Batches of items sent to other feed processes."),
        .commands = counter(m, "starling_feed_commands_sent_total", "Commands sent because of state that was read."),
        .lost = counter(m, "starling_feed_lost_total", "Batches and commands that Kafka did not take."),
    });
    for (size_t i = 0; i < OUTBOXES; i++) {
        outbox->lanes[i] = (struct lane){.outbox = outbox, .topic = TOPICS[i]};
        outbox->lanes[i].deliver = deliver_new(&(struct deliver_options){
            .destinations = i == DELIVERIES ? options->routes : options->partitions,
            .flush_bytes = options->flush_bytes,
            .flush_us = options->flush_us,
            .gather_most_us = DELIVER_GATHER_US,
            .epochs = options->epochs,
            .tracer = options->kafka->tracer,
            .context = &outbox->lanes[i],
            .send = send_batch,
        });
    }
    struct kafka_producer_options producer = {
        .loop = options->loop,
        .settings = options->kafka,
        .metrics = options->metrics,
        .queue_bytes = options->queue_bytes,
        .context = outbox,
        .on_delivered = delivered,
    };
    int code = kafka_producer_new(&producer, &outbox->producer, error);
    if (code)
        outbox_free(outbox);
    else
        *out = outbox;
    return code;
}

void outbox_free(struct outbox *outbox) {
    if (!outbox) return;
    kafka_producer_free(outbox->producer, 0);
    for (size_t i = 0; i < OUTBOXES; i++) deliver_free(outbox->lanes[i].deliver);
    for (size_t i = 0; i < outbox->waiting_count; i++) buffer_free(&outbox->waiting[outbox->waiting_first + i].value);
    free(outbox->waiting);
    free(outbox);
}
