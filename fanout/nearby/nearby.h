/* The list of one session: the friends that its screen should show, and the ones that its phone knows (docs/EXACTNESS.md, rule 3).
 *
 * State, not a queue: one entry for each friend within the radius (table.h), with the newest position and whether the phone knows it.
 *
 *       HELD         on the screen: within the radius, not expired
 *       KNOWN        the phone has it on its list
 *       DIRTY        it differs from what the phone was told: goes into the next update (HELD: near, else: gone)
 *       ROUNDED      held at a rounded place, which is all that this user may know of the friend's
 *       MUTED        held, as digests count it, but not shown: the user has muted the friend (users/mutes.h)
 *     An entry that is neither HELD nor KNOWN is removed at once.
 *
 *     pending      reports of friends that are not in the table yet. nearby_note only appends to this array; nearby_settle later brings
 *                  all of them into the table together, after prefetching its memory, and before any other use of the list.
 *
 * Pure: no clock, no I/O. Times in ms, points in 1e-7 degrees. Pointers to entries are valid until the next change. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fanout/nearby/id_set.h"
#include "fanout/nearby/lists.h"
#include "fanout/nearby/repair.h"
#include "fanout/nearby/table.h"
#include "geo/geo.h"

enum { NEARBY_PENDING = LISTS_PENDING };

struct nearby { /* made by nearby_init; opaque to others but for reading */
    /* nearby_note uses these, close together. */
    struct lists *lists;
    int64_t oldest;         /* no held entry is older than this: when expiry must look again */
    uint32_t pending_count; /* not settled yet */
    uint32_t dirty;         /* entries to be told */
    uint32_t pending[NEARBY_PENDING];

    struct nearby_table table;
    uint32_t held;            /* entries within the radius, not expired */
    uint32_t muted_held;      /* of these, how many are muted */
    struct geo_circle circle; /* the radius around the session's own place */
    struct geo_point at;      /* that place */
    int64_t time;             /* of its own latest report; -1: none yet */
    uint64_t hash;            /* wrapping sum of hash_u64 over the users that are held */
    struct id_set barred, muted;
    struct repair repair;
};

void nearby_init(struct nearby *nearby, struct lists *lists, double radius_m); /* lists: borrowed */
void nearby_free(struct nearby *nearby);

/* A friend's Move, at lists->moves[move]: nearby_upsert, but later. True: there was nothing pending before it, or it is the oldest
 * that is there: the owner's deadline must be looked at again. */
static inline bool nearby_note(struct nearby *nearby, uint32_t move, int64_t time);
static inline void nearby_prefetch_note(const struct nearby *nearby); /* has the processor fetch where it will write */
void nearby_settle(struct nearby *nearby); /* nothing is pending then; all functions below begin with it */

/* The session's own report (or Self, if newer): drops friends who are outside now. */
void nearby_locate(struct nearby *nearby, struct geo_point at, int64_t time);

/* A friend's position (as a Move, or an entry of a Roster): ignored when barred or older than what is held. */
void nearby_upsert(struct nearby *nearby, int64_t user, struct geo_point at, int64_t time);

void nearby_remove(struct nearby *nearby, int64_t user); /* Left */
void nearby_part(struct nearby *nearby, int64_t user);   /* Parted: barred as well, until a Roster names them */
/* Lifts all bars before a JOIN's Roster: the session ignored Rosters while its user was opted out, and they may have named friends. */
void nearby_unbar_all(struct nearby *nearby);
/* The user does not want to see this friend, or does so again. The list keeps the friend all the while, so that it goes on to agree with
 * digests and nothing must be asked for later. */
void nearby_mute(struct nearby *nearby, int64_t user, bool muted);
static inline uint32_t nearby_shown(const struct nearby *nearby) { return nearby->held - nearby->muted_held; }

void nearby_clear(struct nearby *nearby); /* an empty screen: inactive, or opted out */
/* Does to the users on the list what the map says of them (enum lists_change). False: none was on it. It settles nothing, because it
 * runs over every list: call lists_void first, or pending moves bring the users back. */
bool nearby_change_all(struct nearby *nearby, const struct map *users);

/* A Roster: start, one entry a friend, end. complete: friends that it does not name are dropped. time -1: it names a friend who is not
 * to be seen now (and so is barred no more). */
void nearby_roster_start(struct nearby *nearby);
void nearby_roster_entry(struct nearby *nearby, int64_t user, struct geo_point at, int64_t time, bool rounded);
void nearby_roster_end(struct nearby *nearby, bool complete);

/* Drops friends whose report is `inactive_ms` old at `now`. Returns the time (ms) at which it must be called again at the latest,
 * INT64_MAX: no friend is held. */
int64_t nearby_expire(struct nearby *nearby, int64_t now, int64_t inactive_ms);

/* A Digest; only one of the latest report counts. Call nearby_expire first. True: send REJOIN (repair.h says when). */
bool nearby_digest(struct nearby *nearby, int64_t time, int32_t count, uint64_t hash, uint32_t strikes);

const struct nearby_friend *nearby_find(struct nearby *nearby, int64_t user); /* held or known; NULL */

/* Have the processor fetch what nearby_settle will look at, for who goes on with something else meanwhile: first the tags, then,
 * when they are there, the slots. */
void nearby_prefetch_tags(const struct nearby *nearby);
void nearby_prefetch(const struct nearby *nearby);

/* One page of the list: the held friends by distance, then user, who come after `after` or whom the phone does not know yet,
 * at most `limit`. They are marked known and clean. Returns how many; *more: there are further ones. */
struct nearby_place {
    const struct nearby_friend *friend;
    double distance_m;
};
struct nearby_cursor { /* a page's end; {-1, -1}: before the first */
    double distance_m;
    int64_t user;
};
size_t nearby_page(struct nearby *nearby, struct nearby_cursor after, struct nearby_place *places, size_t limit,
                   bool *more);

/* Walks what must be told, to its end: each dirty entry once, told by that. nearby_tell says the next ones, at most `most`, of
 * which fewer are the last. One that is not HELD is gone. */
struct nearby_told {
    struct nearby_friend friend;
    double distance_m;       /* from the session's own place */
    struct lists_move *move; /* NULL: not known */
};
struct nearby_walk {
    uint32_t cursor;                /* over the marks, after what was pending at the start */
    uint32_t next, count;           /* of the pending */
    uint32_t slots[NEARBY_PENDING]; /* where each went */
    uint32_t moves[NEARBY_PENDING];
    double distances[NEARBY_PENDING];
};
void nearby_walk_start(struct nearby *nearby, struct nearby_walk *walk);
size_t nearby_tell(struct nearby *nearby, struct nearby_walk *walk, struct nearby_told *told, size_t most);

static inline void nearby_prefetch_note(const struct nearby *nearby) {
    __builtin_prefetch(&nearby->pending[nearby->pending_count], 1);
}

static inline bool nearby_note(struct nearby *nearby, uint32_t move, int64_t time) {
    bool first = nearby->pending_count == 0 || time < nearby->oldest;
    nearby->pending[nearby->pending_count++] = move;
    if (time < nearby->oldest) nearby->oldest = time;
    if (nearby->pending_count < NEARBY_PENDING) return first;
    nearby_settle(nearby);
    return true;
}
