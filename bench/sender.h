/* Sends the records of a bench's world to Kafka, and waits for them at the end. A failure ends the program. Header-only, for bench
 * programs. */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kafka/producer.h"

enum { SENDER_LINGER_MS = 20, SENDER_TIMEOUT_MS = 300000, SENDER_FLUSH_MS = SENDER_TIMEOUT_MS };

struct sender {
    uv_loop_t loop;
    struct kafka_producer *producer;
    struct buffer value; /* of the next record */
    uint64_t lost;
};

static inline void sender_fail(const char *what, const char *reason) {
    fprintf(stderr, "bench: %s: %s\n", what, reason);
    exit(1);
}

static inline void sender_delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                                    int64_t offset) {
    struct sender *sender = context;
    sender->lost += code != 0;
}

static inline void sender_open(struct sender *sender, const struct kafka_settings *settings) {
    struct error error = {.text = ""};
    *sender = (struct sender){.producer = NULL};
    uv_loop_init(&sender->loop);
    struct kafka_producer_options options = {.loop = &sender->loop,
                                             .settings = settings,
                                             .linger_ms = SENDER_LINGER_MS,
                                             .timeout_ms = SENDER_TIMEOUT_MS,
                                             .context = sender,
                                             .on_delivered = sender_delivered};
    if (kafka_producer_new(&options, &sender->producer, &error)) sender_fail("a producer", error.text);
}

/* Sends sender->value, and empties it. partition: KAFKA_PARTITION_BY_KEY, or a number. */
static inline void sender_send(struct sender *sender, const struct topic *topic, int32_t partition, const void *key,
                               size_t key_size) {
    int code;
    while ((code = kafka_producer_send(sender->producer, topic, partition, key, key_size, sender->value.data,
                                       sender->value.size, NULL)) == -EAGAIN ||
           code == -EHOSTDOWN) // not connected yet; what stays so is lost after a while
        uv_run(&sender->loop, UV_RUN_ONCE);
    if (code) sender_fail("sending", strerror(-code));
    buffer_clear(&sender->value);
}

static inline void sender_close(struct sender *sender) {
    kafka_producer_free(sender->producer, SENDER_FLUSH_MS);
    buffer_free(&sender->value);
    uv_run(&sender->loop, UV_RUN_DEFAULT);
    uv_loop_close(&sender->loop);
    if (sender->lost) sender_fail("sending", "records were lost");
}
