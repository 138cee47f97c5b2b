#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "kafka/misplaced.h"
#include "kafka/producer_private.h"
#include "kafka/traces.h"

enum {
    TIMEOUT_DEFAULT_MS = 30000,
    TRANSACTION_DEFAULT_MS = 5000,
    QUEUE_DEFAULT_BYTES = 64 << 20,
    REPORTS_A_TURN = 10000, /* so that a flood of acknowledgements does not hold up the loop */
};

static void count_failure(struct kafka_producer *producer, rd_kafka_resp_err_t err) {
    struct metric *unwritten = producer->options.settings->unwritten;
    if (err && unwritten && !producer->options.transactional_id) unwritten->value++;
}

/* One event of a queue; returns how many reports it held. */
static size_t take_event(struct kafka_producer *producer, rd_kafka_event_t *event, size_t *pending) {
    size_t reports = 0;
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR) {
        rd_kafka_resp_err_t err = rd_kafka_event_error(event);
        if (pending == &producer->pending) // and not of a client that was replaced
            kafka_health_error(producer->health, producer->client, err, rd_kafka_event_error_string(event));
        return reports;
    }
    const rd_kafka_message_t *message;
    while ((message = rd_kafka_event_message_next(event))) {
        reports++;
        --*pending;
        if (pending == &producer->pending) kafka_renewal_reported(producer, message->err);
        count_failure(producer, message->err);
        kafka_traces_reported(producer, message);
        const struct topic *topic = rd_kafka_topic_opaque(message->rkt);
        kafka_refused(producer->options.settings, message->err, "Write", "topic", rd_kafka_topic_name(message->rkt));
        if (!topic) { // a dead letter queue's
            kafka_dead_letter_reported(producer, message);
        } else if (producer->options.on_delivered) {
            producer->options.on_delivered(producer->options.context, message->_private, kafka_code(message->err),
                                           topic, message->partition, message->offset);
        }
    }
    return reports;
}

bool kafka_producer_take(struct kafka_producer *producer, rd_kafka_queue_t *queue, size_t *pending, int timeout_ms) {
    for (size_t reports = 0; reports < REPORTS_A_TURN;) {
        rd_kafka_event_t *event = rd_kafka_queue_poll(queue, timeout_ms);
        if (!event) return false;
        reports += take_event(producer, event, pending);
        rd_kafka_event_destroy(event);
        timeout_ms = 0;
    }
    return true;
}

static void woken(void *context) {
    struct kafka_producer *producer = context;
    bool more = kafka_producer_take(producer, producer->queue, &producer->pending, 0);
    kafka_health_poll(producer->health);
    more |= kafka_renewal_look(producer);
    kafka_wake_again(producer->wake, more);
}

int kafka_producer_taken(struct kafka_producer *producer, rd_kafka_resp_err_t err) {
    if (!err) {
        producer->pending++;
        if (!producer->waits_us) producer->waits_us = clock_monotonic_us();
        return 0;
    }
    if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL) return kafka_producer_up(producer) ? -EAGAIN : -EHOSTDOWN;
    if (kafka_code(err) == -ENOENT) return -EHOSTDOWN; // its topic is just being made again
    if (err != RD_KAFKA_RESP_ERR__FATAL) return -EINVAL;
    if (producer->options.transactional_id) return -EIO;
    producer->spoiled = true;
    kafka_wake_again(producer->wake, true);
    return -EHOSTDOWN;
}

static int32_t choose(const struct kafka_producer *producer, const struct topic *topic, int32_t partition,
                      const void *key, size_t key_size) {
    const int *partitions = producer->options.settings->partitions;
    if (partition != KAFKA_PARTITION_BY_KEY) return partition;
    if (!partitions || partitions[topic->space] <= 0 || !key_size) return RD_KAFKA_PARTITION_UA;
    size_t used = topic->key_hashed && topic->key_hashed < key_size ? topic->key_hashed : key_size;
    return hash_partition(key, used, partitions[topic->space]);
}

int kafka_producer_send(struct kafka_producer *producer, const struct topic *topic, int32_t partition, const void *key,
                        size_t key_size, const void *value, size_t value_size, void *opaque) {
    rd_kafka_topic_t *handle =
        kafka_handles_get(&producer->handles, producer->client, producer->options.settings, topic, TOPIC_WRITES);
    if (!handle) return -EINVAL;
    int32_t where = choose(producer, topic, partition, key, key_size);
    struct trace_scope *scope = tracer_current(producer->options.settings->tracer);
    // The answer of a try with the trace's headers; a record that is too large with them may fit without.
    rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
    if (scope) err = kafka_traces_send(producer, scope, handle, where, key, key_size, value, value_size, opaque);
    // librdkafka copies the value and does not change it; its signature is of before const.
    if (err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
        err = rd_kafka_produce(handle, where, RD_KAFKA_MSG_F_COPY, (void *)(uintptr_t)value, value_size, key, key_size,
                               opaque)
                  ? rd_kafka_last_error()
                  : RD_KAFKA_RESP_ERR_NO_ERROR;
    return kafka_producer_taken(producer, err);
}

int kafka_producer_send_at(struct kafka_producer *producer, const struct topic *topic, int32_t partition,
                           const void *key, size_t key_size, const void *value, size_t value_size, int64_t timestamp,
                           void *opaque) {
    rd_kafka_topic_t *handle =
        kafka_handles_get(&producer->handles, producer->client, producer->options.settings, topic, TOPIC_WRITES);
    if (!handle) return -EINVAL;
    int32_t where = choose(producer, topic, partition, key, key_size);
    // producev takes pointers to const data as to plain ones; it copies.
    return kafka_producer_taken(
        producer,
        rd_kafka_producev(producer->client, RD_KAFKA_V_RKT(handle), RD_KAFKA_V_PARTITION(where),
                          RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY((void *)(uintptr_t)key, key_size),
                          RD_KAFKA_V_VALUE((void *)(uintptr_t)value, value_size), RD_KAFKA_V_TIMESTAMP(timestamp),
                          RD_KAFKA_V_OPAQUE(opaque), RD_KAFKA_V_END));
}

int kafka_producer_send_whole(struct kafka_producer *producer, const struct kafka_record *record) {
    rd_kafka_topic_t *handle = kafka_handles_get(&producer->handles, producer->client, producer->options.settings,
                                                 record->topic, TOPIC_WRITES);
    if (!handle) return -EINVAL;
    // librdkafka's signatures are of before const: it reads the headers, and copies key and value.
    rd_kafka_message_t *message = (rd_kafka_message_t *)(uintptr_t)record->message;
    rd_kafka_headers_t *theirs = NULL, *headers = NULL;
    if (message && !rd_kafka_message_headers(message, &theirs)) headers = rd_kafka_headers_copy(theirs);
    if (!headers) headers = rd_kafka_headers_new(0);
    rd_kafka_resp_err_t err = rd_kafka_producev(
        producer->client, RD_KAFKA_V_RKT(handle), RD_KAFKA_V_PARTITION(record->partition),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY((void *)(uintptr_t)record->key, record->key_size),
        RD_KAFKA_V_VALUE((void *)(uintptr_t)record->value, record->value_size), RD_KAFKA_V_TIMESTAMP(record->timestamp),
        RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
    if (err) rd_kafka_headers_destroy(headers); // taken only on success
    return kafka_producer_taken(producer, err);
}

size_t kafka_producer_pending(const struct kafka_producer *producer) {
    return producer->pending + (producer->old ? producer->old->pending : 0);
}

bool kafka_producer_up(const struct kafka_producer *producer) { return kafka_health_up(producer->health); }

uint64_t kafka_producer_dead_lost(const struct kafka_producer *producer) { return producer->dead_lost; }

static int make_client(struct kafka_producer *producer, struct error *error) {
    const struct kafka_producer_options *options = &producer->options;
    char linger[16], timeout[16], queue[24];
    snprintf(linger, sizeof linger, "%d", options->linger_ms);
    snprintf(queue, sizeof queue, "%zu",
             (options->queue_bytes ? options->queue_bytes : QUEUE_DEFAULT_BYTES) / 1024 + 1);
    bool plain = !options->transactional_id;
    int timeout_ms = plain ? TIMEOUT_DEFAULT_MS : TRANSACTION_DEFAULT_MS;
    snprintf(timeout, sizeof timeout, "%d", options->timeout_ms ? options->timeout_ms : timeout_ms);
    const struct kafka_property ours[] = {
        {"acks", "all"},
        {"enable.idempotence", "true"},
        {"partitioner", "murmur2_random"},
        {"linger.ms", linger},
        // A transaction's messages live as long as it (librdkafka's default for them). When its producer dies, its readers wait
        // for what it holds open; so it is shorter than a session of the group, after which another process takes over. But a
        // transaction makes a dozen round trips, some of which lose a packet on bad lines: 2 s were too few for them.
        {"message.timeout.ms", plain ? timeout : NULL},
        {"transaction.timeout.ms", plain ? NULL : timeout},
        {"queue.buffering.max.kbytes", queue},
        {"queue.buffering.max.messages", "10000000"}, // the bytes are the limit
        // As much as brokers take by default (1,048,588) with what a batch adds: a record that they took can be written again.
        {"message.max.bytes", "1048000"},
        {NULL, NULL},
    };
    const struct kafka_property fixed[] = {{"transactional.id", options->transactional_id}, {NULL, NULL}};
    rd_kafka_conf_t *conf = NULL;
    int code = kafka_conf_new(options->settings, ours, fixed, producer->opaque, &conf, error);
    if (code) return code;
    rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR);
    return kafka_client_new(RD_KAFKA_PRODUCER, conf, &producer->client, error);
}

int kafka_producer_open(struct kafka_producer *producer, struct error *error) {
    const struct kafka_producer_options *options = &producer->options;
    struct kafka_opaque *before = producer->opaque;
    producer->opaque = MEM_NEW(&(struct kafka_opaque){.log = options->settings->log, .owner = producer});
    int code = make_client(producer, error);
    if (code) {
        free(producer->opaque);
        producer->opaque = before;
        return code;
    }
    producer->queue = rd_kafka_queue_get_main(producer->client);
    producer->handles = (struct kafka_handles){.count = 0};
    producer->pending = 0;
    producer->health =
        kafka_health_new(producer->client, options->settings, producer->wake, options->on_broker, options->context);
    producer->renewed_us = clock_monotonic_us();
    kafka_wake_queue(producer->wake, producer->queue);
    return 0;
}

int kafka_producer_new(const struct kafka_producer_options *options, struct kafka_producer **out, struct error *error) {
    struct kafka_producer *producer = MEM_NEW(&(struct kafka_producer){
        .options = *options,
        .handles = {.count = 0},
        .dead_limit = SIZE_MAX,
    });
    if (options->metrics) kafka_dead_letters_count(producer, options->metrics);
    if (!options->transactional_id) kafka_misplaced_use(options->settings->misplaced, producer);
    producer->wake = kafka_wake_new(options->loop, woken, woken, producer);
    int code = producer->wake ? kafka_producer_open(producer, error)
                              : error_set(error, -EMFILE, "no descriptor left for a Kafka producer");
    if (code) {
        kafka_producer_free(producer, 0);
        return code;
    }
    *out = producer;
    return 0;
}

static void drain(struct kafka_producer *producer, int flush_ms) {
    int64_t deadline = clock_monotonic_us() + flush_ms * 1000LL;
    while (producer->pending) {
        int64_t left = (deadline - clock_monotonic_us()) / 1000;
        if (left <= 0) break;
        kafka_producer_take(producer, producer->queue, &producer->pending, (int)left);
    }
    // The senders of the rest hear that it is lost.
    if (producer->pending) rd_kafka_purge(producer->client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    for (int tries = 0; producer->pending && tries < 10; tries++)
        kafka_producer_take(producer, producer->queue, &producer->pending, 100);
}

void kafka_producer_free(struct kafka_producer *producer, int flush_ms) {
    if (!producer) return;
    kafka_misplaced_end(producer->options.settings->misplaced, producer);
    if (producer->queue) kafka_wake_forget(producer->queue);
    if (producer->health) drain(producer, flush_ms);
    kafka_renewal_free(producer);
    kafka_health_free(producer->health);
    kafka_wake_free(producer->wake);
    if (producer->queue) rd_kafka_queue_destroy(producer->queue);
    kafka_handles_free(&producer->handles);
    if (producer->client) rd_kafka_destroy(producer->client);
    free(producer->opaque);
    kafka_membership_release(producer->membership);
    kafka_traces_free(producer->traced);
    free(producer->dead);
    free(producer);
}
