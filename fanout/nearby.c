#include "fanout/nearby.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum {
    NAMED = 0x40,          /* flag, within a roster: an entry that it names */
    FRUITLESS_PATIENT = 2, /* repairs that may fail before the next ones wait longer */
    BACKOFF_MAX = 5        /* doublings */
};

void nearby_init(struct nearby *nearby, double radius_m) {
    *nearby = (struct nearby){.time = -1, .radius_m = radius_m, .oldest = INT64_MAX};
}

void nearby_free(struct nearby *nearby) {
    free(nearby->friends);
    free(nearby->barred);
    nearby->friends = NULL;
    nearby->barred = NULL;
    nearby->count = nearby->capacity = nearby->barred_count = nearby->barred_capacity = 0;
}

/* ---- entries ---- */

/* Where the user is, or would be. */
static uint32_t position(const struct nearby *nearby, int64_t user) {
    uint32_t low = 0, high = nearby->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (nearby->friends[middle].user < user)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct nearby_friend *find(const struct nearby *nearby, int64_t user) {
    uint32_t at = position(nearby, user);
    return at < nearby->count && nearby->friends[at].user == user ? &nearby->friends[at] : NULL;
}

const struct nearby_friend *nearby_find(const struct nearby *nearby, int64_t user) { return find(nearby, user); }

static struct nearby_friend *insert(struct nearby *nearby, int64_t user) {
    uint32_t at = position(nearby, user);
    if (nearby->count == nearby->capacity) {
        nearby->capacity = nearby->capacity ? nearby->capacity + nearby->capacity / 2 : 8;
        nearby->friends = mem_resize(nearby->friends, nearby->capacity, sizeof *nearby->friends);
    }
    memmove(&nearby->friends[at + 1], &nearby->friends[at], (nearby->count - at) * sizeof *nearby->friends);
    nearby->count++;
    nearby->friends[at] = (struct nearby_friend){.user = user};
    return &nearby->friends[at];
}

static void set_dirty(struct nearby *nearby, struct nearby_friend *friend) {
    if (friend->flags & NEARBY_DIRTY) return;
    friend->flags |= NEARBY_DIRTY;
    nearby->dirty++;
}

static void set_clean(struct nearby *nearby, struct nearby_friend *friend) {
    if (!(friend->flags & NEARBY_DIRTY)) return;
    friend->flags &= (uint8_t)~NEARBY_DIRTY;
    nearby->dirty--;
}

/* Takes a friend off the screen. An entry that the phone does not know is marked clean, and is swept by compact(). */
static void drop(struct nearby *nearby, struct nearby_friend *friend) {
    if (!(friend->flags & NEARBY_HELD)) return;
    friend->flags &= (uint8_t)~NEARBY_HELD;
    nearby->held--;
    nearby->hash -= hash_u64((uint64_t) friend->user);
    if (friend->flags & NEARBY_KNOWN)
        set_dirty(nearby, friend);
    else
        set_clean(nearby, friend);
}

/* Removes the entries that are of no more use. */
static void compact(struct nearby *nearby) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < nearby->count; i++) {
        if (nearby->friends[i].flags & (NEARBY_HELD | NEARBY_KNOWN)) nearby->friends[kept++] = nearby->friends[i];
    }
    nearby->count = kept;
}

static bool within(const struct nearby *nearby, struct geo_point at) {
    return geo_distance(nearby->at, at) <= nearby->radius_m;
}

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
    nearby->at = at;
    nearby->time = time;
    struct geo_circle circle = geo_circle(at, nearby->radius_m);
    for (uint32_t i = 0; i < nearby->count; i++) {
        if (!geo_near(&circle, nearby->friends[i].at)) drop(nearby, &nearby->friends[i]);
    }
    compact(nearby);
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
        drop(nearby, friend);
        if (!(friend->flags & NEARBY_KNOWN)) compact(nearby);
    }
}

void nearby_remove(struct nearby *nearby, int64_t user) {
    struct nearby_friend *friend = find(nearby, user);
    if (!friend) return;
    drop(nearby, friend);
    if (!(friend->flags & NEARBY_KNOWN)) compact(nearby);
}

void nearby_part(struct nearby *nearby, int64_t user) {
    nearby_remove(nearby, user);
    bar(nearby, user);
}

void nearby_clear(struct nearby *nearby) {
    for (uint32_t i = 0; i < nearby->count; i++) drop(nearby, &nearby->friends[i]);
    compact(nearby);
}

void nearby_roster_start(struct nearby *nearby) {
    for (uint32_t i = 0; i < nearby->count; i++) nearby->friends[i].flags &= (uint8_t)~NAMED;
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
    for (uint32_t i = 0; i < nearby->count; i++) {
        struct nearby_friend *friend = &nearby->friends[i];
        if (complete && !(friend->flags & NAMED)) drop(nearby, friend);
        friend->flags &= (uint8_t)~NAMED;
    }
    compact(nearby);
}

int64_t nearby_expire(struct nearby *nearby, int64_t now, int64_t inactive_ms) {
    if (nearby->oldest != INT64_MAX && now - nearby->oldest >= inactive_ms) {
        nearby->oldest = INT64_MAX;
        for (uint32_t i = 0; i < nearby->count; i++) {
            struct nearby_friend *friend = &nearby->friends[i];
            if (!(friend->flags & NEARBY_HELD)) continue;
            if (now - friend->time >= inactive_ms)
                drop(nearby, friend);
            else if (friend->time < nearby->oldest)
                nearby->oldest = friend->time;
        }
        compact(nearby);
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
    for (uint32_t i = 0; i < nearby->count; i++) {
        const struct nearby_friend *friend = &nearby->friends[i];
        if (!(friend->flags & NEARBY_HELD)) continue;
        struct nearby_place place = {.friend = friend, .distance_m = geo_distance(nearby->at, friend->at)};
        if (!(friend->flags & NEARBY_KNOWN) || after_cursor(&place, after)) all[count++] = place;
    }
    qsort(all, count, sizeof *all, by_distance);
    *more = count > limit;
    if (count > limit) count = limit;
    for (size_t i = 0; i < count; i++) {
        struct nearby_friend *friend = &nearby->friends[all[i].friend - nearby->friends];
        friend->flags |= NEARBY_KNOWN;
        set_clean(nearby, friend);
        places[i] = all[i];
    }
    free(all);
    return count;
}

bool nearby_next_dirty(struct nearby *nearby, uint32_t *cursor, struct nearby_friend *friend) {
    while (nearby->dirty && *cursor < nearby->count) {
        struct nearby_friend *at = &nearby->friends[(*cursor)++];
        if (!(at->flags & NEARBY_DIRTY)) continue;
        set_clean(nearby, at);
        *friend = *at;
        if (at->flags & NEARBY_HELD)
            at->flags |= NEARBY_KNOWN;
        else
            at->flags &= (uint8_t)~NEARBY_KNOWN;
        return true;
    }
    compact(nearby);
    return false;
}

size_t nearby_bytes(const struct nearby *nearby) {
    return nearby->capacity * sizeof *nearby->friends + nearby->barred_capacity * sizeof *nearby->barred;
}
