/* The struct that feed/partitions.c, feed/taking.c and feed/keeping.c share. */
#ifndef FEED_PARTITIONS_PRIVATE_H
#define FEED_PARTITIONS_PRIVATE_H

#include "feed/timeline_reader.h"
#include "feed/partitions.h"

enum { TRIMMED = 64 };

struct feed_part {
    bool attached, live;
    bool no_inboxes;              /* there was none when it was attached */
    bool damaged;                 /* all of its state must be read anew */
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
    struct table_store *tables[STATES_OF_FEED]; /* of states that are kept as rows; NULL: another store has it */
    struct kafka_position *positions;           /* room for all states of all partitions */
    struct codec *codec;
    struct timeline_reader *reader;
    struct loop_timer *turn; /* goes on with inboxes and effects */
    struct feed_part *parts;
    struct list_build building;
    bool stopped, writing;
    bool turning;    /* the timer runs */
    int32_t cooling; /* the partition whose old texts are being moved; -1: none is */
    bool failed;     /* the process ends */
    bool put_off;    /* effects wait until the outbox has room */
    bool any_damaged;
    int64_t trimmed[TRIMMED]; /* users whose notices were looked through in this batch, by their hash; -1: none */
};

void partitions_fail(struct partitions *partitions, const char *doing, const struct error *error);

/* Writes the halves that are queued. */
int partitions_apply_lists(struct partitions *partitions, int32_t partition, struct error *error);

/* The partition stays attached and is no longer live: nobody is told of its effects any more. */
void partitions_quieten(struct partitions *partitions, int32_t partition);

/* Empties the stores of an attached partition, and forgets that it was damaged. */
int partitions_empty(struct partitions *partitions, int32_t partition, struct error *error);

/* Begins to put together lists that were read up to their end. */
void partitions_build(struct partitions *partitions);
void partitions_turn(void *partitions);                            /* the timer's */
void partitions_commit(struct partitions *partitions, bool again); /* again: also what was committed already */

#endif
