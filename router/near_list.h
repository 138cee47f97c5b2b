/* The friends near a user now, for a question without a session: the same ones that the join and the edges put on a session's list.
 * Pure but for allocation; one thread. */
#pragma once

#include "router/presence.h"
#include "router/rounding.h"

struct near_entry {
    int64_t user;
    struct geo_point at;
    int64_t time; /* ms */
    double distance_m;
    bool rounded; /* the place is */
};

/* Where a page goes on: behind that friend at that distance. A negative distance: at the beginning. */
struct near_cursor {
    double distance_m;
    int64_t user;
};

enum { NEAR_CURSOR_SIZE = 48 };
void near_cursor_put(struct near_cursor cursor, char text[NEAR_CURSOR_SIZE]); /* digits, a to f, and _ */
bool near_cursor_read(const char *text, struct near_cursor *cursor);          /* false: it is none */

struct near_question {
    const struct presence *presence;
    int64_t now, inactive_ms; /* ms */
    double radius_m;
    int64_t user;
    const int64_t *friends; /* in rising order */
    size_t friend_count;
    const struct rounding_list *roundings; /* of some of these friends */
    struct grid rounded;                   /* where rounded places lie */
    struct near_cursor after;
};

/* Fills entries (room for friend_count), nearest first, and returns how many; those before `after` are left out. None if the user is not
 * active. */
size_t near_list(const struct near_question *question, struct near_entry *entries);
