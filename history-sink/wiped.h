/* The users who were forgotten: a copy of the topic `erasures` in memory, whole, in every sink. A record means that the rows of its user that
 * arrived at Kafka before it are to be nowhere. Rows that arrive later are kept: somebody else may have the number.
 *
 *     offset in erasures    0 .............. files ............ store ........... learnt
 *                             nothing is left      left the store    still to do
 *
 * Loop's thread.
 */
#pragma once

#include "copies/copies.h"
#include "history-sink/rows.h"
#include "history-sink/wipe.h"

struct wiped;

struct wiped_record {
    int64_t offset; /* in its partition of erasures; first: they are sorted by it */
    struct wipe_user who;
    int64_t rows; /* that left the store because of it */
};

struct wiped *wiped_new(int partitions);
void wiped_free(struct wiped *wiped); /* NULL is fine */

/* 1: it was not known; 0: it was; negative: it is no erasure. */
int wiped_learn(struct wiped *wiped, const struct kafka_record *record, struct wipe_user *who, struct error *error);
/* Everything is read again from the beginning; what was learnt stays known. */
void wiped_anew(struct wiped *wiped);

/* A row that must not be anywhere. */
bool wiped_has(const struct wiped *wiped, int64_t user, int64_t received);

int64_t wiped_learnt(const struct wiped *wiped, int32_t partition); /* the offset behind what is known of it */
/* The first record at or behind an offset; NULL: all lie before it. Valid until the next call that changes something. */
struct wiped_record *wiped_next(struct wiped *wiped, int32_t partition, int64_t offset);
size_t wiped_count(const struct wiped *wiped, int32_t partition);
/* Lets go of the records before an offset; their users are known all the same. */
void wiped_drop(struct wiped *wiped, int32_t partition, int64_t before);
/* The users of all records from an offset on, as wipe_files wants them. The caller frees. */
struct wipe_user *wiped_users(const struct wiped *wiped, int32_t partition, int64_t from, size_t *count);
