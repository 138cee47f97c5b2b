/* Reads the items of the batches that feed processes send each other: in `timelines`, `timeline-requests` and `hot-posts`. An item that
 * cannot be read is passed by, and the others of its batch count: the caller sends the record to the dead letters, too. One thread. */
#pragma once

#include "deliver/envelope.h"
#include "event/codec.h"
#include "kafka/consumer.h"

struct timeline_reader;

/* tracer: items that are not of the record's trace are handed over outside of its scope. NULL: nothing is traced. */
struct timeline_reader *timeline_reader_new(struct tracer *tracer);
void timeline_reader_free(struct timeline_reader *reader); /* NULL is fine */

/* Calls `each` for the items of a record, until it returns another code than 0: timeline_reader_each returns that. *unread: NULL, or why some of
 * the record could not be read, valid as long as `error`. */
int timeline_reader_each(struct timeline_reader *reader, const struct kafka_record *record,
                         int (*each)(void *context, const struct kafka_record *record,
                                     const struct deliver_envelope *envelope, const struct timeline_item *item,
                                     struct error *error),
                         void *context, const char **unread, struct error *error);
