/* Where the effects of each task's states go on: up to where the group knows them to be carried out, what is carried out since
 * (tasks/carried.h), and from where a state is read once more for that. States with effects are the owner's first ones, by number.
 *
 * Functions return 0 or a negative errno code. Loop's thread.
 */
#ifndef TASKS_EFFECTS_H
#define TASKS_EFFECTS_H

#include "owner/owner.h"

struct task_effects;

/* topics: of the states with effects. The owner and the epochs are longer-lived. */
struct task_effects *task_effects_new(const struct topic *const *topics, size_t states, int32_t partitions,
                                      struct owner *owner, struct epochs *epochs);
void task_effects_free(struct task_effects *effects); /* NULL is fine */

/* As the owner says of a task that does not run: what the group knows, and up to where state is there before it runs. */
void task_effects_told(struct task_effects *effects, int32_t partition, const int64_t *told);
void task_effects_ends(struct task_effects *effects, int32_t partition, const int64_t *ends);
/* The state is read anew: what the group knows is of another time. Nothing for a state without effects. */
void task_effects_forget(struct task_effects *effects, size_t state, int32_t partition);

int task_effects_live(struct task_effects *effects, int32_t partition, struct error *error); /* the task runs */
void task_effects_stop(struct task_effects *effects,
                       int32_t partition); /* from here on it is to go on, when it runs again */

/* The effects of this record are to be carried out now; they then count as sent. */
bool task_effects_due(struct task_effects *effects, size_t state, int32_t partition, int64_t offset);
void task_effects_hold(struct task_effects *effects, size_t state, int32_t partition,
                       int64_t offset); /* carried_hold */
/* Records were passed by: they are read once more. lost: so are those whose effects are not acknowledged. */
int task_effects_again(struct task_effects *effects, bool lost, struct error *error);

void task_effects_note(struct task_effects *effects);               /* all is sent; before the owner closes an epoch */
void task_effects_commit(struct task_effects *effects, bool again); /* again: also what was committed already */

#endif
