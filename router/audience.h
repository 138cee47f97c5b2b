/* The friends who can see a user now: the active ones, as long as the user is active. Friends are mutual and presence holds nobody who
 * has opted out, so these are the ones to whom the join shows the user, or would if they were near.
 *
 * A friend who is active shows as such wherever that friend is. Pure; one thread.
 *
 * A place that the user sees only rounded must not be found out by asking who is near from many places. So for such a friend `near` is
 * judged from the rounded place, though the friend's list goes by the exact one.
 */
#pragma once

#include "router/presence.h"
#include "router/rounding.h"

struct audience_context {
    const struct presence *presence;
    int64_t now, inactive_ms; /* as for the join (join.h) */
    double radius_m;
    struct grid rounded; /* where rounded places lie */
};

struct audience_entry {
    int64_t friend;
    bool near; /* the friend's list shows the user, as far as the user may know */
};

struct audience_friends {
    const int64_t *items;
    size_t count;
    const struct rounding_list *roundings;
};

/* Whether anybody can see the user: active, and not opted out. */
bool audience_visible(const struct audience_context *context, int64_t user);

/* A page of the audience of a visible user, in the order of friends: whoever comes after `after` (a user id, or -1). friends: the
 * user's, in rising order, with the roundings of some of them. entries has room for limit, which is at least 1. Returns how many; *more: there are further ones. */
size_t audience_page(const struct audience_context *context, int64_t user, const struct audience_friends *friends,
                     int64_t after, struct audience_entry *entries, size_t limit, bool *more);
