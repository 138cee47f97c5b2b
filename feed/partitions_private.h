/* Between feed/partitions.c and feed/taking.c. */
#ifndef FEED_PARTITIONS_PRIVATE_H
#define FEED_PARTITIONS_PRIVATE_H

#include "deliver/envelope.h"
#include "feed/partitions.h"

struct feed_part {
    bool attached, live;
    bool touched;                 /* this batch has records of it */
    int64_t told[STATES_OF_FEED]; /* as own() was told */
    int64_t ends[STATES_OF_FEED]; /* that were asked for while it was restored */
    int64_t halves_next;          /* everything before is queued or applied */
};

/* The relation lists that a worker thread puts together, one partition at a time. */
struct list_build {
    struct partitions *partitions;
    int32_t partition;
    struct adjacency_build *build; /* NULL: none is under way */
    int code;
    struct error error;
};

struct partitions {
    struct partitions_options options;
    struct owner *owner;
    struct carried *carried;
    struct kafka_position *positions; /* room for all states of all partitions */
    struct codec *codec, *payload_codec;
    struct deliver_reader *reader;
    struct loop_timer *turn; /* goes on with inboxes and pushes */
    struct feed_part *parts;
    struct list_build building;
    bool stopped, writing;
};

void partitions_fail(struct partitions *partitions, const char *doing, const struct error *error);

/* Writes the halves that are queued. */
int partitions_apply_lists(struct partitions *partitions, int32_t partition, struct error *error);

#endif
