/* Files of one partition on their way to being published, by a worker, one behind the other. A file may be written on top of one
 * that is not published yet, so if one fails, all behind it fail as well: another sink may have published a file of the same name
 * that ends elsewhere, and files written on top of ours would not fit behind it.
 *
 *     line: [ file from 10 ][ file from 31 ][ file from 60 ]      fails: another sink's file from 10 reaches to 50
 *                  |                |
 *                  +--> -EEXIST     +--> -ECANCELED, and so on
 *
 * Loop's thread.
 */
#pragma once

#include "base/worker.h"
#include "history-sink/segment.h"

struct publish_line;

struct publish_line *publish_line_new(void);
/* Files on their way are published all the same, and told. NULL is fine. */
void publish_line_free(struct publish_line *line);

/* How it went. code: 0, or negative with the reason; `file` is set if 0. rows: what was in it. `line`: to be compared only, it may be
 * freed. */
typedef void publish_told(void *context, const struct publish_line *line, int32_t partition, int code, int64_t rows,
                          const struct segment_published *file, const char *reason);

/* Publishes a segment, and takes it over. Worker and storage, which is the worker's, are the same for all of a line. */
void publish_line_add(struct publish_line *line, struct worker *worker, struct storage *storage,
                      struct history_segment *segment, publish_told *told, void *context);
