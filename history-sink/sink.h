/* The inside of the sink, shared by this folder's files: one struct sink a process, one struct partition for each partition
 * of locations that it owns. Everything: the loop's thread.
 *
 *     sink.c        made, drained, freed; metrics     partitions.c  owned, looked at, read, given back
 *     records.c     records become rows               rebuild.c     files are read back into the store
 *     query.c       GET /peer/history/{user}          look.c        the worker that looks at folder and Kafka
 *
 * The life of a partition:
 *
 *     assigned -> LOOKING ----> MEASURING -----> FOUND ----------> READING -> revoked: its file is published
 *                   ^  files      newest file      its end is       |
 *                   |  found      is read          known            |
 *                   +--- after a while: anything that fails --------+   (or at once: another sink published first)
 *
 * Beside that its store is made whole: older files that it misses are loaded while records come in already, so that Kafka
 * never has to wait. Queries are answered when it is whole and Kafka is read to where it ended at the look.
 */
#ifndef HISTORY_SINK_SINK_H
#define HISTORY_SINK_SINK_H

#include "event/codec.h"
#include "history-sink/look.h"
#include "history-sink/rows.h"
#include "history-sink/segment.h"
#include "history-sink/settings.h"
#include "kafka/consumer.h"
#include "kafka/producer.h"
#include "service/service.h"

enum partition_state { PARTITION_LOOKING, PARTITION_MEASURING, PARTITION_FOUND, PARTITION_READING };

struct partition {
    int32_t id;
    enum partition_state state;
    bool subscribed;    /* the consumer reads it */
    bool refused;       /* its last look ended badly, and that was logged */
    int64_t look_at_us; /* LOOKING: not before */

    /* The chain of files. */
    bool has_newest;
    struct archive_file newest;
    int64_t end;          /* where the chain ends: the next file's first offset */
    struct segment *open; /* the next file; NULL until it has a row */

    /* Kafka. */
    int64_t next;         /* offset expected next */
    int64_t kept, target; /* the first offset that it had, and where it ended, at the look */

    /* The store. */
    int64_t stored;                /* every row before this offset is in it */
    bool whole;                    /* stored follows next: no file is left to load */
    struct archive_list files;     /* that it may miss, and the newest */
    size_t file_at, file_count;    /* the next to load; how many there are to load */
    struct segment_reader *reader; /* of the newest (MEASURING), else of files[file_at] */
    int64_t load_at_us;            /* not before: a file could not be read */
    bool marked;                   /* what the store says about it is out of date */

    struct metric *lag;
};

struct sink_metrics {
    struct metric *rows, *published_rows, *files, *bytes, *races, *undecodable, *dropped, *queries, *owned, *refused,
        *oldest, *files_left, *loaded_rows, *store_bytes;
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
    struct look *look;
    struct loop_timer *tick;
    struct loop_idle *loader;
    struct partition *partitions; /* owned, by id */
    size_t count;
    bool assigned, draining;
    unsigned assignment, looked; /* the number of this assignment, and of the one that a look under way is for */
    int64_t committed_us, bad_record_us, kafka_away_us;
    int64_t expired_us;                 /* when ridding the store of old rows last began */
    int64_t expire_before, expire_user; /* how far that is; expire_user -1: it is done */
    struct sink_metrics metrics;
};

/* partitions.c */
void partitions_assigned(void *sink, const struct kafka_position *owned, size_t count);
void partitions_revoked(void *sink, bool lost);
void partitions_offset_lost(void *sink, const struct topic *topic, int32_t id);
void partitions_seen(void *sink, int code, const struct archive_wanted *wanted, size_t count, const char *reason);
void partitions_tick(struct sink *sink);                                            /* whatever is due */
void partitions_publish(struct sink *sink);                                         /* all open files */
void partitions_clear(struct sink *sink);                                           /* drops what is open */
struct partition *partition_find(const struct sink *sink, int32_t id);              /* NULL: not owned */
bool partition_answers(const struct sink *sink, const struct partition *partition); /* its store is complete */
void partition_measured(struct sink *sink, struct partition *partition, int64_t end);
/* Drops the open file and looks again at the folder. code -EEXIST: at once, another sink was faster; else after a while. */
void partition_restart(struct sink *sink, struct partition *partition, int code, const char *reason);

/* records.c */
void records_arrived(void *sink, const struct kafka_record *records, size_t count);
/* Publishes the open file, if there is one. false: the partition was restarted. */
bool records_publish(struct sink *sink, struct partition *partition);
void records_publish_full(struct sink *sink);
void records_write(struct sink *sink); /* what waits for the store, with the marks */

/* rebuild.c */
void rebuild_more(void *sink); /* one slice of work; the loop calls it as long as there is some */
size_t rebuild_files_left(const struct sink *sink);

/* Rows before this time are not kept in the store, ms; 0: all are. */
int64_t sink_horizon(const struct sink *sink);

/* query.c */
void query_answer(void *sink, struct http_request *request);

#endif
