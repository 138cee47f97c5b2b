/* Takes users who opt out off the screens of all others at once, before the routers' Left arrives (docs/EXACTNESS.md, rule 6), and has
 * those told again whose details appear or disappear. Every
 * edge reads every opt-out in the system, and must look into each list to find out whether a session shows the user. So opt-outs
 * are gathered, and looked for together, in slices between which the loop turns:
 *
 *     opted out ----> waiting ----> users     a pass:  view -> view -> view -> view -> NULL
 *                            (it begins)                        ^ next
 *
 * items.c shows a user who has opted out on no list any more, so each list needs one look, and a view that was opened after the pass
 * began needs none. Users who have opted in again are taken off no more: an entry may be from the new JOIN already. An older
 * entry goes with the Left of the opt-out, or is corrected by the JOIN's Moves if that comes first, as when an edge reads
 * both records at once. Until then it is told again, as what it says may have changed before or meanwhile.
 *
 * One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fanout/nearby/view.h"

enum { OPTOUTS_EVERY_MS = 200 };

struct optouts;

struct optouts *optouts_new(struct views *views); /* borrowed */
void optouts_free(struct optouts *optouts);       /* NULL is fine */

void optouts_add(struct optouts *optouts, int64_t user);
void optouts_return(struct optouts *optouts, int64_t user);    /* shares, maybe again: stays on lists */
void optouts_tell_anew(struct optouts *optouts, int64_t user); /* shares, and what the entries say has changed */
void optouts_forget(struct optouts *optouts, const struct view *view); /* is about to be closed */
/* True: a pass begins; there is one to begin, and the last one began OPTOUTS_EVERY_MS before `now_ms` at the latest. */
bool optouts_begin(struct optouts *optouts, int64_t now_ms);
bool optouts_slice(struct optouts *optouts); /* false: the pass is at its end */
/* The next view that the pass looks at; NULL: no pass is under way. */
const struct view *optouts_next(const struct optouts *optouts);
