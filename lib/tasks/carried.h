/* How far the effects of states are carried out, by state and partition: what a product's offsets of its state topics mean to the group.
 *
 *     ... settled, committed | acknowledged | sent, not acknowledged | not carried out ...
 *                                                                    ^ next
 *
 * The product carries out the effects of each record for which carried_due is true. It calls carried_note before the owner closes an
 * epoch (deliver/epochs.h), and commits the positions of carried_settled once a second. After a take-over effects go on from the
 * group's offset; after a loss, from the last settled one.
 *
 * Pure. One thread.
 */
#ifndef TASKS_CARRIED_H
#define TASKS_CARRIED_H

#include "deliver/epochs.h"
#include "kafka/consumer.h"

struct carried;

/* topics: of the states, by number; copied. The epochs are the owner's, and longer-lived. */
struct carried *carried_new(const struct topic *const *topics, size_t states, int32_t partitions,
                            struct epochs *epochs);
void carried_free(struct carried *carried); /* NULL is fine */

/* The partition is live from now on: effects of records before from[state] are carried out. */
void carried_live(struct carried *carried, int32_t partition, const int64_t *from);
void carried_stop(struct carried *carried, int32_t partition); /* no longer live */

/* Whether the effects of the record at this offset are to be carried out now; they then count as sent. */
bool carried_due(struct carried *carried, size_t state, int32_t partition, int64_t offset);

/* Effects of records from `offset` on are under way for longer than a call: INT64_MAX: none are. They do not count as sent. */
void carried_hold(struct carried *carried, size_t state, int32_t partition, int64_t offset);

void carried_note(struct carried *carried); /* everything sent so far belongs to the open epoch or older ones */

/* Positions that are settled and not committed yet; again: also those that are, in case a commit was lost. positions: room for one a
 * state and partition. */
size_t carried_settled(struct carried *carried, bool again, struct kafka_position *positions);

/* Of a partition that is live, or was: effects before are acknowledged; effects before are sent. */
int64_t carried_settled_at(const struct carried *carried, size_t state, int32_t partition);
int64_t carried_next(const struct carried *carried, size_t state, int32_t partition);

/* Something that was sent is lost. Effects go back to what is settled: returns the offset to read the state again from, -1: nothing
 * was sent since. carried_forget: the owner has forgotten all epochs. */
int64_t carried_rewind(struct carried *carried, size_t state, int32_t partition);
void carried_forget(struct carried *carried);

#endif
