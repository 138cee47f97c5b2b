#include "router/friendship.h"

struct friendship friendship_mirror(const struct friendship *half) {
    enum friendship_state state = half->state;
    if (state == FRIENDSHIP_REQUESTED)
        state = FRIENDSHIP_INVITED;
    else if (state == FRIENDSHIP_INVITED)
        state = FRIENDSHIP_REQUESTED;
    return (struct friendship){
        .state = state,
        .blocked_by_me = half->blocked_by_them,
        .blocked_by_them = half->blocked_by_me,
        .since = half->since,
        .rounded_by_me = half->rounded_by_them,
        .rounded_by_them = half->rounded_by_me,
    };
}

bool friendship_equal(const struct friendship *a, const struct friendship *b) {
    return a->state == b->state && a->blocked_by_me == b->blocked_by_me && a->blocked_by_them == b->blocked_by_them &&
           a->since == b->since && friendship_rounding(a) == friendship_rounding(b);
}

static void enter(struct friendship *half, enum friendship_state state, int64_t since) {
    half->state = state;
    half->since = since;
    if (state == FRIENDSHIP_NONE) half->rounded_by_me = half->rounded_by_them = false;
}

/* While one of the two blocks the other, `since` is the block's time, and stays it whatever they do: a change would tell the
 * blocker what the blocked one asks. */
static void enter_quietly(struct friendship *half, enum friendship_state state, int64_t since) {
    bool blocked = half->blocked_by_me || half->blocked_by_them;
    enter(half, state, blocked ? half->since : since);
}

/* A block must not show: a blocked user's request is stored as any other. The blocker does not see it, but may unblock later. */
static void request(struct friendship *mine, const struct friend_command *command, bool full) {
    if (mine->blocked_by_me) return;
    if (mine->state == FRIENDSHIP_NONE)
        enter_quietly(mine, FRIENDSHIP_REQUESTED, command->time);
    else if (mine->state == FRIENDSHIP_INVITED && !mine->blocked_by_them && !full)
        enter(mine, FRIENDSHIP_FRIENDS, command->time);
}

static void take_back(struct friendship *mine, const struct friend_command *command) {
    bool meant = command->since == 0 ? mine->state != FRIENDSHIP_NONE
                                     : mine->state == FRIENDSHIP_FRIENDS && mine->since == command->since;
    if (meant) enter_quietly(mine, FRIENDSHIP_NONE, command->time);
}

static void block(struct friendship *mine, const struct friend_command *command) {
    if (mine->blocked_by_me && mine->state == FRIENDSHIP_NONE) return;
    enter(mine, FRIENDSHIP_NONE, mine->blocked_by_me ? mine->since : command->time);
    mine->blocked_by_me = true;
}

static void befriend(struct friendship *mine, const struct friend_command *command, bool full) {
    if (mine->blocked_by_me || mine->blocked_by_them || mine->state == FRIENDSHIP_FRIENDS || full) return;
    enter(mine, FRIENDSHIP_FRIENDS, command->time);
}

/* The other's request shows from now on. */
static void unblock(struct friendship *mine, const struct friend_command *command) {
    if (mine->blocked_by_me && mine->state == FRIENDSHIP_INVITED) mine->since = command->time;
    mine->blocked_by_me = false;
}

/* A request that the blocker does not see is as none. */
static void choose_rounding(struct friendship *mine, bool rounded) {
    if (mine->state != FRIENDSHIP_NONE && !mine->blocked_by_me) mine->rounded_by_me = rounded;
}

bool friendship_decide(const struct friendship *lower, const struct friend_command *command, bool full,
                       struct friendship *next) {
    bool by_lower = command->from < command->to;
    struct friendship mine = by_lower ? *lower : friendship_mirror(lower); // as the one who commands sees it
    switch (command->kind) {
    case FRIEND_COMMAND_REQUEST: request(&mine, command, full); break;
    case FRIEND_COMMAND_REMOVE: take_back(&mine, command); break;
    case FRIEND_COMMAND_BLOCK: block(&mine, command); break;
    case FRIEND_COMMAND_UNBLOCK: unblock(&mine, command); break;
    case FRIEND_COMMAND_BEFRIEND: befriend(&mine, command, full); break;
    case FRIEND_COMMAND_ROUND: choose_rounding(&mine, true); break;
    case FRIEND_COMMAND_EXACT: choose_rounding(&mine, false); break;
    }
    if (friendship_empty(&mine)) mine.since = 0; // there is no record that could hold it
    struct friendship result = by_lower ? mine : friendship_mirror(&mine);
    *next = result;
    return !friendship_equal(lower, &result);
}

enum friendship_view friendship_view(const struct friendship *half) {
    if (half->blocked_by_me) return FRIENDSHIP_VIEW_BLOCKED;
    switch (half->state) {
    case FRIENDSHIP_NONE: break;
    case FRIENDSHIP_REQUESTED: return FRIENDSHIP_VIEW_REQUESTED;
    case FRIENDSHIP_INVITED: return FRIENDSHIP_VIEW_INVITED;
    case FRIENDSHIP_FRIENDS: return FRIENDSHIP_VIEW_FRIENDS;
    }
    return FRIENDSHIP_VIEW_NONE;
}

int64_t friendship_view_since(enum friendship_view view, int64_t since) {
    return view == FRIENDSHIP_VIEW_NONE || view == FRIENDSHIP_VIEW_REQUESTED ? 0 : since;
}

const char *friendship_view_name(enum friendship_view view) {
    static const char *const NAMES[FRIENDSHIP_VIEWS] = {"none", "requested", "invited", "friends", "blocked"};
    return NAMES[view];
}
