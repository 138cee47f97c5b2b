/* The folder of history files, history.dir: finds files in it and publishes new ones. All sinks share it, and only its files decide
 * which records are in history.
 *
 *     history.dir/date=2026-01-31/hour=13/00003-0000000000000104729.avro     partition 3, records from offset 104729 on
 *                                         .00003-0000000000000110006-5a..c4.tmp   being written
 *
 * The files of a partition are a chain: each starts where the one before ends.
 *
 *     [0 ............ 104728] [104729 ...... 110005] [110006 ...
 *      first file, from 0      first      last row    first = last row of the one before + 1
 *
 * A file covers the offsets from the one in its name to that of its last row, whatever lies between its rows (records that
 * are no rows, such as QUIT). A partition's first file covers from 0, even when Kafka has dropped its oldest records.
 *
 * No row is ever in two files, even if two sinks believe that they own the partition: all owners read the same log. The name follows
 * from where the file before ends; the hour from the first row at or behind that offset, and is never before the hour of
 * the file before (a broker's clock may step back). So two owners that go on from the same file publish under the same
 * path, and link(2), which replaces nothing, lets one of them through. The other drops its rows and looks again. Where
 * files end is read from them, so there is no other place to go on from. The hours of a chain never fall, so its newest
 * file is found by looking into the newest hours only.
 *
 * Blocking calls on files; any thread.
 */
#ifndef HISTORY_SINK_ARCHIVE_H
#define HISTORY_SINK_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct archive_file {
    int64_t hour;  /* since the epoch, UTC */
    int64_t first; /* offset */
};

/* Files by rising `first`. Zero-initialised is empty and valid. */
struct archive_list {
    struct archive_file *files;
    size_t count;
};
void archive_list_clear(struct archive_list *list);

static inline int64_t archive_hour_of(int64_t received_ms) { return received_ms > 0 ? received_ms / 3600000 : 0; }

/* The path of a published file, of a fresh hidden one beside it, and of their folder. The caller frees. */
char *archive_path(const char *dir, int32_t partition, struct archive_file file);
char *archive_temporary_path(const char *dir, int32_t partition, struct archive_file file);

/* Makes the folder of that hour, durably. */
int archive_create_hour(const char *dir, int64_t hour, struct error *error);

struct archive_wanted {
    int32_t partition;
    int64_t from;              /* every file that may hold this offset or later ones is found; the newest in any case */
    struct archive_list found; /* out: empty at first; the caller clears it, after a failure too */
};

/* One walk for all that is wanted, newest hours first, no further back than needed. `sweep`: temporary files of these
 * partitions on the way are removed: an owner that is still writing one, which it cannot be rightly, fails to publish it. */
int archive_scan(const char *dir, struct archive_wanted *wanted, size_t count, bool sweep, struct error *error);

/* Gives the temporary file, closed and on disk, its name, durably. `before`: the file it goes on from, NULL if there was none.
 * 0; -EEXIST: the chain has gone on without us; another negative code: the folder's trouble. In all cases the temporary
 * name is gone. */
int archive_publish(const char *dir, int32_t partition, const struct archive_file *before, struct archive_file file,
                    const char *temporary, struct error *error);

#endif
