/* Small files of closed hours become one file an hour and partition, and go some time later (history-sink/archive.h). The rows are merged
 * from all files at once, a block of each in memory.
 *
 *     1. small files of H      published, H is not closed
 *     2. small files of H      a later file, or an empty one, closes H: no sink adds to it any more
 *     3. small + merged file   readers skip the small ones
 *     4. merged file           after keep_ms
 *
 * It may end anywhere, and be begun by several processes at once: what is published has the same name and the same rows, and what is
 * removed has been merged. Files must not be replaced meanwhile: whoever rewrites files does it on the same thread.
 *
 * Blocking calls; any thread, as the storages allow.
 */
#pragma once

#include <stdatomic.h>

#include "base/error.h"
#include "history-sink/archive.h"

enum { MERGE_FILES = 64 }; /* that are open at once; of more, the first ones are merged into a file of the scratch */

struct merge_options {
    struct storage *storage;
    struct storage *scratch; /* a local directory for files in between, which nobody else uses */
    const atomic_bool *stop; /* becomes true: it ends soon, with -ECANCELED */
    int64_t now_ms;          /* by the storage's clock, more or less */
    int64_t keep_ms;         /* merged small files are removed when the merged file is this old */
};

struct merge_done {
    int64_t merged_files, merged_rows, merged_bytes; /* published */
    int64_t removed_files;                           /* small ones */
};

/* Does what is due for these partitions, oldest hours first; adds to done what was done, also on failure. A partition whose files
 * fail does not keep the others from being merged: the first failure is returned. */
int merge_round(const struct merge_options *options, const int32_t *partitions, size_t count, struct merge_done *done,
                struct error *error);

/* Removes what a process that was killed has left in the scratch. */
int merge_clean(struct storage *scratch, struct error *error);
