/* A producer on the event loop. acks=all, idempotent, murmur2 partitioner as Java's. Loop's thread but where said.
 *
 * librdkafka may lose the sequence of an idempotent client's records when leaders change, after which it never writes again, or every
 * record fails. A producer without transactions then makes a new client by itself, and does so when brokers answer and yet nothing is
 * acknowledged for 8 s. Records that were under way in the old client are reported as failed; like any that are, they may have been written. */
#pragma once

#include "base/metrics.h"
#include "kafka/consumer.h"
#include "kafka/settings.h"

struct kafka_producer;

enum { KAFKA_PARTITION_BY_KEY = -1 };

struct kafka_producer_options {
    uv_loop_t *loop;
    const struct kafka_settings *settings;
    /* Dead letters are counted here by topic: starling_dead_letters_total and starling_dead_letters_lost_total, for each topic
     * of the settings. NULL: they are not. */
    struct metrics *metrics;
    const char *transactional_id; /* NULL: plain */
    int linger_ms;                /* queue.buffering.max.ms; 0: send at once */
    int timeout_ms;     /* message.timeout.ms; 0: 30,000. Of a transactional one transaction.timeout.ms; 0: 5,000 */
    size_t queue_bytes; /* queue.buffering.max.kbytes; 0: 64 MiB */
    void *context;
    /* A message's fate: code 0 acknowledged (offset says where), else negative errno. `opaque` as given to send. NULL:
     * not wanted. */
    void (*on_delivered)(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                         int64_t offset);
    void (*on_broker)(void *context, bool up, const char *reason); /* NULL: not wanted */
};

int kafka_producer_new(const struct kafka_producer_options *options, struct kafka_producer **producer,
                       struct error *error);
/* Waits up to flush_ms for messages under way (their callbacks are called), then frees. NULL is fine. */
void kafka_producer_free(struct kafka_producer *producer, int flush_ms);

/* Copies key and value. value NULL: tombstone. partition KAFKA_PARTITION_BY_KEY (friendships: by the user, the key's
 * first 8 bytes) or explicit. 0; -EAGAIN: the queue is full (nothing was taken); -EHOSTDOWN: the queue is full because
 * no broker can be reached, or the client is about to be made anew, or the topic or its partition is not there just now; -EIO: librdkafka has
 * given up the transaction; -EINVAL otherwise (too large). */
int kafka_producer_send(struct kafka_producer *producer, const struct topic *topic, int32_t partition, const void *key,
                        size_t key_size, const void *value, size_t value_size, void *opaque);
/* The same with the time that the record brings (ms), for topics that keep it; no trace goes with it. */
int kafka_producer_send_at(struct kafka_producer *producer, const struct topic *topic, int32_t partition,
                           const void *key, size_t key_size, const void *value, size_t value_size, int64_t timestamp,
                           void *opaque);
/* A record that was read, once more: its topic, partition, key, value, time and headers. */
int kafka_producer_send_whole(struct kafka_producer *producer, const struct kafka_record *record);
size_t kafka_producer_pending(const struct kafka_producer *producer); /* messages whose fate is not known yet */
bool kafka_producer_up(const struct kafka_producer *producer);        /* some broker is connected */

/* To NAME.dlq: key, value and Kafka Connect's error headers (__connect.errors.topic, .partition, .offset,
 * .exception.message, ...). A record that is too large to be written whole with them is written cut: the beginning of its value,
 * and of its key if that alone is too long, with the sizes of both in the headers KAFKA_CUT_VALUE_SIZE and KAFKA_CUT_KEY_SIZE;
 * the headers above say where the whole record is. on_delivered is not called for it. Errors as kafka_producer_send; the record's
 * content can cause none of them. */
#define KAFKA_CUT_KEY_SIZE "starling.cut.key.size"
#define KAFKA_CUT_VALUE_SIZE "starling.cut.value.size"
int kafka_producer_send_dead(struct kafka_producer *producer, const struct kafka_record *record, const char *reason);
uint64_t kafka_producer_dead_lost(const struct kafka_producer *producer); /* dead letters that did not get there */

/* Transactions (transactional_id given). All blocking: call on a worker (loop_work), one at a time, except begin and send;
 * the loop must go on meanwhile, as commit and abort wait for delivery reports. 0, or
 *   -EAGAIN  abort, then try again;
 *   -ESTALE  the group has moved on, and another member may own the partitions: abort, drop state;
 *   others   fatal, make a new producer. Also after a transaction that was open for longer than transaction.timeout.ms,
 *            or one whose commit got no answer in time, which may then be committed or not: the committed offsets say.
 * A transaction is bound to the consumer's assignment at its beginning: it never commits under a later assignment, however late a
 * worker gets to it. */
int kafka_transactions_init(struct kafka_producer *producer, int timeout_ms, struct error *error);
/* consumer: the one whose offsets the transaction commits; NULL: it commits none. */
int kafka_transaction_begin(struct kafka_producer *producer, struct kafka_consumer *consumer, struct error *error);
/* Flushes, adds the offsets with the consumer group's metadata (KIP-447), commits. */
int kafka_transaction_commit(struct kafka_producer *producer, const struct kafka_position *offsets, size_t count,
                             int timeout_ms, struct error *error);
/* Waits until each record of it is acknowledged or has failed. -EAGAIN: some are still under way. */
int kafka_transaction_flush(struct kafka_producer *producer, int timeout_ms, struct error *error);
int kafka_transaction_abort(struct kafka_producer *producer, int timeout_ms, struct error *error);
