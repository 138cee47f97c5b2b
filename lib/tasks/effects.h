/* How far the effects of the states of each task are carried out: what a product's offsets of its state topics mean to the group.
 *
 *     ... settled, committed | acknowledged | sent, not acknowledged | not carried out ...
 *                                                                    ^ next
 *
 * The effects of each record for which task_effects_due is true are carried out; task_effects_note is called before the owner closes an
 * epoch (deliver/epochs.h), and settled positions are committed. When a task runs again, effects go on from the group's offset; after a
 * loss, from the last settled one. States with effects are the owner's first ones, by number. Some are carried out at once, by a task that
 * is owned and does not run yet.
 *
 * Functions return 0 or a negative errno code. Loop's thread.
 */
#pragma once

#include "owner/owner.h"

struct task_effects;

/* topics: of the states with effects, by number; copied. The epochs are the owner's, and longer-lived. */
struct task_effects *task_effects_new(const struct topic *const *topics, size_t states, int32_t partitions,
                                      struct epochs *epochs);
void task_effects_free(struct task_effects *effects); /* NULL is fine */

/* Of a task that does not run: up to where the group knows effects to be (KAFKA_OFFSET_NONE: it does not), and up to where state is there
 * before it runs. */
void task_effects_told(struct task_effects *effects, int32_t partition, const int64_t *told);
void task_effects_ends(struct task_effects *effects, int32_t partition, const int64_t *ends);
/* The state is read anew: what the group knows is of another time. Nothing for a state without effects. */
void task_effects_anew(struct task_effects *effects, size_t state, int32_t partition);

/* The task runs: effects go on from there, and begin returns from where, by state. */
void task_effects_begin(const struct task_effects *effects, int32_t partition, int64_t *from);
void task_effects_live(struct task_effects *effects, int32_t partition, const int64_t *from);
/* Of a state whose effects are carried out at once: they go on where the group knows them to be, or at the beginning, as is returned. When
 * the task runs they are not begun anew. */
int64_t task_effects_at_once(struct task_effects *effects, size_t state, int32_t partition);
void task_effects_stop(struct task_effects *effects,
                       int32_t partition); /* what is settled is as if the group had told it */

/* The effects of this record are to be carried out now; they then count as sent. */
bool task_effects_due(struct task_effects *effects, size_t state, int32_t partition, int64_t offset);
/* They were not carried out after all. */
void task_effects_undo(struct task_effects *effects, size_t state, int32_t partition, int64_t offset);
/* All records of a task that runs are read up to there: what is left before it has no effects, as a transaction's end. */
void task_effects_pass(struct task_effects *effects, size_t state, int32_t partition, int64_t offset);
/* Effects of records from `offset` on are under way for longer than a call: INT64_MAX: none are. They do not count as sent. */
void task_effects_hold(struct task_effects *effects, size_t state, int32_t partition, int64_t offset);
void task_effects_note(
    struct task_effects *effects); /* all that was sent so far belongs to the open epoch or older ones */

/* Something that was sent is lost, and the owner has forgotten all epochs: effects go back to what is settled. */
void task_effects_rewind(struct task_effects *effects);
/* Where the effects of a state go on; INT64_MAX: none are carried out. */
int64_t task_effects_next(const struct task_effects *effects, size_t state, int32_t partition);

/* Positions that are settled and not committed yet; again: also those that are, in case a commit was lost. They are valid until the next
 * call. */
size_t task_effects_settled(struct task_effects *effects, bool again, const struct kafka_position **positions);
