/* Several sorted files of one partition as one sorted stream of rows. Blocking calls; any thread, as the storages allow. */
#pragma once

#include <stdatomic.h>

#include "history-sink/segment.h"

struct merge_source { /* a file, and where it is */
    struct storage *storage;
    struct archive_file file;
    bool ours; /* nobody else removes it: if it is gone, that is -EIO and not -ENOENT */
};

/* Writes the rows of all sources, at most MERGE_FILES, into the writer, in their order. Negative: a file cannot be read, or is not
 * sorted (-EBADMSG), or the writer fails, or `stop` became true (-ECANCELED). */
int merge_rows(const struct merge_source *sources, size_t count, int32_t partition, const atomic_bool *stop,
               struct segment_writer *writer, int64_t *rows, struct error *error);

/* Reads a file of version 0.1, whose rows are in order of offsets, whole, and writes them sorted. *end: where the file ends. */
int merge_sort_rows(const struct merge_source *source, int32_t partition, struct segment_writer *writer, int64_t *end,
                    struct error *error);
