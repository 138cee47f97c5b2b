/* What every Kafka client of ours needs to know, and the topics there are. */
#ifndef KAFKA_SETTINGS_H
#define KAFKA_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/config.h"
#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"

enum topic {
    TOPIC_LOCATIONS,
    TOPIC_FRIEND_COMMANDS,
    TOPIC_FRIENDSHIPS,
    TOPIC_PROFILES,
    TOPIC_SHARING,
    TOPIC_DELIVERIES,
    TOPICS
};

/* Borrowed by every client made from it: must outlive them. */
struct kafka_settings {
    const char *bootstrap;           /* host:port,... */
    const char *prefix;              /* of topic names, "starling." */
    const char *client_id;           /* NULL: librdkafka's */
    const struct config_pair *extra; /* kafka.* pairs, set last */
    size_t extra_count;
    bool
        dead_letters; /* for consumers: each topic's dead letter queue, which has one partition, instead of the topic */
    struct log *log;  /* librdkafka's own lines go here at debug; NULL: nowhere */
};

const char *topic_name(enum topic topic); /* without prefix: "locations", ... */

/* The broker's name of a topic, or of its dead letter queue: prefix + name [+ ".dlq"]. Caller frees. */
char *topic_full_name(const struct kafka_settings *settings, enum topic topic, bool dead_letters);

#endif
