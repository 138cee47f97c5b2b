#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kafka/consumer.h"
#include "kafka/producer_private.h"

/* Kafka Connect's headers, so that the tools made for its queues read ours. Values are text. */

static void add(rd_kafka_headers_t *headers, const char *name, const char *value) {
    rd_kafka_header_add(headers, name, -1, value, (ssize_t)strlen(value));
}

static void add_number(rd_kafka_headers_t *headers, const char *name, int64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    add(headers, name, text);
}

static rd_kafka_headers_t *headers_of(const struct kafka_settings *settings, const struct kafka_record *record,
                                      const char *source, const char *reason) {
    rd_kafka_headers_t *headers = rd_kafka_headers_new(8);
    add(headers, "__connect.errors.topic", source);
    add_number(headers, "__connect.errors.partition", record->partition);
    add_number(headers, "__connect.errors.offset", record->offset);
    add(headers, "__connect.errors.connector.name", settings->client_id ? settings->client_id : "starling");
    add_number(headers, "__connect.errors.task.id", 0);
    add(headers, "__connect.errors.stage", "VALUE_CONVERTER");
    add(headers, "__connect.errors.exception.class.name", "starling.BadRecord");
    add(headers, "__connect.errors.exception.message", reason);
    return headers;
}

const char *kafka_record_header(const struct kafka_record *record, const char *name) {
    // librdkafka's signature is of before const: reading them is what it does.
    rd_kafka_message_t *message = (rd_kafka_message_t *)(uintptr_t)record->message;
    rd_kafka_headers_t *headers;
    const void *value;
    size_t size;
    if (!message || rd_kafka_message_headers(message, &headers)) return NULL;
    return rd_kafka_header_get_last(headers, name, &value, &size) ? NULL : value; // it ends with a 0
}

/* ---- counting ---- */

void kafka_dead_letters_count(struct kafka_producer *producer, struct metrics *metrics) {
    const struct topic_list *topics = producer->options.settings->topics;
    if (!topics) return;
    producer->dead = mem_alloc(topics->count * sizeof *producer->dead);
    for (size_t i = 0; i < topics->count; i++) {
        char *label = mem_format("topic=\"%s\"", topics->items[i]->name);
        producer->dead[producer->dead_count++] = (struct dead_letters){
            .topic = topics->items[i],
            .written =
                metrics_counter(metrics, "starling_dead_letters_total",
                                "Records that could not be used, written to the topic's dead letter queue", label),
            .lost = metrics_counter(metrics, "starling_dead_letters_lost_total",
                                    "Records that could not be used and could not be written to the dead letter queue",
                                    label),
        };
        free(label);
    }
}

static void count(struct kafka_producer *producer, const struct topic *topic, bool lost) {
    producer->dead_lost += lost;
    for (size_t i = 0; i < producer->dead_count; i++) {
        const struct dead_letters *dead = &producer->dead[i];
        if (dead->topic == topic) (lost ? dead->lost : dead->written)->value++;
    }
}

void kafka_dead_letter_reported(struct kafka_producer *producer, const rd_kafka_message_t *message) {
    // The broker's limit may be lower than ours.
    if (message->err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
        producer->dead_limit = (message->len + message->key_len) / 2;
    // In a transaction it is not lost: the transaction fails, and all that is in it comes again.
    if (!message->err || !producer->options.transactional_id) count(producer, message->_private, message->err != 0);
}

/* ---- sending ---- */

/* Writes so much of the record: first of its key, then of its value. */
static rd_kafka_resp_err_t write_some(struct kafka_producer *producer, const struct kafka_record *record,
                                      const char *source, const char *queue, const char *reason, size_t size) {
    size_t key_size = record->key_size < size ? record->key_size : size;
    size_t value_size = record->value_size < size - key_size ? record->value_size : size - key_size;
    rd_kafka_headers_t *headers = headers_of(producer->options.settings, record, source, reason);
    if (key_size < record->key_size || value_size < record->value_size) {
        add_number(headers, KAFKA_CUT_KEY_SIZE, (int64_t)record->key_size);
        add_number(headers, KAFKA_CUT_VALUE_SIZE, (int64_t)record->value_size);
    }
    // producev takes pointers to const data as to plain ones; it copies.
    rd_kafka_resp_err_t err =
        rd_kafka_producev(producer->client, RD_KAFKA_V_TOPIC(queue), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                          RD_KAFKA_V_KEY((void *)(uintptr_t)record->key, key_size),
                          RD_KAFKA_V_VALUE((void *)(uintptr_t)record->value, value_size), RD_KAFKA_V_HEADERS(headers),
                          RD_KAFKA_V_OPAQUE((void *)(uintptr_t)record->topic), RD_KAFKA_V_END);
    if (err) rd_kafka_headers_destroy(headers); // taken only on success
    return err;
}

int kafka_producer_send_dead(struct kafka_producer *producer, const struct kafka_record *record, const char *reason) {
    const struct kafka_settings *settings = producer->options.settings;
    if (!kafka_allows(settings, record->topic, TOPIC_BURIES)) return -EINVAL;
    char *source = topic_full_name(settings, record->topic, false);
    char *queue = topic_full_name(settings, record->topic, true);
    size_t whole = record->key_size + record->value_size;
    size_t size = whole < producer->dead_limit ? whole : producer->dead_limit;
    rd_kafka_resp_err_t err = write_some(producer, record, source, queue, reason, size);
    while (err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE && size)
        err = write_some(producer, record, source, queue, reason, size /= 2);
    free(queue);
    free(source);
    if (err && !producer->options.transactional_id) count(producer, record->topic, true);
    return kafka_producer_taken(producer, err);
}
