/* Takes the rows of forgotten users out of a partition's files: each file that holds such rows is replaced by one of the same name that
 * lacks them, and covers the same offsets. A file whose rows all go stays, empty, as the chain goes through it.
 *
 *     small files      first, by rising offset         a merged file that appears meanwhile is found below
 *     merged files     then
 *
 * Small files that are merged are done as well: readers still have them open. So are the hidden ones of killed processes, which are removed. It may be killed anywhere: files are replaced whole, and those
 * that are done hold nothing more that goes. The caller sees to it that no other process replaces files of this partition, and that
 * merging runs on the same thread.
 *
 * Blocking calls; any thread, as the storage allows.
 */
#pragma once

#include <stdatomic.h>

#include "base/error.h"
#include "history-sink/archive.h"

struct wipe_user {
    int64_t user;   /* first: they are sorted by it, and there once */
    int64_t before; /* rows that arrived before this time go, ms */
};

struct wipe_options {
    struct storage *storage;
    const atomic_bool *stop;       /* becomes true: it ends soon, with -ECANCELED, and replaces nothing more */
    const struct wipe_user *users; /* [count] */
    size_t count;
    int64_t until_us; /* clock_monotonic_us: it ends with the first file after that */
};

/* How far a pass over a partition's files is. Zero-initialised: at its beginning. */
struct wipe_position {
    bool merged;  /* small files are done */
    int64_t from; /* small ones that begin before it, or merged ones that end there or before, are done */
    bool unclean; /* a file was gone, or could not be read or replaced: another pass must follow */
};

struct wipe_done {
    int64_t files, rows; /* replaced, and gone from them */
    int64_t failures;    /* files that could not be done */
};

/* Goes on with a pass. 1: there is more to do; 0: that was its end; negative: nothing could be listed, or it was stopped. A file that cannot be
 * done does not keep the others: it is counted, and `error` says why. Adds to done what was done, also on failure. */
int wipe_files(const struct wipe_options *options, int32_t partition, struct wipe_position *position,
               struct wipe_done *done, struct error *error);
