/* The history files: finds them and publishes new ones. All sinks share their storage, and only the files decide which records are in
 * history.
 *
 *     date=2026-01-31/hour=13/00003-0000000000000104729.avro      small: partition 3, records from offset 104729 on
 *                             00003-0000000000000110006.avro      ... and from 110006 on
 *     hours/date=2026-01-31/hour=13/00003-0000000000000104729-0000000000000117350.avro
 *                                                                 merged: offsets 104729 to 117349, the whole hour
 *
 * The files of a partition are a chain: each starts where the one before ends.
 *
 *     small    [0 ............ 104728] [104729 ...... 110005] [110006 ... 117349] [117350 ...
 *               first file, from 0      first          end - 1
 *     merged   [0 ............ 104728] [104729 .......................... 117349]
 *               hour 12                 hour 13                                    hour 14 is not finished
 *
 * A file covers the offsets from the one in its name to its end, whatever lies between its rows (records that are no rows, such as
 * QUIT). A partition's first file covers from 0, even when Kafka has dropped its oldest records.
 *
 * No row is ever in two small files, even if two sinks believe that they own the partition: all owners read the same log. The name
 * follows from where the file before ends; the hour from the first row at or behind that offset, and is never before the hour of
 * the file before (a broker's clock may step back). So two owners that go on from the same file publish under the same
 * path, and storage_publish, which replaces nothing, lets one of them through. The other drops its rows and looks again. The ends of
 * files are read from them, so there is no other place to go on from. The hours of a chain never fall, so its newest
 * file is found by looking into the newest hours only.
 *
 * An hour of a partition is closed when a file of it lies in a later hour. If none comes, its owner closes it by an empty file: it
 * has the name that the next file of this hour would have had, so that there cannot be one. The next file is of a later hour. As the
 * files of a closed hour are always the same, all who merge them give the merged file the same name, too.
 *
 * A small file whose first offset a merged file covers counts no more: it is removed after a while. A closed hour's empty file goes
 * with the others. A reader who lists small files first and merged ones after that misses none.
 *
 * Blocking calls; any thread, as the storage allows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "storage/storage.h"

struct archive_file {
    int64_t hour;       /* since the epoch, UTC */
    int64_t first;      /* offset */
    int64_t end;        /* of a merged file: the offset behind it. 0: a small file, whose end is inside it */
    int64_t changed_ms; /* when it was published, by the storage's clock; 0 where nobody has looked */
};

/* Files by rising `first`, those with the same one by hour. Zero-initialised is empty and valid. */
struct archive_list {
    struct archive_file *files;
    size_t count;
};
void archive_list_add(struct archive_list *list, struct archive_file file); /* at the end */
void archive_list_clear(struct archive_list *list);

/* The end of a chain of files. Zero-initialised: there is no file. */
struct chain_end {
    bool some;
    struct archive_file file; /* the last one, if there are some */
    int64_t end;              /* the next file's first offset */
};

/* No more files belong to the hour of its last one: that is merged, or empty. */
static inline bool chain_closed(const struct chain_end *chain) {
    return chain->some && (chain->file.end || chain->file.first == chain->end);
}

static inline int64_t archive_hour_of(int64_t received_ms) { return received_ms > 0 ? received_ms / 3600000 : 0; }

enum archive_tree { ARCHIVE_SMALL, ARCHIVE_MERGED };

/* The path of a file, or of the folder of an hour. The caller frees. */
char *archive_path(int32_t partition, struct archive_file file);
char *archive_hour_path(enum archive_tree tree, int64_t hour);

/* Reads a name of that tree; the hour is not set. false: none of ours. */
bool archive_parse(enum archive_tree tree, const char *name, int32_t *partition, struct archive_file *file);
int64_t archive_parse_date(const char *name); /* a folder's, in hours since the epoch; -1: none of ours */
int64_t archive_parse_hour(const char *name);
char *archive_date_path(enum archive_tree tree, const char *date); /* "": where the dates are */

struct archive_wanted {
    int32_t partition;
    int64_t from;              /* every file that may hold this offset or later ones is found; the newest in any case */
    struct archive_list found; /* out: empty at first; the caller clears it, after a failure too */
};

/* Finds the chains of all that is wanted, newest hours first, no further back than needed: merged files, and small ones that none of
 * these covers. `sweep`: hidden files of these partitions on the way are removed: an owner that is still writing one, which it
 * cannot be rightly, fails to publish it. */
int archive_scan(struct storage *storage, struct archive_wanted *wanted, size_t count, bool sweep, struct error *error);
/* Finds all small files of what is wanted, covered or not; `from` does not matter. */
int archive_scan_small(struct storage *storage, struct archive_wanted *wanted, size_t count, struct error *error);
/* Finds all files of what is wanted, of both trees, in hours before that one; `from` does not matter. `sweep` as above. */
int archive_scan_old(struct storage *storage, int64_t before, struct archive_wanted *wanted, size_t count, bool sweep,
                     struct error *error);
/* Finds the merged files of what is wanted in that hour. */
int archive_scan_merged(struct storage *storage, int64_t hour, struct archive_wanted *wanted, size_t count,
                        struct error *error);

/* Does a merged file stand for this small one? The empty file at its end belongs to it. */
static inline bool archive_covers(const struct archive_file *merged, const struct archive_file *small) {
    return small->first >= merged->first &&
           (small->first < merged->end || (small->first == merged->end && small->hour == merged->hour));
}

/* Publishes a small file, which goes on from `before`; the writer is used up. -EEXIST: the chain has gone on without us; another
 * negative code: the storage's trouble. */
int archive_publish(struct storage *storage, int32_t partition, const struct chain_end *before,
                    struct storage_writer *writer, struct error *error);
