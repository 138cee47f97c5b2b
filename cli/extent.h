/* When a topic begins and ends, by Kafka's timestamps. Blocking, with a loop of its own. */
#pragma once

#include "cli/reader.h"

struct extent {
    bool empty;                /* the topic has no record, and the times below mean nothing */
    int64_t first_ms, last_ms; /* of the oldest of its partitions' first records, and of the newest record */
};

/* Of the one topic that the options name, of all its partitions or of one. It asks the brokers for offsets by time, some eighty times,
 * and reads no record. A transaction's marker, which nobody sees, counts as a record; it is milliseconds younger than the last one. -EHOSTDOWN, ... */
int extent_find(const struct reader_options *options, struct extent *extent, struct error *error);
