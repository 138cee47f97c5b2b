/* Presence: the last position of every user and the routes of the user's sessions, in the memory of every router.
 *
 * One slot of 40 bytes a user, with the entry of one session; the entries of further ones lie elsewhere (devices.h). The slots are in
 * open addressing with one control byte a slot (a 7-bit fingerprint, or empty, or deleted).
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
 *     entry:   { session, route, heard }    one a session that has joined and has neither quit nor been silent for the inactive window
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
#include "router/devices.h"

enum { PRESENCE_ROUTE_NONE = -1, PRESENCE_ROUTE_MAX = 32767 };
#define PRESENCE_TIME_MAX EVENT_TIME_MAX /* of times (ms) and of sharing offsets */

struct presence_slot {
    int64_t user;
    int64_t session; /* of the entry in the slot; 0: the user has none */
    struct geo_point at;
    int64_t time : 48;   /* of the report that `at` is from, ms; of a LEAVE: when it was sent */
    int64_t route : 16;  /* of that session; PRESENCE_ROUTE_NONE: the user has none, and is unreachable */
    int64_t opted : 48;  /* greatest offset of sharing seen; -1: none */
    uint64_t left : 1;   /* opted out: has no position */
    uint64_t more : 1;   /* there are further entries */
    uint64_t heard : 14; /* when a record of the session last arrived, in steps of devices.h */
};

struct presence;

/* inactive_ms: the window; sessions that were silent for that long are forgotten. */
struct presence *presence_new(int64_t inactive_ms);
void presence_free(struct presence *presence); /* NULL is fine */

/* The effect of an event on presence (docs/EXACTNESS.md, rule 1). */
enum presence_change {
    PRESENCE_UNCHANGED, /* nobody need hear of it */
    PRESENCE_MOVED,     /* the event's position is the user's */
    PRESENCE_JOINED,    /* a JOIN or REJOIN older than presence: the join goes on with presence's position */
    PRESENCE_OLDER,     /* a REPORT older than presence: its session is behind */
    PRESENCE_LEFT
};

/* True when presence can hold every number of the event. Other events must not reach presence_apply. */
bool presence_valid(const struct location *event);

/* Applies one event of the topic locations. arrived: when its record did, ms. old (may be NULL) gets the slot before it, or had is
 * false. */
enum presence_change presence_apply(struct presence *presence, const struct location *event, int64_t arrived,
                                    struct presence_slot *old, bool *had);

const struct presence_slot *presence_find(const struct presence *presence, int64_t user); /* NULL: unknown */

/* Looks up many users at once, with overlapping memory latencies. found (room for count) gets the slots of the known ones, in the order
 * of users; returns how many. */
size_t presence_find_many(const struct presence *presence, const int64_t *users, size_t count,
                          const struct presence_slot **found);

/* A user is active when known, not opted out, and the last report is less than inactive_ms before now. */
static inline bool presence_active(const struct presence_slot *slot, int64_t now, int64_t inactive_ms) {
    return slot && !slot->left && now - slot->time < inactive_ms;
}

/* The entries of a user of presence (valid as the slot is); returns how many, DEVICES_MAX at most. */
size_t presence_entries(const struct presence *presence, const struct presence_slot *slot,
                        struct device_entry entries[DEVICES_MAX]);
/* The routes of a user's entries, each once; returns how many. */
size_t presence_routes(const struct presence *presence, const struct presence_slot *slot, int32_t routes[DEVICES_MAX]);

/* Forgets sessions that were silent for the inactive window before `now` (ms), and users who have no other session and whose last report
 * (or LEAVE) is two windows old. Looks at about `budget` slots, and continues where the last call ended. Returns how many users were
 * forgotten. */
size_t presence_sweep(struct presence *presence, int64_t now, size_t budget);

size_t presence_count(const struct presence *presence); /* users known, opted-out ones included */
size_t presence_bytes(const struct presence *presence); /* memory in use, all included */
