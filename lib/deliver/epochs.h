/* Epochs say which input may be committed: input whose effects are all acknowledged.
 *
 *     ... settled | settled | 3 unacknowledged | 0 unacknowledged | open
 *                             ^ epochs_settled()                    ^ epochs_open()
 *
 * Each thing that is sent belongs to the epoch that is open at that moment. From time to time the owner closes the open epoch and notes
 * how far it has read. An epoch is settled when it is closed and everything in it, and in all epochs before it, is acknowledged. The
 * owner then commits the offsets that it noted when it closed the epoch. Several senders may share the epochs of one owner.
 *
 * Pure. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { EPOCHS_MAX = 64 }; /* unsettled epochs, the open one included: a ring of this size holds an owner's notes */

struct epochs;
struct epochs *epochs_new(void);
void epochs_free(struct epochs *epochs); /* NULL is fine */

uint64_t epochs_open(const struct epochs *epochs);    /* the open one; from 1 on */
uint64_t epochs_settled(const struct epochs *epochs); /* all epochs smaller than this one are settled */

/* One more thing of the open epoch is to be acknowledged; returns that epoch. */
uint64_t epochs_expect(struct epochs *epochs);

/* One thing of that epoch is acknowledged. Those of forgotten epochs are ignored. A thing that is lost is never acknowledged: the
 * owner must call epochs_forget and handle its input again. */
void epochs_acknowledge(struct epochs *epochs, uint64_t epoch);

/* Closes the open epoch and opens the next one. False: too many are unsettled, it stays open. */
bool epochs_close(struct epochs *epochs);

/* Forgets everything that was sent: it counts as settled. A new epoch is open. */
void epochs_forget(struct epochs *epochs);
