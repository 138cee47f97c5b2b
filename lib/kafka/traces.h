/* Traces through Kafka: records carry the context of their trace in headers (trace/context.h). Private to lib/kafka.
 *
 * A producer sends records that are written within a scope (trace/tracer.h) with headers, and makes a span of each, from the call to the
 * acknowledgement. A consumer hands a traced record over alone, within a scope of its own, and makes a span of that if something came
 * of it. Records without headers cost a look at a length.
 */
#pragma once

#include "kafka/consumer_private.h"
#include "kafka/producer_private.h"

/* The consumer's first `count` records go to on_records: those that are traced alone, the others together. */
void kafka_traces_hand_over(struct kafka_consumer *consumer, size_t count);

/* As kafka_producer_send, for what is written within `scope`. 0, or librdkafka's code. */
rd_kafka_resp_err_t kafka_traces_send(struct kafka_producer *producer, struct trace_scope *scope,
                                      rd_kafka_topic_t *handle, int32_t partition, const void *key, size_t key_size,
                                      const void *value, size_t value_size, void *opaque);
/* The fate of a message is known. */
void kafka_traces_reported(struct kafka_producer *producer, const rd_kafka_message_t *message);
void kafka_traces_free(struct traces_sent *sent); /* NULL is fine */
