/* Presence: the last position, session and route of every user, in the memory of every router.
 *
 * One slot of 40 bytes a user, in open addressing with one control byte a slot (a 7-bit fingerprint, or empty, or deleted).
 * The table is cut into segments by the hash's upper bits; each grows on its own and by little, so that there is neither a
 * long pause nor a table of twice the size at any time. In front of it stands the online filter, one bit array of 8 to 16
 * bits a user, small enough for the cache: nine friends in ten are not online, and nearly all of those cost no more than one
 * word of it, in which one of their two bits is missing.
 *
 *     hash(user) = [ segment 6 | ....... | ............ group 32 .............. | fingerprint 7 ]
 *                  [ word of the filter ... |                      ... | two bits in the word 12 ]
 *
 *     filter:  [ 0100010...  segment 0's users | 00100... segment 1's | ... ]
 *     segment: control [ e f e d f f ... ]   16 bytes a group, compared at once
 *              slots   [ . u . . u u ... ]   the slot of a full control byte
 *
 * Pure but for allocation: no clock, no I/O. Pointers to slots are valid until the next presence_apply or presence_sweep.
 * One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/records.h"
#include "geo/geo.h"

enum { PRESENCE_ROUTE_NONE = -1, PRESENCE_ROUTE_MAX = 32767 };
#define PRESENCE_TIME_MAX EVENT_TIME_MAX /* of times (ms) and of sharing offsets */

struct presence_slot {
    int64_t user;
    int64_t session; /* the one to beat; 0: none yet */
    struct geo_point at;
    int64_t time : 48;  /* of the report that `at` is from, ms; of a LEAVE: when it was sent */
    int64_t route : 16; /* PRESENCE_ROUTE_NONE: unreachable */
    int64_t opted : 48; /* greatest offset of sharing seen; -1: none */
    int64_t left : 16;  /* opted out: has no position */
};

struct presence;

struct presence *presence_new(void);
void presence_free(struct presence *presence); /* NULL is fine */

/* The effect of an event on presence (docs/EXACTNESS.md, rule 1). */
enum presence_change {
    PRESENCE_UNCHANGED, /* friends need not hear of it (route or session may have changed) */
    PRESENCE_MOVED,     /* the event's position is the user's */
    PRESENCE_JOINED,    /* a JOIN or REJOIN older than presence: the join goes on with presence's position */
    PRESENCE_LEFT,
    PRESENCE_SUPERSEDED /* the event is from a smaller session: nothing changed */
};

/* True when presence can hold every number of the event. Other events must not reach presence_apply. */
bool presence_valid(const struct location *event);

/* Applies one event of the topic locations. old (may be NULL) gets the slot before it, or had is false. */
enum presence_change presence_apply(struct presence *presence, const struct location *event, struct presence_slot *old,
                                    bool *had);

const struct presence_slot *presence_find(const struct presence *presence, int64_t user); /* NULL: unknown */

/* Looks up many users at once, with overlapping memory latencies. found (room for count) gets the slots of the known ones, in the order
 * of users; returns how many. */
size_t presence_find_many(const struct presence *presence, const int64_t *users, size_t count,
                          const struct presence_slot **found);

/* A user is active when known, not opted out, and the last report is less than inactive_ms before now. */
static inline bool presence_active(const struct presence_slot *slot, int64_t now, int64_t inactive_ms) {
    return slot && !slot->left && now - slot->time < inactive_ms;
}

/* Forgets users whose last report (or LEAVE) is older than `before` (ms). Looks at about `budget` slots, and continues where the last
 * call ended. Returns how many were forgotten. */
size_t presence_sweep(struct presence *presence, int64_t before, size_t budget);

size_t presence_count(const struct presence *presence); /* users known, opted-out ones included */
size_t presence_bytes(const struct presence *presence); /* memory in use, all included */
