/* Records put on Kafka in bulk. Blocking, with a loop of its own. */
#pragma once

#include "kafka/producer.h"

struct sender;

int sender_new(const struct kafka_settings *settings, struct sender **sender, struct error *error);
void sender_free(struct sender *sender); /* NULL is fine */

/* A record, as kafka_producer_send takes it. Waits while the queue is full; -EHOSTDOWN after 30 s without a broker. A record that was
 * sent before and not acknowledged fails this. */
int sender_put(struct sender *sender, const struct topic *topic, int32_t partition, const void *key, size_t key_size,
               const void *value, size_t value_size, struct error *error);

/* A copy of a record that was read from Kafka: same topic, partition, key, value and time. */
int sender_put_copy(struct sender *sender, const struct kafka_record *record, struct error *error);

/* The same with the record's headers, and to the queue if the sender's settings are those of dead letter queues. */
int sender_put_whole(struct sender *sender, const struct kafka_record *record, struct error *error);

/* Waits until everything sent is acknowledged. */
int sender_flush(struct sender *sender, struct error *error);
