/* The settings that all our Kafka clients have in common. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/config.h"
#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "topics/topic.h"
#include "trace/tracer.h"

struct kafka_misplaced;

/* Borrowed by every client made from it: must outlive them. */
struct kafka_settings {
    const char *bootstrap;           /* host:port,... */
    const char *prefix;              /* of topic names, "starling." */
    const char *client_id;           /* NULL: librdkafka's */
    const struct config_pair *extra; /* kafka.* pairs, set last */
    size_t extra_count;
    const struct topic_list *topics; /* the topics that the program knows; its clients ignore all others */
    /* The topics that the program reads and writes: its clients refuse all others. NULL: no limit. */
    const struct topic_uses *uses;
    /* How many partitions the topics of each space had when the program began: producers choose among so many by key, also if somebody
     * adds partitions. NULL: among those that the topic has. */
    const int *partitions;
    /* Told of records in wrong partitions, which consumers then drop (misplaced.h); with partitions only. NULL: they are as others. */
    struct kafka_misplaced *misplaced;
    /* Kafka lets the program not do something (an ACL is missing), which is told again each time: reason says what. Any thread.
     * NULL: not wanted. */
    void (*on_refused)(void *context, const char *reason);
    void *refused_context;
    /* Of a producer without transactions: no record of it is acknowledged any more, for that reason, or (reason NULL) one is again.
     * Alternately, on the producer's loop. NULL: not wanted. */
    void (*on_writes)(void *context, const char *reason);
    void *writes_context;
    struct metric *unwritten; /* counts such producers' records that were not acknowledged. NULL: nobody counts */
    /* For consumers: they read each topic's dead letter queue, which has one partition, instead of the topic. */
    bool dead_letters;
    struct tracer *tracer; /* of the clients' loop; NULL: nothing is traced */
    struct log *log;       /* librdkafka's own lines go here at debug; NULL: nowhere */
};

/* Checks that librdkafka can use these kafka.* pairs; -EINVAL with the reason. Asks no broker. */
int kafka_settings_check(const struct config_pair *pairs, size_t count, struct error *error);

/* The broker's name of a topic, or of its dead letter queue: prefix + name [+ ".dlq"]. Caller frees. */
char *topic_full_name(const struct kafka_settings *settings, const struct topic *topic, bool dead_letters);
