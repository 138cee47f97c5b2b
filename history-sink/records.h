/* Records become rows, in the open file of their partition and in the store; files that are full are published. Loop's thread. */
#pragma once

#include "history-sink/sink.h"

void records_arrived(void *sink, const struct kafka_record *records, size_t count); /* kafka_consumer's on_records */

/* Gives the open file, if there is one, to the worker to publish. If that fails, the partition is restarted. */
void records_publish(struct sink *sink, struct sink_partition *partition);
/* Publishes the empty file that closes the hour of the newest one, unless rows wait or it is closed. */
void records_close_hour(struct sink *sink, struct sink_partition *partition);
/* Holds the memory of rows that wait to history.roll.memory.bytes: publishes the largest files, and if publishing does not keep up,
 * reads nothing more until it does. */
void records_bound(struct sink *sink);
void records_publish_full(struct sink *sink);
void records_publish_all(struct sink *sink);
