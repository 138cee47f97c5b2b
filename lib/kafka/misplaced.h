/* Records that lie in another partition than their key's (a producer that partitions otherwise wrote them): nobody would look for them
 * there, and what reads all partitions must not take them either. Consumers hand none of them over, of topics whose keys say where records
 * belong (topic_partition). Each is counted, and goes once to the topic's dead letters, if the program may write these: at most some a
 * minute. Loop's thread. */
#pragma once

#include "base/metrics.h"
#include "kafka/consumer.h"
#include "kafka/producer.h"

struct kafka_misplaced;

struct kafka_misplaced *kafka_misplaced_new(const struct topic_list *topics, struct metrics *metrics);
void kafka_misplaced_free(struct kafka_misplaced *misplaced); /* NULL is fine */

/* The first producer writes the letters, until it ends. misplaced NULL is fine. */
void kafka_misplaced_use(struct kafka_misplaced *misplaced, struct kafka_producer *producer);
void kafka_misplaced_end(struct kafka_misplaced *misplaced, const struct kafka_producer *producer);

/* True: the record lies in a wrong partition, and was dealt with. */
bool kafka_misplaced_take(const struct kafka_settings *settings, const struct kafka_record *record);
