/* Decides what a FriendCommand changes about a pair; a friendship needs the consent of both (docs/EXACTNESS.md, rule 7).
 *
 * The half of the pair's lower user is the whole truth: the higher user's half is its mirror (REQUESTED and INVITED change
 * places, and so do the two block flags). A half that is NONE without flags is no record at all. Pure; any thread.
 */
#ifndef ROUTER_FRIENDSHIP_H
#define ROUTER_FRIENDSHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "event/records.h"

static inline int64_t friendship_lower(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t friendship_higher(int64_t a, int64_t b) { return a < b ? b : a; }

/* Both are users and not the same one. */
static inline bool friendship_command_valid(const struct friend_command *command) {
    return command->from >= 0 && command->to >= 0 && command->from != command->to;
}

/* The other user's half of the same pair. */
struct friendship friendship_mirror(const struct friendship *half);

/* Nothing needs to be remembered: the record is a tombstone. */
static inline bool friendship_empty(const struct friendship *half) {
    return half->state == FRIENDSHIP_NONE && !half->blocked_by_me && !half->blocked_by_them;
}

/* On each other's friend lists. */
static inline bool friendship_made(const struct friendship *half) {
    return half->state == FRIENDSHIP_FRIENDS && !half->blocked_by_me && !half->blocked_by_them;
}

bool friendship_equal(const struct friendship *a, const struct friendship *b);

/* What a valid command makes of the lower user's half. full: the lower user's friend list is at its cap, so that it takes
 * nobody more. True: changed, *next is the new half; false: *next is the same as before. */
bool friendship_decide(const struct friendship *lower, const struct friend_command *command, bool full,
                       struct friendship *next);

/* A half as its own user may know it: being blocked is never disclosed, nor what somebody asks whom the user blocks. */
enum friendship_view {
    FRIENDSHIP_VIEW_NONE,
    FRIENDSHIP_VIEW_REQUESTED,
    FRIENDSHIP_VIEW_INVITED,
    FRIENDSHIP_VIEW_FRIENDS,
    FRIENDSHIP_VIEW_BLOCKED,
    FRIENDSHIP_VIEWS
};
enum friendship_view friendship_view(const struct friendship *half);
/* The part of a half's `since` that goes with its view. 0 for a request of one's own: the half may keep the time of a block
 * instead, which would show that there is one. */
int64_t friendship_view_since(enum friendship_view view, int64_t since);
const char *friendship_view_name(enum friendship_view view); /* "none", "requested", ... */

#endif
