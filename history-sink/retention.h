/* Files that are older than history.retention.days are removed, whole hours of them, oldest first. Blocking calls; any thread, as the
 * storage allows. */
#pragma once

#include "history-sink/archive.h"

struct retention_partition {
    int32_t partition;
    int64_t
        newest; /* the hour of its chain's newest file: of this one and later ones nothing goes, as they decide where to go on */
};

/* Removes the files of these partitions in hours before that one; adds their number to *removed, also on failure. A reader of
 * such a file finds it gone. */
int retention_remove(struct storage *storage, int64_t before, const struct retention_partition *partitions,
                     size_t count, int64_t *removed, struct error *error);
