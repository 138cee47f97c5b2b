/* Decides what a FriendCommand changes about a pair; a friendship needs the consent of both (docs/EXACTNESS.md, rule 7).
 *
 * The lower user's half holds everything; the higher user's half is its mirror (REQUESTED and INVITED change places, and so do the two
 * block flags, and the two about rounding). A half that is NONE without block flags is a tombstone. Pure; any thread.
 *
 * A user may choose that the other sees the user's place only rounded as soon as one of them has asked the other, so that there is no
 * moment in which a new friend sees it exactly. The choice ends with the friendship, or with what was asked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/records.h"
#include "router/rounding.h"

static inline int64_t friendship_lower(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t friendship_higher(int64_t a, int64_t b) { return a < b ? b : a; }

/* Both are users and not the same one. */
static inline bool friendship_command_valid(const struct friend_command *command) {
    return command->from >= 0 && command->to >= 0 && command->from != command->to;
}

/* The other user's half of the same pair. */
struct friendship friendship_mirror(const struct friendship *half);

/* The half holds nothing: its record is a tombstone. */
static inline bool friendship_empty(const struct friendship *half) {
    return half->state == FRIENDSHIP_NONE && !half->blocked_by_me && !half->blocked_by_them;
}

/* The two are on each other's friend lists. */
static inline bool friendship_made(const struct friendship *half) {
    return half->state == FRIENDSHIP_FRIENDS && !half->blocked_by_me && !half->blocked_by_them;
}

/* As bits of rounding.h, from the half's own user. */
static inline uint8_t friendship_rounding(const struct friendship *half) {
    return (uint8_t)((half->rounded_by_me ? ROUNDING_MINE : 0) | (half->rounded_by_them ? ROUNDING_THEIRS : 0));
}

bool friendship_equal(const struct friendship *a, const struct friendship *b);

/* Applies a valid command to the lower user's half. full: the lower user's friend list has reached its cap and takes no more friends.
 * True: *next is the changed half; false: nothing changed, and *next is the same half. */
bool friendship_decide(const struct friendship *lower, const struct friend_command *command, bool full,
                       struct friendship *next);

/* A half as its own user may see it. It never discloses that the user is blocked, nor requests by a user whom this user blocks. */
enum friendship_view {
    FRIENDSHIP_VIEW_NONE,
    FRIENDSHIP_VIEW_REQUESTED,
    FRIENDSHIP_VIEW_INVITED,
    FRIENDSHIP_VIEW_FRIENDS,
    FRIENDSHIP_VIEW_BLOCKED,
    FRIENDSHIP_VIEWS
};
enum friendship_view friendship_view(const struct friendship *half);
/* The `since` that goes with a view. 0 for a request of one's own: the half may hold the time of a block instead, which would disclose
 * the block. */
int64_t friendship_view_since(enum friendship_view view, int64_t since);
/* A user to whom the half shows so may choose to be seen rounded. */
static inline bool friendship_view_rounds(enum friendship_view view) {
    return view == FRIENDSHIP_VIEW_REQUESTED || view == FRIENDSHIP_VIEW_INVITED || view == FRIENDSHIP_VIEW_FRIENDS;
}
const char *friendship_view_name(enum friendship_view view); /* "none", "requested", ... */
