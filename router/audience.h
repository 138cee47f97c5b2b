/* The friends who can see a user now: the active ones, as long as the user is active. Friends are mutual and presence holds nobody who
 * has opted out, so these are the ones to whom the join shows the user, or would if they were near.
 *
 * A friend who is active shows as such wherever that friend is. Pure; one thread.
 */
#ifndef ROUTER_AUDIENCE_H
#define ROUTER_AUDIENCE_H

#include "router/presence.h"

struct audience_context {
    const struct presence *presence;
    int64_t now, inactive_ms; /* as for the join (join.h) */
    double radius_m;
};

struct audience_entry {
    int64_t friend;
    bool near; /* the friend's list shows the user */
};

/* Whether anybody can see the user: active, and not opted out. */
bool audience_visible(const struct audience_context *context, int64_t user);

/* A page of the audience of a visible user, in the order of friends: whoever comes after `after` (a user id, or -1). friends: the
 * user's, in rising order. entries has room for limit, which is at least 1. Returns how many; *more: there are further ones. */
size_t audience_page(const struct audience_context *context, int64_t user, const int64_t *friends, size_t count,
                     int64_t after, struct audience_entry *entries, size_t limit, bool *more);

#endif
