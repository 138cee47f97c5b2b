/* Users who opt out are taken off the screens of all others at once, before the routers' Left says so. Every edge reads of
 * everybody in the system who does, and only looking into each list says whether one of its sessions shows them. So they are
 * gathered, and looked for together, in slices between which the loop turns:
 *
 *     opted out ----> waiting ----> users     a pass:  view -> view -> view -> view -> NULL
 *                            (it begins)                        ^ next
 *
 * A user who has opted out is shown to nobody from then on (items.c), so a list needs one look, and a view that was opened after the
 * pass began needs none. A user who has opted in again is looked for no more: what a list holds may be of the new JOIN by now, and
 * what is older the routers take off with the Left of the opt-out, or correct with the JOIN's Moves, if it comes before. That is
 * what they do when an edge reads both records at once, too.
 *
 * One thread.
 */
#ifndef FANOUT_NEARBY_OPTOUTS_H
#define FANOUT_NEARBY_OPTOUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "fanout/nearby/view.h"

enum { OPTOUTS_EVERY_MS = 200 };

struct optouts;

struct optouts *optouts_new(struct views *views); /* borrowed */
void optouts_free(struct optouts *optouts);       /* NULL is fine */

void optouts_add(struct optouts *optouts, int64_t user);
void optouts_remove(struct optouts *optouts, int64_t user);            /* is in again */
void optouts_forget(struct optouts *optouts, const struct view *view); /* is about to be closed */
/* True: a pass begins; there is one to begin, and the last one began OPTOUTS_EVERY_MS before `now_ms` at the latest. */
bool optouts_begin(struct optouts *optouts, int64_t now_ms);
bool optouts_slice(struct optouts *optouts); /* false: the pass is at its end */
/* The next view that the pass looks at; NULL: no pass is under way. */
const struct view *optouts_next(const struct optouts *optouts);

#endif
