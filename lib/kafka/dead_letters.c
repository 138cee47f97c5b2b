#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int kafka_producer_send_dead(struct kafka_producer *producer, const struct kafka_record *record, const char *reason) {
    const struct kafka_settings *settings = producer->options.settings;
    char *source = topic_full_name(settings, record->topic, false);
    char *queue = topic_full_name(settings, record->topic, true);
    rd_kafka_headers_t *headers = headers_of(settings, record, source, reason);
    // producev takes pointers to const data as to plain ones; it copies.
    rd_kafka_resp_err_t err =
        rd_kafka_producev(producer->client, RD_KAFKA_V_TOPIC(queue), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                          RD_KAFKA_V_KEY((void *)(uintptr_t)record->key, record->key_size),
                          RD_KAFKA_V_VALUE((void *)(uintptr_t)record->value, record->value_size),
                          RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
    if (err) rd_kafka_headers_destroy(headers); // taken only on success
    free(queue);
    free(source);
    if (!err) {
        producer->pending++;
        return 0;
    }
    producer->dead_lost++;
    if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL) return kafka_producer_up(producer) ? -EAGAIN : -EHOSTDOWN;
    return err == RD_KAFKA_RESP_ERR__FATAL ? -EIO : -EINVAL;
}
