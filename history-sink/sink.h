/* All parts of the sink work on one struct sink, of which a process has one. This header has it, and what each part may do to a
 * partition. Parts include this header and those of the parts below them:
 *
 *     history_sink.c  the daemon: made, drained, freed
 *       partitions.c    owned, looked at, read, given back        query.c  GET /peer/history/{user}
 *         merging.c       files of finished hours are merged
 *         rebuild.c       files are read back into the store
 *         records.c       records become rows, in files and in the store
 *           wiping.c        rows of forgotten users go, and do not come back
 *         look.c          a look at folder and Kafka, on the worker
 *           sink.c          this
 *
 * Loop's thread.
 */
#pragma once

#include "base/metrics.h"
#include "base/worker.h"
#include "event/codec.h"
#include "history-sink/partition.h"
#include "history-sink/rows.h"
#include "history-sink/settings.h"
#include "kafka/consumer.h"
#include "kafka/producer.h"
#include "service/service.h"

enum { SINK_TICK_MS = 200 };

struct look;
struct rebuild;
struct merging;
struct wiping;
struct queries;

struct sink_metrics {
    struct metric *rows, *published_rows, *files, *bytes, *races, *undecodable, *dropped, *queries, *owned,
        *merged_files, *merged_rows, *merged_bytes, *merge_failures, *removed_files, *loaded_rows, *wiped_rows,
        *wiped_files, *wiped_file_rows, *wipe_failures;
};

struct sink {
    struct service *service;
    struct history_settings settings;
    struct segment_limits limits;
    int partitions_total;
    struct kafka_consumer *consumer;
    struct kafka_producer *producer; /* dead letters */
    struct rows *rows;
    struct codec *codec;
    struct worker
        *worker; /* publishes files and looks at the folder, in turn: a look sees what was published before it */
    struct look *look;
    struct rebuild *rebuild;
    struct merging *merging;
    struct wiping *wiping;
    struct queries *queries;
    struct storage *storage, *loading; /* the worker's, and the rebuild's */
    struct loop_timer *tick;
    struct sink_partition *partitions; /* owned, by id */
    size_t count;
    int64_t rows_on_way; /* of files that the worker is to publish */
    bool assigned, draining;
    unsigned assignment, looked; /* the number of this assignment, and of the one that a look under way is for */
    int64_t committed_us, bad_record_us, kafka_away_us;
    int64_t expired_us;                 /* when ridding the store of old rows last began */
    int64_t expire_before, expire_user; /* how far that is; expire_user -1: it is done */
    struct sink_metrics metrics;
};

struct sink_partition *sink_find(const struct sink *sink, int32_t id); /* NULL: not owned */
/* Its store is complete, and Kafka read to where it ended at the look. */
bool sink_answers(const struct sink *sink, const struct sink_partition *partition);
/* All that is due is looked at soon, instead of with the next tick. */
void sink_settle_soon(struct sink *sink);
/* Writes the rows that wait for the store, and up to which offset it then holds them. */
void sink_write(struct sink *sink);
/* Drops the open file and looks again at the folder. code -EEXIST: at once, another sink was faster; else after a while. */
void sink_restart(struct sink *sink, struct sink_partition *partition, int code, const char *reason);
/* Looks again at the folder, at once; nothing is wrong. */
void sink_look_again(struct sink *sink, struct sink_partition *partition);
/* Rows before this time are not kept in the store, ms; 0: all are. */
int64_t sink_horizon(const struct sink *sink);

struct sink_metrics sink_metrics_new(struct metrics *metrics);
