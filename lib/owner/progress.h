/* How far the effects of states are carried out, by state and partition: what a product's offsets of its state topics mean to the group.
 *
 *     ... settled, committed | acknowledged | sent, not acknowledged | not carried out ...
 *                                                                    ^ next
 *
 * The product carries out the effects of each record for which progress_due is true. It calls progress_note before the owner closes an
 * epoch (deliver/epochs.h), and commits the positions of progress_settled once a second. After a take-over effects go on from the
 * group's offset; after a loss, from the last settled one.
 *
 * Pure. One thread.
 */
#ifndef OWNER_PROGRESS_H
#define OWNER_PROGRESS_H

#include "deliver/epochs.h"
#include "kafka/consumer.h"

struct progress;

/* topics: of the states, by number; copied. The epochs are the owner's, and longer-lived. */
struct progress *progress_new(const struct topic *const *topics, size_t states, int32_t partitions,
                              struct epochs *epochs);
void progress_free(struct progress *progress); /* NULL is fine */

/* The partition is live from now on: effects of records before from[state] are carried out. */
void progress_live(struct progress *progress, int32_t partition, const int64_t *from);
void progress_stop(struct progress *progress, int32_t partition); /* no longer live */

/* Whether the effects of the record at this offset are to be carried out now; they then count as sent. */
bool progress_due(struct progress *progress, size_t state, int32_t partition, int64_t offset);

/* Effects of records from `offset` on are under way for longer than a call: INT64_MAX: none are. They do not count as sent. */
void progress_hold(struct progress *progress, size_t state, int32_t partition, int64_t offset);

void progress_note(struct progress *progress); /* everything sent so far belongs to the open epoch or older ones */

/* Positions that are settled and not committed yet; again: also those that are, in case a commit was lost. positions: room for one a
 * state and partition. */
size_t progress_settled(struct progress *progress, bool again, struct kafka_position *positions);

/* Something that was sent is lost. Effects go back to what is settled: returns the offset to read the state again from, -1: nothing
 * was sent since. progress_forget: the owner has forgotten all epochs. */
int64_t progress_rewind(struct progress *progress, size_t state, int32_t partition);
void progress_forget(struct progress *progress);

#endif
