/* Reading topics from a place to their end, or one for ever: for replay and export. Blocking, with a loop of its own. */
#pragma once

#include "cli/cli.h"
#include "kafka/admin.h"
#include "kafka/consumer.h"

enum { READER_ALL = -1 };

/* Of several topics at once: all their records by rising time, each partition's own order kept. */
struct reader_merge {
    const struct topic *const *topics;
    size_t count;
    const struct topics_shape *shape;
    /* True: the record is to be taken now. Else it waits. */
    bool (*due)(void *context, const struct kafka_record *record);
};

struct reader_options {
    const struct kafka_settings *settings;
    const struct topic *topic;
    int32_t partitions;               /* that the topic has */
    int32_t partition;                /* the one to read, or READER_ALL */
    const struct reader_merge *merge; /* instead of topic, partitions and partition; NULL: one topic is read */
    /* Kafka's timestamps, ms: from <= timestamp < to. 0 and INT64_MAX: everything. Of topics that are merged and compacted, from does
     * not count: what they held before is part of what they hold. */
    int64_t from_ms, to_ms;
    int64_t newest; /* only offsets so close to each partition's end; 0: from the beginning */
    bool follow;    /* goes on beyond the end, until SIGINT or SIGTERM */
    void *context;
    /* The records, in order within each partition; committed ones only. */
    void (*take)(void *context, const struct kafka_record *record);
    /* Reading ends with this code when take has made it other than 0; take has set the reason. NULL: take does not fail. */
    const int *failure;
    /* All that has arrived was taken. NULL: not wanted. */
    void (*drained)(void *context);
    /* Now and then: how many of so many offsets were read. NULL: not wanted. */
    void (*progressed)(void *context, int64_t done, int64_t total);
};

/* Reads what there is when it is called: 0 when every partition was read to the end that it had then. -EHOSTDOWN after 10 s
 * without a broker (when following, goes on waiting). -EINTR: SIGINT or SIGTERM came while topics were merged. */
int reader_run(const struct reader_options *options, struct error *error);

/* How many partitions the topics have. -EHOSTDOWN within 10 s when no broker answers, with a reason that names it. */
int reader_shape(const struct cli *cli, struct topics_shape *shape, struct error *error);
