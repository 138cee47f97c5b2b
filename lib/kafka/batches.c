/* Messages of librdkafka as batches of records: which of them count, and how many are taken at once. */
#include "kafka/consumer_private.h"
#include "kafka/misplaced.h"
#include "kafka/traces.h"

#define TIME_MAX INT64_C(253402300799999)

enum { TURN_BYTES = 1 << 20, LEAST = 4 }; /* of a batch, so that large records do not hold up the loop for seconds */

static void offset_lost(struct kafka_consumer *consumer, const struct topic *topic, int32_t partition) {
    const struct place *place = positions_find(&consumer->positions, topic, partition);
    if (!place || !place->reading) return; // the owner has read elsewhere since
    if (consumer->options.on_offset_lost) {
        consumer->options.on_offset_lost(consumer->options.context, topic, partition);
        return;
    }
    struct kafka_position start = {.topic = topic, .partition = partition, .offset = KAFKA_OFFSET_BEGINNING};
    kafka_consumer_seek(consumer, &start, NULL);
}

/* By the handle's opaque, or by name where librdkafka made its own handle before ours. NULL: unknown. */
static const struct topic *topic_of(const struct kafka_consumer *consumer, const rd_kafka_message_t *message) {
    if (!message->rkt) return NULL;
    const struct topic *topic = rd_kafka_topic_opaque(message->rkt);
    return topic ? topic : kafka_topic_of(consumer->options.settings, rd_kafka_topic_name(message->rkt));
}

static void tell_refusal(const struct kafka_consumer *consumer, const rd_kafka_message_t *message) {
    const struct kafka_consumer_options *options = &consumer->options;
    if (message->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
        kafka_refused(options->settings, message->err, options->group ? "Read" : "Describe", "group",
                      options->group ? options->group : KAFKA_READERS_GROUP);
    else
        kafka_refused(options->settings, message->err, "Read", "topic",
                      message->rkt ? rd_kafka_topic_name(message->rkt) : "(unknown)");
}

/* The message of a batch that is no record: an end reached, or a partition's or the client's trouble. */
static void take_trouble(struct kafka_consumer *consumer, const rd_kafka_message_t *message) {
    const struct topic *topic = topic_of(consumer, message);
    switch (message->err) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
    case RD_KAFKA_RESP_ERR__PARTITION_EOF: break;
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
        if (topic) offset_lost(consumer, topic, message->partition);
        break;
    case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED: break; // on_revoked(lost) follows
    default:
        tell_refusal(consumer, message);
        kafka_health_error(consumer->health, consumer->client, message->err, rd_kafka_message_errstr(message));
        log_debug(consumer->options.settings->log, "Kafka consumer",
                  LOG_TEXT("error", rd_kafka_message_errstr(message)));
    }
}

/* A producer's clock may say anything: what is no time until the year 9999 counts as the nearest that is. */
static int64_t within(int64_t time_ms) { return time_ms < 0 ? 0 : time_ms > TIME_MAX ? TIME_MAX : time_ms; }

/* Fills records from messages and moves the positions; returns how many. */
static size_t take_records(struct kafka_consumer *consumer, size_t count) {
    size_t records = 0;
    for (size_t i = 0; i < count; i++) {
        const rd_kafka_message_t *m = consumer->messages[i];
        bool end = m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
        const struct topic *topic = m->err && !end ? NULL : topic_of(consumer, m);
        if (!topic) continue;
        struct place *place = positions_find(&consumer->positions, topic, m->partition);
        if (!place || !place->reading) continue;
        consumer->moved = true;
        // The next offset is where the end was found: markers of transactions and compacted records lie between the last record and it.
        place->next = end ? m->offset : m->offset + 1;
        if (end) continue;
        consumer->burst++;
        consumer->burst_bytes += m->len + m->key_len;
        rd_kafka_timestamp_type_t unused;
        struct kafka_record *record = &consumer->records[records];
        *record = (struct kafka_record){
            .topic = topic,
            .partition = m->partition,
            .offset = m->offset,
            .timestamp = within(rd_kafka_message_timestamp(m, &unused)),
            .key = m->key,
            .key_size = m->key_len,
            .value = m->payload,
            .value_size = m->len,
            .message = m,
        };
        records += !kafka_misplaced_take(consumer->options.settings, record);
    }
    return records;
}

/* A burst has ended. If it was larger than librdkafka's queue, the queue was full. */
static void burst_over(struct kafka_consumer *consumer) {
    bool was_full = consumer->burst >= KAFKA_QUEUE_MESSAGES || consumer->burst_bytes >= (size_t)KAFKA_QUEUE_KBYTES
                                                                                            << 10;
    consumer->burst = consumer->burst_bytes = 0;
    if (was_full && consumer->assigned) kafka_consumer_fetch_on(consumer);
}

/* Sets the size of the next batch, so that it takes about a megabyte if its records are as large as those of the last batch. */
static void adapt_batch(struct kafka_consumer *consumer, size_t count, size_t bytes) {
    size_t most = consumer->options.batch;
    if (bytes > TURN_BYTES)
        consumer->batch = count * TURN_BYTES / bytes < LEAST ? LEAST : count * TURN_BYTES / bytes;
    else if (count == consumer->batch &&
             bytes < TURN_BYTES / 2) // a batch that is not full does not show the size of a full one
        consumer->batch = consumer->batch < most / 2 ? 2 * consumer->batch : most;
    if (consumer->batch > most) consumer->batch = most;
}

bool kafka_consumer_take_batch(struct kafka_consumer *consumer) {
    consumer->changed = false;
    ssize_t got = rd_kafka_consume_batch_queue(consumer->queue, 0, consumer->messages, consumer->batch);
    size_t count = got > 0 ? (size_t)got : 0, bytes = consumer->burst_bytes;
    bool more = count == consumer->batch;
    if (consumer->changed && count) {
        // A rebalance came in the middle of the batch, and nothing says which of its records are older than that. None
        // is delivered; those of the new assignment are fetched again.
        more = true;
        if (consumer->assigned) kafka_consumer_apply(consumer, NULL);
    } else {
        size_t records = take_records(consumer, count);
        adapt_batch(consumer, count, consumer->burst_bytes - bytes);
        kafka_traces_hand_over(consumer, records);
    }
    for (size_t i = 0; i < count; i++) {
        take_trouble(consumer, consumer->messages[i]);
        rd_kafka_message_destroy(consumer->messages[i]);
    }
    if (!more) burst_over(consumer);
    return more;
}
