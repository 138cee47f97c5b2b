#include "fanout/nearby/nearby.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum {
    NAMED = 0x40, /* flag, within a roster: an entry that it names */
    DEAD = 0x80,  /* flag, within a walk or a sweep: neither held nor known, keeps its slot until the end */
    AT_ONCE = 16
};

static const uint32_t NOWHERE = UINT32_MAX; /* no slot */

void nearby_init(struct nearby *nearby, struct lists *lists, double radius_m) {
    struct geo_point nowhere = {0, 0};
    *nearby = (struct nearby){
        .lists = lists, .circle = geo_circle(nowhere, radius_m), .at = nowhere, .time = -1, .oldest = INT64_MAX};
}

void nearby_free(struct nearby *nearby) {
    lists_asked_end(nearby->lists, nearby);
    table_free(&nearby->table, nearby->lists);
    id_set_free(&nearby->barred);
    id_set_free(&nearby->muted);
    nearby->pending_count = 0;
}

static struct nearby_friend *find(const struct nearby *nearby, int64_t user) {
    return table_find(&nearby->table, user);
}

static void sweep(struct nearby *nearby, uint32_t dead) { table_sweep(&nearby->table, nearby->lists, dead); }

/* ---- entries ---- */

static void set_dirty(struct nearby *nearby, struct nearby_friend *friend) {
    if (friend->flags & NEARBY_DIRTY) return;
    if (friend->flags & NEARBY_MUTED && !(friend->flags & NEARBY_KNOWN)) return; /* no news for the phone */
    friend->flags |= NEARBY_DIRTY;
    nearby->dirty++;
    table_mark(&nearby->table, friend);
}

static void set_clean(struct nearby *nearby, struct nearby_friend *friend) {
    if (!(friend->flags & NEARBY_DIRTY)) return;
    friend->flags &= (uint8_t)~NEARBY_DIRTY;
    nearby->dirty--;
}

static void set_muted(struct nearby *nearby, struct nearby_friend *friend, bool muted) {
    if (!(friend->flags & NEARBY_MUTED) == !muted) return;
    friend->flags ^= NEARBY_MUTED;
    if (muted)
        nearby->muted_held++;
    else
        nearby->muted_held--;
}

/* Takes a friend off the screen. True: the phone does not know it either, so the entry is dead now, and the caller sees to
 * its removal. */
static bool drop(struct nearby *nearby, struct nearby_friend *friend) {
    if (!(friend->flags & NEARBY_HELD)) return false;
    set_muted(nearby, friend, false);
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

/* ---- changes ---- */

void nearby_locate(struct nearby *nearby, struct geo_point at, int64_t time) {
    nearby_settle(nearby);
    uint32_t dead = 0;
    nearby->at = at;
    nearby->time = time;
    nearby->circle = geo_circle(at, nearby->circle.radius_m);
    for (uint32_t i = 0; i < nearby->table.capacity; i++) {
        struct nearby_friend *friend = &nearby->table.slots[i];
        if (friend->flags & NEARBY_HELD && !within(nearby, friend->at)) dead += drop(nearby, friend);
    }
    sweep(nearby, dead);
}

void nearby_mute(struct nearby *nearby, int64_t user, bool muted) {
    nearby_settle(nearby);
    (muted ? id_set_put : id_set_remove)(&nearby->muted, user);
    struct nearby_friend *friend = find(nearby, user);
    if (!friend || !(friend->flags & NEARBY_HELD) || !(friend->flags & NEARBY_MUTED) == !muted) return;
    set_muted(nearby, friend, muted);
    if (!muted || friend->flags & NEARBY_KNOWN)
        set_dirty(nearby, friend);
    else
        set_clean(nearby, friend);
}

static bool is_at(const struct nearby_friend *friend, struct geo_point at) {
    return friend->at.lat == at.lat && friend->at.lng == at.lng;
}

/* Puts the position down whatever was there; the caller has decided that it counts. */
static void hold(struct nearby *nearby, struct nearby_friend *friend, struct geo_point at, int64_t time, bool rounded,
                 bool anew) {
    bool held = friend->flags & NEARBY_HELD, was_rounded = friend->flags & NEARBY_ROUNDED;
    bool same = held && !anew && friend->time == time && is_at(friend, at) && rounded == was_rounded;
    if (rounded != was_rounded) friend->flags ^= NEARBY_ROUNDED;
    friend->at = at;
    friend->time = time;
    if (!held) {
        friend->flags |= NEARBY_HELD;
        if (id_set_has(&nearby->muted, friend->user)) set_muted(nearby, friend, true);
        nearby->held++;
        nearby->hash += hash_u64((uint64_t) friend->user);
    }
    if (!same) set_dirty(nearby, friend);
    if (time < nearby->oldest) nearby->oldest = time;
}

/* friend: the user's entry, or NULL. near: `at` is within the radius. Returns the entry that the user has then, or NULL. */
static const struct nearby_friend *upsert(struct nearby *nearby, struct nearby_friend *friend, int64_t user,
                                          struct geo_point at, int64_t time, bool rounded, bool anew, bool near) {
    if (nearby->barred.count && id_set_has(&nearby->barred, user)) return NULL;
    bool held = friend && friend->flags & NEARBY_HELD;
    if (held && friend->time > time) return friend;
    if (near) {
        if (!friend) friend = table_insert(&nearby->table, nearby->lists, user);
        hold(nearby, friend, at, time, rounded, anew);
    } else if (held && drop(nearby, friend)) {
        table_take_out(&nearby->table, nearby->lists, friend);
        return NULL;
    }
    return friend;
}

static const struct lists_move *pending_move(const struct nearby *nearby, uint32_t which_one) {
    return &nearby->lists->moves[nearby->pending[which_one]];
}

/* Asks for the slots of some of what is pending. */
static void ask(const struct nearby *nearby, struct lists_asked *asked, uint32_t from, uint32_t to) {
    asked->count = to;
    for (uint32_t i = from; i < to; i++) {
        if (!nearby->table.capacity) {
            asked->slots[i] = NOWHERE;
            continue;
        }
        asked->slots[i] = table_likely(&nearby->table, pending_move(nearby, i)->user);
        const struct nearby_friend *friend = &nearby->table.slots[asked->slots[i]];
        __builtin_prefetch(friend, 1);
        __builtin_prefetch((const char *)(friend + 1) - 1, 1); /* a slot may lie in two cache lines */
    }
}

static struct nearby_friend *find_asked(const struct nearby *nearby, int64_t user, uint32_t slot) {
    struct nearby_friend *friend = slot < nearby->table.capacity ? &nearby->table.slots[slot] : NULL;
    return friend && friend->user == user && friend->flags ? friend : find(nearby, user);
}

void nearby_prefetch_tags(const struct nearby *nearby) {
    enum { LINE = 64, MANY = 8 };
    if (!nearby->table.capacity) return;
    for (uint32_t i = 0; i < nearby->pending_count; i++) __builtin_prefetch(pending_move(nearby, i));
    const uint8_t *tags = table_tags(&nearby->table);
    if (nearby->pending_count < MANY || nearby->table.capacity > MANY * NEARBY_PENDING) {
        for (uint32_t i = 0; i < nearby->pending_count; i++)
            __builtin_prefetch(tags + table_home(&nearby->table, table_hash(pending_move(nearby, i)->user)));
    } else {
        for (uint32_t i = 0; i < nearby->table.capacity; i += LINE) __builtin_prefetch(tags + i);
    }
}

void nearby_prefetch(const struct nearby *nearby) {
    struct lists_asked *asked = lists_asked_of(nearby->lists, nearby);
    if (asked->count < nearby->pending_count) ask(nearby, asked, asked->count, nearby->pending_count);
}

/* distance_m, slots: how far each is, and where it went, if nothing has moved since. */
static void settle(struct nearby *nearby, double *distance_m, uint32_t *slots) {
    uint32_t count = nearby->pending_count;
    struct lists_asked *asked = lists_asked_of(nearby->lists, nearby);
    for (uint32_t from = 0, to; from < count; from = to) {
        struct geo_point points[AT_ONCE];
        bool near[AT_ONCE];
        to = count - from < AT_ONCE ? count : from + AT_ONCE;
        if (to > asked->count) ask(nearby, asked, from, to);
        for (uint32_t i = from; i < to; i++) points[i - from] = pending_move(nearby, i)->at;
        geo_circle_look(&nearby->circle, points, to - from, near, distance_m + from);
        for (uint32_t i = from; i < to; i++) {
            const struct lists_move *move = pending_move(nearby, i);
            const struct nearby_friend *friend = NULL;
            if (move->time != LISTS_VOID)
                friend = upsert(nearby, find_asked(nearby, move->user, asked->slots[i]), move->user, move->at,
                                move->time, move->rounded, move->anew, near[i - from]);
            slots[i] = friend ? (uint32_t)(friend - nearby->table.slots) : NOWHERE;
        }
    }
    nearby->pending_count = 0;
    lists_asked_end(nearby->lists, nearby);
}

void nearby_settle(struct nearby *nearby) {
    double distance_m[NEARBY_PENDING];
    uint32_t slots[NEARBY_PENDING];
    if (nearby->pending_count) settle(nearby, distance_m, slots);
}

static void put(struct nearby *nearby, int64_t user, struct geo_point at, int64_t time, bool rounded) {
    nearby_settle(nearby);
    upsert(nearby, find(nearby, user), user, at, time, rounded, false, within(nearby, at));
}

void nearby_upsert(struct nearby *nearby, int64_t user, struct geo_point at, int64_t time) {
    put(nearby, user, at, time, false);
}

const struct nearby_friend *nearby_find(struct nearby *nearby, int64_t user) {
    nearby_settle(nearby);
    return find(nearby, user);
}

void nearby_remove(struct nearby *nearby, int64_t user) {
    nearby_settle(nearby);
    struct nearby_friend *friend = find(nearby, user);
    if (!friend) return;
    if (drop(nearby, friend)) table_take_out(&nearby->table, nearby->lists, friend);
}

/* True: the entry is dead now. */
static bool change_one(struct nearby *nearby, struct nearby_friend *friend, uint64_t what) {
    if (what == LISTS_GONE) return drop(nearby, friend);
    bool told = friend->flags & NEARBY_HELD && friend->flags & NEARBY_KNOWN && !(friend->flags & NEARBY_ROUNDED);
    if (told) set_dirty(nearby, friend);
    return false;
}

/* The fewer are looked for among the more. */
bool nearby_change_all(struct nearby *nearby, const struct map *users) {
    uint32_t held = nearby->held, dirty = nearby->dirty, dead = 0;
    if (map_count(users) < nearby->table.count) {
        size_t cursor = 0;
        uint64_t user, value;
        while (map_next(users, &cursor, &user, &value)) {
            struct nearby_friend *friend = find(nearby, (int64_t)user);
            if (friend) dead += change_one(nearby, friend, value);
        }
    } else {
        for (uint32_t i = 0; i < nearby->table.capacity; i++) {
            struct nearby_friend *friend = &nearby->table.slots[i];
            const uint64_t *what = friend->flags & NEARBY_HELD ? map_find(users, (uint64_t) friend->user) : NULL;
            if (what) dead += change_one(nearby, friend, *what);
        }
    }
    sweep(nearby, dead);
    return nearby->held != held || nearby->dirty != dirty;
}

void nearby_part(struct nearby *nearby, int64_t user) {
    nearby_remove(nearby, user);
    id_set_put(&nearby->barred, user);
}

void nearby_unbar_all(struct nearby *nearby) {
    nearby_settle(nearby);
    nearby->barred.count = 0;
}

void nearby_clear(struct nearby *nearby) {
    nearby_settle(nearby);
    uint32_t dead = 0;
    for (uint32_t i = 0; i < nearby->table.capacity; i++) dead += drop(nearby, &nearby->table.slots[i]);
    sweep(nearby, dead);
}

void nearby_roster_start(struct nearby *nearby) {
    nearby_settle(nearby);
    for (uint32_t i = 0; i < nearby->table.capacity; i++) nearby->table.slots[i].flags &= (uint8_t)~NAMED;
}

void nearby_roster_entry(struct nearby *nearby, int64_t user, struct geo_point at, int64_t time, bool rounded) {
    id_set_remove(&nearby->barred, user);
    if (time < 0) return;
    put(nearby, user, at, time, rounded);
    struct nearby_friend *friend = find(nearby, user);
    if (friend) friend->flags |= NAMED;
}

void nearby_roster_end(struct nearby *nearby, bool complete) {
    nearby_settle(nearby);
    if (complete) repair_roster(&nearby->repair);
    uint32_t dead = 0;
    for (uint32_t i = 0; i < nearby->table.capacity; i++) {
        struct nearby_friend *friend = &nearby->table.slots[i];
        if (complete && !(friend->flags & NAMED)) dead += drop(nearby, friend);
        friend->flags &= (uint8_t)~NAMED;
    }
    sweep(nearby, dead);
}

int64_t nearby_expire(struct nearby *nearby, int64_t now, int64_t inactive_ms) {
    nearby_settle(nearby);
    if (nearby->oldest != INT64_MAX && now - nearby->oldest >= inactive_ms) {
        uint32_t dead = 0;
        nearby->oldest = INT64_MAX;
        for (uint32_t i = 0; i < nearby->table.capacity; i++) {
            struct nearby_friend *friend = &nearby->table.slots[i];
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

bool nearby_digest(struct nearby *nearby, int64_t time, int32_t count, uint64_t hash, uint32_t strikes) {
    nearby_settle(nearby);
    if (time != nearby->time) return false;
    return repair_is_due(&nearby->repair, nearby->held == (uint32_t)count && nearby->hash == hash, strikes);
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
    nearby_settle(nearby);
    struct nearby_place *all = mem_alloc((nearby->held + 1) * sizeof *all);
    size_t count = 0;
    for (uint32_t i = 0; i < nearby->table.capacity; i++) {
        const struct nearby_friend *friend = &nearby->table.slots[i];
        if (!(friend->flags & NEARBY_HELD) || friend->flags & NEARBY_MUTED) continue;
        struct nearby_place place = {.friend = friend, .distance_m = geo_distance(nearby->at, friend->at)};
        if (!(friend->flags & NEARBY_KNOWN) || after_cursor(&place, after)) all[count++] = place;
    }
    qsort(all, count, sizeof *all, by_distance);
    *more = count > limit;
    if (count > limit) count = limit;
    for (size_t i = 0; i < count; i++) {
        struct nearby_friend *friend = &nearby->table.slots[all[i].friend - nearby->table.slots];
        friend->flags |= NEARBY_KNOWN;
        set_clean(nearby, friend);
        places[i] = all[i];
    }
    free(all);
    return count;
}

void nearby_walk_start(struct nearby *nearby, struct nearby_walk *walk) {
    uint32_t count = nearby->pending_count, shuffles = nearby->table.shuffles;
    walk->cursor = walk->next = walk->count = 0;
    memcpy(walk->moves, nearby->pending, count * sizeof *walk->moves);
    settle(nearby, walk->distances, walk->slots);
    if (shuffles == nearby->table.shuffles) walk->count = count;
}

/* First the whole is read, then a part of it is written: the other way round the processor would have to wait. */
static void tell(struct nearby *nearby, struct nearby_friend *friend, struct nearby_told *told) {
    told->friend = *friend;
    bool held = told->friend.flags & NEARBY_HELD, muted = told->friend.flags & NEARBY_MUTED;
    if (muted) told->friend.flags &= (uint8_t)~NEARBY_HELD;
    uint8_t rounded = told->friend.flags & NEARBY_ROUNDED;
    friend->flags = muted ? NEARBY_HELD | NEARBY_MUTED | rounded : held ? NEARBY_HELD | NEARBY_KNOWN | rounded : DEAD;
    nearby->dirty--;
    table_bury(&nearby->table, !held);
}

/* Entries whose moves were pending: their places, moves and distances are known. */
static size_t tell_pending(struct nearby *nearby, struct nearby_walk *walk, struct nearby_told *told, size_t most) {
    size_t count = 0;
    for (; walk->next < walk->count && count < most; walk->next++) {
        if (walk->slots[walk->next] == NOWHERE) continue;
        struct nearby_friend *friend = &nearby->table.slots[walk->slots[walk->next]];
        if (!(friend->flags & NEARBY_DIRTY)) continue;
        struct lists_move *move = &nearby->lists->moves[walk->moves[walk->next]];
        told[count].move = move;
        told[count].distance_m =
            is_at(friend, move->at) ? walk->distances[walk->next] : geo_circle_distance(&nearby->circle, friend->at);
        tell(nearby, friend, &told[count++]);
    }
    return count;
}

static size_t tell_marked(struct nearby *nearby, struct nearby_walk *walk, struct nearby_told *told, size_t most) {
    size_t count = 0;
    struct nearby_friend *friend;
    while (count < most && nearby->dirty && (friend = table_next_marked(&nearby->table, &walk->cursor))) {
        if (!(friend->flags & NEARBY_DIRTY)) continue;
        told[count].move = NULL;
        told[count].distance_m = geo_circle_distance(&nearby->circle, friend->at);
        tell(nearby, friend, &told[count++]);
    }
    return count;
}

size_t nearby_tell(struct nearby *nearby, struct nearby_walk *walk, struct nearby_told *told, size_t most) {
    size_t count = tell_pending(nearby, walk, told, most);
    count += tell_marked(nearby, walk, told + count, most - count);
    if (count == most) return count;
    table_unmark_all(&nearby->table);
    sweep(nearby, nearby->table.dead);
    return count;
}
