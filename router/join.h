/* The join: what one event means for the friends of its user (docs/EXACTNESS.md, rule 2).
 *
 * Pure: an event, the user's friend list and presence go in, decisions come out. No Kafka, no RocksDB, no clock, and no
 * allocation but for join_reserve. Two steps, so that the friend list is only read when it matters:
 *
 *     if (join_event(&context, &event, arrived, &result)) {   // presence changed: friends are needed
 *         ... read the friend list, join_reserve(&result, count) ...
 *         join_friends(&context, friends, count, roundings, &result);
 *     }
 *     ... send what result says ...
 *
 * Users who see a friend rounded are told of the rounded place only, and it decides whether the friend is near. So of two friends one
 * may see the other, and not the other way round.
 */
#pragma once

#include "deliver/deliver.h"
#include "router/presence.h"
#include "router/rounding.h"

struct join_context {
    struct presence *presence;
    int64_t now; /* ms, by the clock that is configured */
    int64_t inactive_ms;
    double radius_m;
    struct grid rounded; /* where rounded places lie */
    bool warm;           /* presence holds the whole inactive window: rosters may be complete */
    bool digests;        /* warm, and the router's own lag is under a second */
};

/* A friend whom the user sees near since this event, or who sees the user near since then, or both. */
struct join_newcomer {
    const struct presence_slot *slot; /* valid until presence changes */
    bool sees, seen;                  /* the user sees the friend; the friend sees the user */
    struct geo_point there, here;     /* where the user sees the friend to be, and the friend the user */
};

/* One of the user's sessions, which is told the Roster and the Digest. */
struct join_answer {
    int64_t session;
    int32_t route;
    bool self; /* before them Self {at, time}: the position is not the session's own */
};

struct join_result {
    int64_t user;
    struct geo_point at; /* the user's position now, and its time */
    int64_t time;

    struct join_answer *answers; /* DEVICES_MAX at most */
    size_t answer_count;
    bool left;   /* Left {user} to recipients; else Move {user, at, time} to them */
    bool roster; /* Roster to each answer's session: roster_friends, complete or not */
    bool complete;
    bool digest; /* Digest {time, digest_count, digest_hash} to each */
    int32_t digest_count;
    uint64_t digest_hash;

    size_t active;                        /* friends who were active: what the look-ups found */
    struct deliver_recipient *recipients; /* of the Move or Left */
    size_t recipient_count;
    const struct location
        *details; /* NULL, or the report: the Move says what it does beside the place. Set behind join_event */
    struct deliver_recipient *rounded_recipients; /* RoundedMove {user, rounded_at, time} to them */
    size_t rounded_recipient_count;
    struct geo_point rounded_at;
    struct roster_friend *roster_friends;
    size_t roster_count;
    int64_t *roster_rounded; /* the users among roster_friends whose places are rounded, in that order */
    size_t roster_rounded_count;

    /* Friends who were not near at the event before this one and are now; none when the event was read again, or presence is not warm
     * enough to tell. */
    struct join_newcomer *newcomers;
    size_t newcomer_count;

    /* Private: */
    const struct presence_slot **found;
    size_t capacity;
    size_t recipient_capacity; /* more, as a friend may have several routes */
    bool had_position;         /* `before` is where friends last heard the user to be */
    bool everyone;             /* the roster names all near friends, not only new ones */
    bool fresh; /* the event is newer than all that presence knew of the user: it can bring somebody near */
    struct geo_point before;
    struct geo_circle circle, circle_before; /* the radius around `at` and around `before` */
    bool moved;                              /* from `before` to elsewhere */
};

void join_result_init(struct join_result *result);
void join_result_free(struct join_result *result);
void join_reserve(struct join_result *result, size_t friends); /* room for that many friends */

/* Applies the event to presence; arrived: presence_apply. True: the caller calls join_friends next; false: the result is complete (perhaps
 * it is only Self to a session that is behind). */
bool join_event(const struct join_context *context, const struct location *event, int64_t arrived,
                struct join_result *result);

/* Completes the result by the friend list (rising order, no duplicates) and the roundings of some of these friends. */
void join_friends(const struct join_context *context, const int64_t *friends, size_t count,
                  const struct rounding_list *roundings, struct join_result *result);

/* user and other have just become friends: result->roster is a partial Roster to user that names the other, near or not, because an
 * edge that was told of an earlier parting bars the other until then. Time -1: one of the two is not active. rounding: bits of the other.
 *
 * The same Roster tells the user where the other is when the bit ROUNDING_THEIRS has changed. */
void join_befriended(const struct join_context *context, int64_t user, int64_t other, uint8_t rounding,
                     struct join_result *result);

/* The other sees the user otherwise from now on: a Move or RoundedMove to the other, near or not, if both are active. */
void join_rounded(const struct join_context *context, int64_t user, int64_t other, bool rounded,
                  struct join_result *result);
