/* Records on their way into the search index, of wide comments, posts, their texts and the log: copied on the loop, written by a worker thread.
 * One thread at a time. */
#pragma once

#include "kafka/consumer.h"
#include "moderation/index.h"

struct batch;

struct batch *batch_new(void);
void batch_free(struct batch *batch); /* NULL is fine */

/* Whether the record is one of its topic, or the tombstone of one: 0; 1: it says nothing that the index has; or a negative code with the
 * reason. */
int batch_check(struct codec *codec, const struct kafka_record *record, struct error *error);

/* Copies the record. place: which one its partition is among all that are read (index_reached). applies false: only its offset counts. */
void batch_add(struct batch *batch, const struct kafka_record *record, int32_t place, bool applies);
size_t batch_count(const struct batch *batch);
size_t batch_bytes(const struct batch *batch);
void batch_clear(struct batch *batch);

/* Writes all records and their offsets in one transaction; may be tried again when it fails, as index_commit does. */
int batch_write(const struct batch *batch, struct codec *codec, struct index *index, struct error *error);
