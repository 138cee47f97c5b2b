/* Sends the records of a bench's world to Kafka, and waits for them at the end; and reads a topic whole. A failure ends the program.
 * Header-only, for bench programs. */
#pragma once

#include <inttypes.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "bench/machine.h"
#include "event/topics.h"
#include "kafka/consumer.h"
#include "kafka/producer.h"

enum {
    SENDER_LINGER_MS = 20,
    SENDER_TIMEOUT_MS = 300000,
    SENDER_FLUSH_MS = SENDER_TIMEOUT_MS,
    READER_TIMEOUT_MS = 10000
};

struct sender {
    uv_loop_t loop;
    struct kafka_settings settings;
    struct kafka_producer *producer;
    struct buffer value; /* of the next record */
    uint64_t lost;
};

static inline void sender_delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                                    int64_t offset) {
    struct sender *sender = context;
    sender->lost += code != 0;
}

static inline void sender_open(struct sender *sender, const char *bootstrap, const char *prefix, int linger_ms) {
    struct error error;
    *sender = (struct sender){
        .settings = {.topics = &TOPICS_ALL, .bootstrap = bootstrap, .prefix = prefix, .client_id = "bench"}};
    uv_loop_init(&sender->loop);
    struct kafka_producer_options options = {.loop = &sender->loop,
                                             .settings = &sender->settings,
                                             .linger_ms = linger_ms,
                                             .timeout_ms = SENDER_TIMEOUT_MS,
                                             .context = sender,
                                             .on_delivered = sender_delivered};
    if (kafka_producer_new(&options, &sender->producer, &error)) bench_die("a producer", error.text);
}

/* Sends sender->value, and empties it. partition: KAFKA_PARTITION_BY_KEY, or a number. */
static inline void sender_send(struct sender *sender, const struct topic *topic, int32_t partition, const void *key,
                               size_t key_size) {
    int code;
    while ((code = kafka_producer_send(sender->producer, topic, partition, key, key_size, sender->value.data,
                                       sender->value.size, NULL)) == -EAGAIN ||
           code == -EHOSTDOWN) // not connected yet; what stays so is lost after a while
        uv_run(&sender->loop, UV_RUN_ONCE);
    if (code) bench_die("sending", strerror(-code));
    buffer_clear(&sender->value);
}

static inline void sender_send_user(struct sender *sender, const struct topic *topic, int64_t user) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    sender_send(sender, topic, KAFKA_PARTITION_BY_KEY, key, sizeof key);
}

static inline void sender_close(struct sender *sender) {
    kafka_producer_free(sender->producer, SENDER_FLUSH_MS);
    buffer_free(&sender->value);
    uv_run(&sender->loop, UV_RUN_DEFAULT);
    uv_loop_close(&sender->loop);
    if (sender->lost) bench_die("sending", "records were lost");
}

/* A thing that a program loads: into Kafka (send), or else (alone). */
struct options; /* of the program */
struct loader {
    const char *name;
    void (*send)(const struct options *options, struct sender *sender);
    void (*alone)(const struct options *options);
};

static inline void loader_run(const struct loader *loaders, size_t count, const char *name,
                              const struct options *options, const char *bootstrap, const char *prefix) {
    struct sender sender;
    size_t k = 0;
    while (k < count && strcmp(loaders[k].name, name) != 0) k++;
    if (k == count) bench_fail("its head says which words and arguments there are");
    if (loaders[k].alone) {
        loaders[k].alone(options);
        return;
    }
    sender_open(&sender, bootstrap, prefix, SENDER_LINGER_MS);
    loaders[k].send(options, &sender);
    sender_close(&sender);
}

/* So many bytes of a text that has its number and looks like words. */
static inline void sender_words(const char *what, int64_t number, char *text, size_t size) {
    snprintf(text, size + 1, "%s %" PRId64 " ", what, number);
    for (size_t i = strlen(text); i < size; i++)
        text[i] = i % 7 == 6 ? ' ' : (char)('a' + hash_u64((uint64_t)number << 8 | i) % 26);
    text[size] = '\0';
}

/* Reads all that the topic holds now, and returns then. */
static inline void reader_read(const char *bootstrap, const char *prefix, const struct topic *topic, int32_t partitions,
                               void (*on_records)(void *context, const struct kafka_record *records, size_t count),
                               void *context) {
    uv_loop_t loop;
    struct kafka_consumer *consumer;
    struct error error;
    struct kafka_settings settings = {
        .topics = &TOPICS_ALL, .bootstrap = bootstrap, .prefix = prefix, .client_id = "bench"};
    struct kafka_consumer_options options = {
        .loop = &loop, .settings = &settings, .context = context, .on_records = on_records};
    struct kafka_position *positions = mem_zero((size_t)partitions, sizeof *positions);
    int64_t low, *ends = mem_zero((size_t)partitions, sizeof *ends);
    uv_loop_init(&loop);
    if (kafka_consumer_new(&options, &consumer, &error)) bench_die("a consumer", error.text);
    for (int32_t p = 0; p < partitions; p++) {
        positions[p] = (struct kafka_position){topic, p, KAFKA_OFFSET_BEGINNING};
        if (kafka_consumer_watermarks(consumer, topic, p, &low, &ends[p], READER_TIMEOUT_MS, &error))
            bench_die("a topic's end", error.text);
    }
    if (kafka_consumer_read(consumer, positions, (size_t)partitions, &error)) bench_die("reading", error.text);
    for (int32_t p = 0; p < partitions; p++)
        while (ends[p] && kafka_consumer_position(consumer, topic, p) < ends[p]) uv_run(&loop, UV_RUN_ONCE);
    kafka_consumer_free(consumer);
    free(positions);
    free(ends);
}
