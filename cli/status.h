/* The data of `starling status`: status.c gathers it from the broker, status_text.c prints it. One thread. */
#pragma once

#include "base/buffer.h"
#include "cli/status_front.h"
#include "kafka/admin.h"

enum { STATUS_GROUPS = 7, STATUS_GROUP_TOPICS = 7 };

/* Offsets of one topic's partitions at one time. */
struct status_sample {
    int64_t *committed; /* of a group; KAFKA_OFFSET_NONE where none is */
    int64_t *end;
};

/* A topic's partitions, seen twice. */
struct status_topic {
    const struct topic *topic;
    int partitions;
    struct status_sample first, last;
};

struct status_group {
    const char *name;
    const char *what; /* "routers" */
    struct kafka_group group;
    struct status_topic topics[STATUS_GROUP_TOPICS];
    size_t topic_count;
    bool commits; /* false: reads from the end, and commits nothing */
};

struct status {
    const struct kafka_settings *settings;
    int64_t time_ms;
    double seconds;              /* between the two samples */
    struct status_topic *topics; /* topic_count: all that there are */
    size_t topic_count;
    struct status_group groups[STATUS_GROUPS];
    struct status_front front;
    double refused_s; /* when a daemon last refused a command, since the Unix epoch; 0: not known */
};

enum { STATUS_UNKNOWN = -1 };

/* "0-3,7"; the numbers need not be sorted. */
void status_ranges(struct buffer *out, const int *numbers, size_t count);

/* So many waiting records of a partition matter; fewer wait in any second. */
enum { STATUS_LATE_RECORDS = 1000 };

struct status_verdict; /* cli/status_verdict.h */

/* For people: the verdict, topics, groups. Of the partitions, those that have no owner although records wait, and those with a lag of at
 * least STATUS_LATE_RECORDS; all_partitions: each. */
void status_text(struct buffer *out, const struct status *status, const struct status_verdict *verdict,
                 bool all_partitions);
void status_json(struct buffer *out, const struct status *status, const struct status_verdict *verdict); /* one line */
