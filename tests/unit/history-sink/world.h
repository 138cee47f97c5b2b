/* What the tests of history files share: rows, and files of them. */
#pragma once

#include "history-sink/segment.h"

enum { HISTORY_HOUR_MS = 3600000 };

/* A storage of that folder. The caller closes it. */
struct storage *history_storage(const char *folder);
struct chain_end history_behind(struct archive_file file, int64_t end);

/* A row of that partition and offset, arrived then; its other fields follow from the offset. */
struct history_row history_row_at(int32_t partition, int64_t offset, int64_t received_ms);

/* How many entries, hidden ones too, there are below a folder whose names end so. */
size_t history_count_files(const char *folder, const char *ending);

/* Writes and publishes rows up to that offset, an hour's, behind `before` (NULL: there is none). Asserts that it works. */
struct segment_published history_publish(const char *folder, int32_t partition, const struct chain_end *before,
                                         int64_t last, int64_t hour);
