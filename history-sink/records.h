/* Records become rows, in the open file of their partition and in the store; files that are full are published. Loop's thread. */
#ifndef HISTORY_SINK_RECORDS_H
#define HISTORY_SINK_RECORDS_H

#include "history-sink/sink.h"

void records_arrived(void *sink, const struct kafka_record *records, size_t count); /* kafka_consumer's on_records */

/* Closes the open file, if there is one, and gives it to the worker to publish. false: that failed, and the partition was
 * restarted. Publishing may fail later, with the same effect. */
bool records_publish(struct sink *sink, struct sink_partition *partition);
void records_publish_full(struct sink *sink);
void records_publish_all(struct sink *sink);

#endif
