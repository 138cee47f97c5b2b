#include "fanout/nearby.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum {
    NAMED = 0x40, /* flag, within a roster: an entry that it names */
    DEAD = 0x80,  /* flag, within a walk or a sweep: neither held nor known, keeps its slot until the end */
    RECENT_VOID = NEARBY_RECENT + 1,
    SLOTS_LEAST = 4,
    SPARSE = 8,            /* a table with fewer than one slot in so many in use becomes smaller */
    FRUITLESS_PATIENT = 2, /* repairs that may fail before the next ones wait longer */
    BACKOFF_MAX = 5        /* doublings */
};

void nearby_init(struct nearby *nearby, double radius_m) {
    struct geo_point nowhere = {0, 0};
    *nearby = (struct nearby){.circle = geo_circle(nowhere, radius_m), .at = nowhere, .time = -1, .oldest = INT64_MAX};
}

void nearby_free(struct nearby *nearby) {
    free(nearby->slots);
    free(nearby->barred);
    nearby->slots = NULL;
    nearby->barred = NULL;
    nearby->count = nearby->capacity = nearby->barred_count = nearby->barred_capacity = 0;
}

/* ---- the table ---- */

static uint32_t home(const struct nearby *nearby, int64_t user) {
    return (uint32_t)hash_u64((uint64_t)user) & (nearby->capacity - 1);
}

/* The user's slot, or the free one where it would go. There is a table, and it is never full. */
static uint32_t probe(const struct nearby *nearby, int64_t user) {
    uint32_t i = home(nearby, user);
    while (nearby->slots[i].flags && nearby->slots[i].user != user) i = (i + 1) & (nearby->capacity - 1);
    return i;
}

static struct nearby_friend *find(const struct nearby *nearby, int64_t user) {
    if (!nearby->count) return NULL;
    struct nearby_friend *friend = &nearby->slots[probe(nearby, user)];
    return friend->flags ? friend : NULL;
}

const struct nearby_friend *nearby_find(const struct nearby *nearby, int64_t user) { return find(nearby, user); }

void nearby_prefetch(const struct nearby *nearby, int64_t user) {
    if (nearby->capacity) __builtin_prefetch(&nearby->slots[home(nearby, user)], 1);
}

static bool is_entry(const struct nearby_friend *friend) { return friend->flags & (NEARBY_HELD | NEARBY_KNOWN); }

/* Puts the entries into a new table, with room for `wanted`. */
static void rehash(struct nearby *nearby, uint32_t wanted) {
    struct nearby_friend *old = nearby->slots;
    uint32_t old_capacity = nearby->capacity, capacity = SLOTS_LEAST;
    while (wanted * 8 > capacity * 7) capacity *= 2;
    nearby->slots = wanted ? mem_zero(capacity, sizeof *nearby->slots) : NULL;
    nearby->capacity = wanted ? capacity : 0;
    nearby->count = 0;
    for (uint32_t i = 0; i < old_capacity; i++) {
        if (!is_entry(&old[i])) continue;
        nearby->slots[probe(nearby, old[i].user)] = old[i];
        nearby->count++;
    }
    nearby->recent_count = RECENT_VOID;
    nearby->dead = 0;
    free(old);
}

static struct nearby_friend *insert(struct nearby *nearby, int64_t user) {
    if ((nearby->count + 1) * 8 > nearby->capacity * 7) rehash(nearby, nearby->count + 1);
    struct nearby_friend *friend = &nearby->slots[probe(nearby, user)];
    *friend = (struct nearby_friend){.user = user};
    nearby->count++;
    return friend;
}

/* Frees a slot, and fills it with what may not stay behind a free one, and so on to the run's end. */
static void take_out(struct nearby *nearby, struct nearby_friend *friend) {
    uint32_t mask = nearby->capacity - 1, hole = (uint32_t)(friend - nearby->slots);
    for (uint32_t i = (hole + 1) & mask; nearby->slots[i].flags; i = (i + 1) & mask) {
        if (((i - home(nearby, nearby->slots[i].user)) & mask) < ((i - hole) & mask)) continue;
        nearby->slots[hole] = nearby->slots[i];
        hole = i;
    }
    nearby->slots[hole] = (struct nearby_friend){0};
    nearby->count--;
    nearby->recent_count = RECENT_VOID;
    if (nearby->count * SPARSE < nearby->capacity && nearby->capacity > SLOTS_LEAST) rehash(nearby, nearby->count);
}

/* Removes the entries that are of no more use, of which there are so many. */
static void sweep(struct nearby *nearby, uint32_t dead) {
    if (dead) rehash(nearby, nearby->count - dead);
}

/* ---- entries ---- */

static void set_dirty(struct nearby *nearby, struct nearby_friend *friend) {
    if (friend->flags & NEARBY_DIRTY) return;
    friend->flags |= NEARBY_DIRTY;
    nearby->dirty++;
    if (nearby->dirty == 1) nearby->recent_count = 0;
    if (nearby->recent_count < NEARBY_RECENT)
        nearby->recent[nearby->recent_count++] = (uint32_t)(friend - nearby->slots);
    else
        nearby->recent_count = RECENT_VOID;
}

static void set_clean(struct nearby *nearby, struct nearby_friend *friend) {
    if (!(friend->flags & NEARBY_DIRTY)) return;
    friend->flags &= (uint8_t)~NEARBY_DIRTY;
    nearby->dirty--;
}

/* Takes a friend off the screen. True: the phone does not know it either, so the entry is dead now, and the caller sees to
 * its removal. */
static bool drop(struct nearby *nearby, struct nearby_friend *friend) {
    if (!(friend->flags & NEARBY_HELD)) return false;
    friend->flags &= (uint8_t)~NEARBY_HELD;
    nearby->held--;
    nearby->hash -= hash_u64((uint64_t) friend->user);
    if (friend->flags & NEARBY_KNOWN) {
        set_dirty(nearby, friend);
        return false;
    }
    set_clean(nearby, friend);
    friend->flags = DEAD;
    return true;
}

static bool within(const struct nearby *nearby, struct geo_point at) { return geo_near(&nearby->circle, at); }

/* ---- who is barred ---- */

static bool is_barred(const struct nearby *nearby, int64_t user) {
    for (uint32_t i = 0; i < nearby->barred_count; i++) {
        if (nearby->barred[i] == user) return true;
    }
    return false;
}

static void unbar(struct nearby *nearby, int64_t user) {
    for (uint32_t i = 0; i < nearby->barred_count; i++) {
        if (nearby->barred[i] != user) continue;
        nearby->barred[i] = nearby->barred[--nearby->barred_count];
        return;
    }
}

static void bar(struct nearby *nearby, int64_t user) {
    if (is_barred(nearby, user)) return;
    if (nearby->barred_count == nearby->barred_capacity) {
        nearby->barred_capacity = nearby->barred_capacity ? nearby->barred_capacity * 2 : 4;
        nearby->barred = mem_resize(nearby->barred, nearby->barred_capacity, sizeof *nearby->barred);
    }
    nearby->barred[nearby->barred_count++] = user;
}

/* ---- changes ---- */

void nearby_locate(struct nearby *nearby, struct geo_point at, int64_t time) {
    uint32_t dead = 0;
    nearby->at = at;
    nearby->time = time;
    nearby->circle = geo_circle(at, nearby->circle.radius_m);
    for (uint32_t i = 0; i < nearby->capacity; i++) {
        struct nearby_friend *friend = &nearby->slots[i];
        if (friend->flags & NEARBY_HELD && !within(nearby, friend->at)) dead += drop(nearby, friend);
    }
    sweep(nearby, dead);
}

/* Puts the position down whatever was there; the caller has decided that it counts. */
static void hold(struct nearby *nearby, struct nearby_friend *friend, struct geo_point at, int64_t time) {
    bool held = friend->flags & NEARBY_HELD;
    bool same = held && friend->time == time && friend->at.lat == at.lat && friend->at.lng == at.lng;
    friend->at = at;
    friend->time = time;
    if (!held) {
        friend->flags |= NEARBY_HELD;
        nearby->held++;
        nearby->hash += hash_u64((uint64_t) friend->user);
    }
    if (!same) set_dirty(nearby, friend);
    if (time < nearby->oldest) nearby->oldest = time;
}

void nearby_upsert(struct nearby *nearby, int64_t user, struct geo_point at, int64_t time) {
    if (nearby->barred_count && is_barred(nearby, user)) return;
    struct nearby_friend *friend = find(nearby, user);
    bool held = friend && friend->flags & NEARBY_HELD;
    if (held && friend->time > time) return;
    if (within(nearby, at)) {
        hold(nearby, friend ? friend : insert(nearby, user), at, time);
    } else if (held) {
        if (drop(nearby, friend)) take_out(nearby, friend);
    }
}

void nearby_remove(struct nearby *nearby, int64_t user) {
    struct nearby_friend *friend = find(nearby, user);
    if (!friend) return;
    if (drop(nearby, friend)) take_out(nearby, friend);
}

void nearby_part(struct nearby *nearby, int64_t user) {
    nearby_remove(nearby, user);
    bar(nearby, user);
}

void nearby_clear(struct nearby *nearby) {
    uint32_t dead = 0;
    for (uint32_t i = 0; i < nearby->capacity; i++) dead += drop(nearby, &nearby->slots[i]);
    sweep(nearby, dead);
}

void nearby_roster_start(struct nearby *nearby) {
    for (uint32_t i = 0; i < nearby->capacity; i++) nearby->slots[i].flags &= (uint8_t)~NAMED;
}

void nearby_roster_entry(struct nearby *nearby, int64_t user, struct geo_point at, int64_t time) {
    unbar(nearby, user);
    if (time < 0) return;
    nearby_upsert(nearby, user, at, time);
    struct nearby_friend *friend = find(nearby, user);
    if (friend) friend->flags |= NAMED;
}

void nearby_roster_end(struct nearby *nearby, bool complete) {
    if (complete && nearby->asked) nearby->repaired = true;
    uint32_t dead = 0;
    for (uint32_t i = 0; i < nearby->capacity; i++) {
        struct nearby_friend *friend = &nearby->slots[i];
        if (complete && !(friend->flags & NAMED)) dead += drop(nearby, friend);
        friend->flags &= (uint8_t)~NAMED;
    }
    sweep(nearby, dead);
}

int64_t nearby_expire(struct nearby *nearby, int64_t now, int64_t inactive_ms) {
    if (nearby->oldest != INT64_MAX && now - nearby->oldest >= inactive_ms) {
        uint32_t dead = 0;
        nearby->oldest = INT64_MAX;
        for (uint32_t i = 0; i < nearby->capacity; i++) {
            struct nearby_friend *friend = &nearby->slots[i];
            if (!(friend->flags & NEARBY_HELD)) continue;
            if (now - friend->time >= inactive_ms)
                dead += drop(nearby, friend);
            else if (friend->time < nearby->oldest)
                nearby->oldest = friend->time;
        }
        sweep(nearby, dead);
    }
    return nearby->oldest == INT64_MAX ? INT64_MAX : nearby->oldest + inactive_ms;
}

/* How many digests in a row must differ before the next repair. */
static uint32_t patience(const struct nearby *nearby, uint32_t strikes) {
    if (nearby->fruitless <= FRUITLESS_PATIENT) return strikes;
    uint32_t doublings = nearby->fruitless - FRUITLESS_PATIENT;
    return strikes << (doublings < BACKOFF_MAX ? doublings : BACKOFF_MAX);
}

bool nearby_digest(struct nearby *nearby, int64_t time, int32_t count, uint64_t hash, uint32_t strikes) {
    if (time != nearby->time) return false;
    if (nearby->held == (uint32_t)count && nearby->hash == hash) {
        nearby->strikes = nearby->fruitless = 0;
        nearby->asked = nearby->repaired = false;
        return false;
    }
    if (++nearby->strikes < patience(nearby, strikes)) return false;
    if (nearby->repaired) nearby->fruitless++;
    nearby->strikes = 0;
    nearby->asked = true;
    nearby->repaired = false;
    return true;
}

/* ---- what the phone is told ---- */

static bool after_cursor(const struct nearby_place *place, struct nearby_cursor cursor) {
    return place->distance_m > cursor.distance_m ||
           (place->distance_m >= cursor.distance_m && place->friend->user > cursor.user);
}

static int by_distance(const void *left, const void *right) {
    const struct nearby_place *a = left, *b = right;
    if (a->distance_m < b->distance_m) return -1;
    if (a->distance_m > b->distance_m) return 1;
    return (a->friend->user > b->friend->user) - (a->friend->user < b->friend->user);
}

size_t nearby_page(struct nearby *nearby, struct nearby_cursor after, struct nearby_place *places, size_t limit,
                   bool *more) {
    struct nearby_place *all = mem_alloc((nearby->held + 1) * sizeof *all);
    size_t count = 0;
    for (uint32_t i = 0; i < nearby->capacity; i++) {
        const struct nearby_friend *friend = &nearby->slots[i];
        if (!(friend->flags & NEARBY_HELD)) continue;
        struct nearby_place place = {.friend = friend, .distance_m = geo_distance(nearby->at, friend->at)};
        if (!(friend->flags & NEARBY_KNOWN) || after_cursor(&place, after)) all[count++] = place;
    }
    qsort(all, count, sizeof *all, by_distance);
    *more = count > limit;
    if (count > limit) count = limit;
    for (size_t i = 0; i < count; i++) {
        struct nearby_friend *friend = &nearby->slots[all[i].friend - nearby->slots];
        friend->flags |= NEARBY_KNOWN;
        set_clean(nearby, friend);
        places[i] = all[i];
    }
    free(all);
    return count;
}

/* The next slot of the walk; NULL: no more. */
static struct nearby_friend *next_slot(const struct nearby *nearby, uint32_t *cursor) {
    if (nearby->recent_count != RECENT_VOID)
        return *cursor < nearby->recent_count ? &nearby->slots[nearby->recent[(*cursor)++]] : NULL;
    return *cursor < nearby->capacity ? &nearby->slots[(*cursor)++] : NULL;
}

bool nearby_next_dirty(struct nearby *nearby, uint32_t *cursor, struct nearby_friend *friend) {
    struct nearby_friend *at;
    while (nearby->dirty && (at = next_slot(nearby, cursor))) {
        if (!(at->flags & NEARBY_DIRTY)) continue;
        set_clean(nearby, at);
        *friend = *at;
        if (at->flags & NEARBY_HELD) {
            at->flags |= NEARBY_KNOWN;
        } else {
            at->flags = DEAD;
            nearby->dead++;
        }
        return true;
    }
    sweep(nearby, nearby->dead);
    return false;
}

size_t nearby_bytes(const struct nearby *nearby) {
    return nearby->capacity * sizeof *nearby->slots + nearby->barred_capacity * sizeof *nearby->barred;
}
