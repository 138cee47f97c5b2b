/* The owned partitions, and the work that is due for each: looking, reading, publishing, committing, readiness. Loop's thread. */
#pragma once

#include "history-sink/look.h"
#include "history-sink/sink.h"

/* Callbacks for the consumer, and for the look. */
void partitions_assigned(void *sink, const struct kafka_position *owned, size_t count);
void partitions_revoked(void *sink, bool lost);
void partitions_offset_lost(void *sink, const struct topic *topic, int32_t id);
void partitions_seen(void *sink, const struct look_seen *seen);

void partitions_tick(struct sink *sink);    /* whatever is due */
void partitions_publish(struct sink *sink); /* all open files, by the worker */
void partitions_clear(struct sink *sink);   /* drops what is open */
