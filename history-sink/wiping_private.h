/* Between history-sink/wiping*.c. */
#pragma once

#include "history-sink/wiping.h"

/* The progress of a partition of erasures. */
struct wiping_partition {
    struct rows_wiped mark;
    struct rows_place at; /* within the rows of the record at mark.store */

    /* Files; while this process owns the partition of locations. */
    struct wipe_position position; /* of the pass under way */
    int64_t pass_to;               /* erasures before this offset are the pass's; 0: none is under way */
    unsigned assignment;           /* of the sink, when the pass began */
    int64_t pass_began_us;
    int64_t again_us; /* no pass begins before */
    /* A pass waits until files are published to this offset: they were on their way when an erasure was learnt. Of this number of the
     * partition. */
    int64_t cover;
    uint64_t cover_number;
};

/* While `busy`, all but `stop` is the worker's. */
struct wiping_job {
    bool busy;
    atomic_bool stop;
    int32_t partition;
    struct wipe_user *users;
    size_t count;
    struct wipe_options options;
    struct wipe_position position;
    struct wipe_done done;
    int code;
    struct error error;
};

struct wiping {
    struct sink *sink;
    struct worker *worker;
    struct storage *storage;
    struct copies *copies;
    struct wiped *wiped;
    struct wiping_partition *partitions; /* [sink->partitions_total] */
    struct wiping_question *questions;
    bool ready;

    struct wiping_job job;
    int32_t last;                     /* the partition of the last job: the others' turn comes before its next */
    int64_t rest_until_us;            /* passes keep a pause */
    unsigned assignment;              /* the sink's, as far as this has seen */
    int64_t assigned_us, warn_due_us; /* when it came; for the log */
};

/* A user whose rows are to leave the files of an owned partition. */
void wiping_files_learnt(struct wiping *wiping, struct sink_partition *partition, const struct wipe_user *who);
void wiping_files_tick(struct wiping *wiping);
