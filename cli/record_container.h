/* Records of a topic as an Avro object container, for tools that read Avro. One thread.
 *
 *     record starling.replay.Record { int partition; long offset; timestamp-millis timestamp; union { null, bytes } key;
 *                                     union { null, bytes, Location, ... } value; }
 *
 * The branches of `value` are all versions of those records that the first values hold, each in a namespace of its schema id
 * (starling.schema1.Location). Another value, or a damaged one, is its bytes, with the header of Confluent's wire format.
 */
#pragma once

#include <stdio.h>

#include "base/error.h"
#include "kafka/consumer.h"

struct record_container;

/* Writes to the file, which stays the caller's. */
struct record_container *record_container_new(FILE *file);
void record_container_free(struct record_container *container); /* NULL is fine */

/* Copies the record. A failure to write is kept for record_container_finish. */
void record_container_put(struct record_container *container, const struct kafka_record *record);

/* Writes what is not written yet. -EIO. */
int record_container_finish(struct record_container *container, struct error *error);
