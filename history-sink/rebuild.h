/* Files read back: the newest one of a partition, to see where its chain of files ends, and those that the store misses. Records
 * come in already meanwhile, so that Kafka never has to wait. In slices on the loop, as avro-c has one thread and the store one
 * user; finding ends goes before loading, as Kafka waits for it. */
#ifndef HISTORY_SINK_REBUILD_H
#define HISTORY_SINK_REBUILD_H

#include "history-sink/sink.h"

/* The look has found these files of a LOOKING partition, whose `kept` and `target` are set. */
void rebuild_begin(struct sink *sink, struct sink_partition *partition, const struct archive_wanted *wanted);

void rebuild_more(void *sink); /* one slice of work; the loop calls it as long as there is some */
size_t rebuild_files_left(const struct sink *sink);

#endif
