/* What one session's screen should show, and what its phone has been told of it.
 *
 * State, not a queue: one entry a friend within the radius (table.h), each with what is newest and whether the phone knows it.
 *
 *       HELD         on the screen: within the radius, not expired
 *       KNOWN        the phone has it on its list
 *       DIRTY        it differs from what the phone was told: goes into the next update (HELD: near, else: gone)
 *     An entry that is neither HELD nor KNOWN is removed at once.
 *
 *     pending      what friends have reported and the table does not say yet: put down by nearby_note, which looks at nothing but
 *                  that, and brought into the table together, when its memory has been asked for, before anything else is
 *                  done. A list is true once it is settled.
 *
 * Pure: no clock, no I/O. Times in ms, points in 1e-7 degrees. Pointers to entries are valid until the next change. One thread.
 */
#ifndef FANOUT_NEARBY_H
#define FANOUT_NEARBY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fanout/nearby/lists.h"
#include "fanout/nearby/table.h"
#include "geo/geo.h"

enum { NEARBY_PENDING = LISTS_PENDING };

struct nearby { /* made by nearby_init; opaque to others but for reading */
    /* What nearby_note looks at, close together. */
    struct lists *lists;
    int64_t oldest;         /* no held entry is older than this: when expiry must look again */
    uint32_t pending_count; /* not settled yet */
    uint32_t dirty;         /* entries to be told */
    uint32_t pending[NEARBY_PENDING];

    struct nearby_table table;
    uint32_t held; /* entries on the screen */
    uint32_t barred_count, barred_capacity;
    struct geo_circle circle; /* the radius around the session's own place */
    struct geo_point at;      /* that place */
    int64_t time;             /* of its own latest report; -1: none yet */
    uint64_t hash;            /* wrapping sum of hash_u64 over the users that are held */
    int64_t *barred;
    uint32_t strikes;     /* digests in a row that differed */
    uint32_t fruitless;   /* repairs in a row after which a complete Roster came and digests still differed */
    bool asked, repaired; /* a repair was asked for; and its complete Roster has come */
};

void nearby_init(struct nearby *nearby, struct lists *lists, double radius_m); /* lists: borrowed */
void nearby_free(struct nearby *nearby);

/* A friend's Move, at lists->moves[move]: nearby_upsert, but later. True: there was nothing pending before it, or it is the oldest
 * that is there: the owner's deadline must be looked at again. */
static inline bool nearby_note(struct nearby *nearby, uint32_t move, int64_t time);
static inline void nearby_prefetch_note(const struct nearby *nearby); /* has the processor fetch where it will write */
void nearby_settle(struct nearby *nearby); /* nothing is pending then; all functions below begin with it */

/* The session's own report (or Self, if newer than its own): who is outside now is dropped. */
void nearby_locate(struct nearby *nearby, struct geo_point at, int64_t time);

/* A friend's position (Move, or an entry of a Roster): ignored when barred or older than what is held. */
void nearby_upsert(struct nearby *nearby, int64_t user, struct geo_point at, int64_t time);

void nearby_remove(struct nearby *nearby, int64_t user); /* Left */
void nearby_part(struct nearby *nearby, int64_t user);   /* Parted: barred as well, until a Roster names them */
/* What comes next is a JOIN's Roster, after a time in which Rosters that would have named them were not listened to. */
void nearby_unbar_all(struct nearby *nearby);
void nearby_clear(struct nearby *nearby); /* an empty screen: inactive, or opted out */
/* Takes off all of these users (the map's keys): they opted out. False: none was there. Settles nothing, as it is for every list there is:
 * lists_void first, or what is pending brings them back. */
bool nearby_remove_all(struct nearby *nearby, const struct map *users);

/* A Roster: start, one entry a friend, end. complete: friends that it does not name are dropped. time -1: it names a friend who is not
 * to be seen now (and so is barred no more). */
void nearby_roster_start(struct nearby *nearby);
void nearby_roster_entry(struct nearby *nearby, int64_t user, struct geo_point at, int64_t time);
void nearby_roster_end(struct nearby *nearby, bool complete);

/* Drops friends whose report is `inactive_ms` old at `now`. Returns the time (ms) at which it must be called again at the latest,
 * INT64_MAX: nobody is held. */
int64_t nearby_expire(struct nearby *nearby, int64_t now, int64_t inactive_ms);

/* A Digest; only one of the latest report counts. Call nearby_expire first. True: it has differed `strikes` times in a row:
 * send REJOIN. From the third fruitless repair in a row on, twice as many are needed each time (at most 32 times as many),
 * until one agrees. */
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

size_t nearby_bytes(const struct nearby *nearby); /* memory in use besides the struct */

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

#endif
