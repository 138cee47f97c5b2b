/* Reading a topic from a place to its end, or for ever: for replay and export. Blocking, with a loop of its own. */
#ifndef CLI_READER_H
#define CLI_READER_H

#include "kafka/admin.h"
#include "kafka/consumer.h"

enum { READER_ALL = -1 };

struct reader_options {
    const struct kafka_settings *settings;
    const struct topic *topic;
    int32_t partitions; /* that the topic has */
    int32_t partition;  /* the one to read, or READER_ALL */
    /* Kafka's timestamps, ms: from <= timestamp < to. 0 and INT64_MAX: everything. */
    int64_t from_ms, to_ms;
    bool follow; /* goes on beyond the end, until SIGINT or SIGTERM */
    void *context;
    /* The records, in order within each partition; committed ones only. */
    void (*take)(void *context, const struct kafka_record *record);
    /* All that has arrived was taken. */
    void (*drained)(void *context);
};

/* Reads what there is when it is called: 0 when every partition was read to the end that it had then. -EHOSTDOWN after 10 s
 * without a broker (when following, goes on waiting). */
int reader_run(const struct reader_options *options, struct error *error);

/* How many partitions the topics have. -EHOSTDOWN within 10 s when no broker answers, with a reason that names it. */
int reader_shape(const struct kafka_settings *settings, struct topics_shape *shape, struct error *error);

#endif
