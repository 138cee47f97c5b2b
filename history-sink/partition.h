/* A partition of locations that this process owns: where its files end, where it is in Kafka and in the store.
 *
 *     assigned -> LOOKING ----------------> FOUND ----------> READING -> revoked: its open file is published
 *                   ^  files are found,       its end is       |
 *                   |  the newest measured    known            |
 *                   +--- after a while: anything that fails ---+   (or at once: another sink published first)
 *
 * Its files are a chain (history-sink/archive.h). A full file is published by the worker; meanwhile the next one is gathered
 * already, on top of one that is not published yet:
 *
 *     [ published ][ published ][ on its way ][ open ...
 *                             ^              ^
 *                         published        chain
 *
 * If the one on its way fails, both are dropped: the partition looks again where its files end, and reads on from there. Loop's
 * thread.
 */
#pragma once

#include "base/metrics.h"
#include "history-sink/publishing.h"

enum sink_partition_state { PARTITION_LOOKING, PARTITION_FOUND, PARTITION_READING };

struct sink_partition {
    int64_t id;      /* first: they are sorted by it */
    uint64_t number; /* another one from each reset on */
    enum sink_partition_state state;
    bool subscribed;     /* the consumer reads it */
    bool refused;        /* its last look ended badly, and that was logged */
    int64_t look_at_us;  /* LOOKING: not before */
    int64_t waits_since; /* ms: since when rows may wait that are in no file, as it did not work; 0: it works */
    struct metric *lag;

    /* Files. */
    struct chain_end published, chain;
    struct publish_line *line; /* the files on their way; another one from each reset on */
    size_t on_their_way;       /* files that the worker is to publish */
    int64_t oldest_on_way;     /* when the first row of them arrived, ms; counted until the last of them is published */
    struct history_segment *open; /* the next file; NULL until it has a row */

    /* Kafka. */
    int64_t next;         /* offset expected next */
    int64_t kept, target; /* the first offset that it had, and where it ended, at the look */

    /* The store. */
    int64_t stored;            /* every row before this offset is in it */
    bool whole;                /* stored follows next: no file is left to load */
    struct archive_list files; /* that it may miss, as of the look */
    int64_t files_end;         /* where the newest of them ends */
    size_t file_at;            /* the next to load */
    int64_t load_at_us;        /* not before: a file could not be read */
    bool marked;               /* what the store says about it is out of date */
};

struct sink_partition sink_partition_assigned(int32_t id, struct metric *lag); /* LOOKING */
/* Back to LOOKING, with what the outside knows of it; drops the open file. */
void sink_partition_reset(struct sink_partition *partition, int64_t look_at_us);
void sink_partition_clear(struct sink_partition *partition); /* drops and frees what it holds */

/* When the oldest row arrived that may be in no published file (ms); `now` if all are published. */
int64_t sink_partition_oldest(const struct sink_partition *partition, int64_t now);
