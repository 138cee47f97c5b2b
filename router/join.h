/* The join: what one event means for the friends of its user (docs/EXACTNESS.md, rule 2).
 *
 * Pure: an event, the user's friend list and presence go in, decisions come out. No Kafka, no RocksDB, no clock, and no
 * allocation but for join_reserve. Two steps, so that the friend list is only read when it matters:
 *
 *     if (join_event(&context, &event, &result)) {       // presence changed: friends are needed
 *         ... read the friend list, join_reserve(&result, count) ...
 *         join_friends(&context, friends, count, &result);
 *     }
 *     ... send what result says ...
 */
#ifndef ROUTER_JOIN_H
#define ROUTER_JOIN_H

#include "deliver/deliver.h"
#include "router/presence.h"

struct join_context {
    struct presence *presence;
    int64_t now; /* ms, by the clock that is configured */
    int64_t inactive_ms;
    double radius_m;
    bool warm;    /* presence holds the whole inactive window: rosters may be complete */
    bool digests; /* warm, and the router's own lag is under a second */
};

struct join_result {
    int64_t user;

    /* Superseded {user, beaten_by} goes to the route of the event, whose session is beaten. NONE: nothing is sent. */
    int32_t beaten_route;
    int64_t beaten_by;
    /* Superseded {user, session} goes to the route of the user's older session. NONE: nothing is sent. */
    int32_t older_route;

    /* The user now: the route and session to answer (route NONE: no session is reachable), the position and its time. */
    int32_t route;
    int64_t session;
    struct geo_point at;
    int64_t time;

    bool self;   /* Self to route: the position came by HTTP, past the user's session */
    bool left;   /* Left {user} to recipients; else Move {user, at, time} to them */
    bool roster; /* Roster to route: roster_friends, complete or not */
    bool complete;
    bool digest; /* Digest {time, digest_count, digest_hash} to route */
    int32_t digest_count;
    uint64_t digest_hash;

    size_t active;                        /* friends who were active: what the look-ups found */
    struct deliver_recipient *recipients; /* of the Move or Left */
    size_t recipient_count;
    struct roster_friend *roster_friends;
    size_t roster_count;

    /* The friends who were not near at the event before this one and are now; none when the event was read again, or presence is not
     * warm enough to tell. Valid until presence changes. */
    const struct presence_slot **found;
    size_t newcomers;

    /* Private: */
    size_t capacity;
    bool had_position; /* `before` is where friends last heard the user to be */
    bool everyone;     /* the roster names all near friends, not only new ones */
    bool fresh;        /* the event is newer than all that presence knew of the user: it can bring somebody near */
    struct geo_point before;
};

void join_result_init(struct join_result *result);
void join_result_free(struct join_result *result);
void join_reserve(struct join_result *result, size_t friends); /* room for that many friends */

/* Applies the event to presence. True: the caller calls join_friends next; false: the result is complete (perhaps only Superseded). */
bool join_event(const struct join_context *context, const struct location *event, struct join_result *result);

/* Completes the result by the friend list (any order, no duplicates). */
void join_friends(const struct join_context *context, const int64_t *friends, size_t count, struct join_result *result);

/* user and other have just become friends: result->roster is a partial Roster to user that names the other, near or not, because an
 * edge that was told of an earlier parting bars the other until then. Time -1: one of the two is not active. */
void join_befriended(const struct join_context *context, int64_t user, int64_t other, struct join_result *result);

#endif
