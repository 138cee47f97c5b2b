#include "fanout/nearby/nearby.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

enum {
    NAMED = 0x40, /* flag, within a roster: an entry that it names */
    DEAD = 0x80,  /* flag, within a walk or a sweep: neither held nor known, keeps its slot until the end */
    AT_ONCE = 16,
    TAGS_AT_ONCE = 8,
    SLOTS_LEAST_BITS = 2,
    SPARSE = 8,            /* a table with fewer than one slot in so many in use becomes smaller */
    FRUITLESS_PATIENT = 2, /* repairs that may fail before the next ones wait longer */
    BACKOFF_MAX = 5        /* doublings */
};

static const uint32_t NOWHERE = UINT32_MAX; /* no slot */

void nearby_init(struct nearby *nearby, struct lists *lists, double radius_m) {
    struct geo_point nowhere = {0, 0};
    *nearby = (struct nearby){
        .lists = lists, .circle = geo_circle(nowhere, radius_m), .at = nowhere, .time = -1, .oldest = INT64_MAX};
}

void nearby_free(struct nearby *nearby) {
    lists_asked_end(nearby->lists, nearby);
    lists_table_free(nearby->lists, nearby->capacity, nearby->slots);
    free(nearby->barred);
    nearby->slots = NULL;
    nearby->barred = NULL;
    nearby->pending_count = 0;
    nearby->count = nearby->capacity = nearby->barred_count = nearby->barred_capacity = 0;
}

/* ---- the table ---- */

static uint32_t home(const struct nearby *nearby, uint64_t hash) { return (uint32_t)hash & (nearby->capacity - 1); }

static uint8_t *tags_of(const struct nearby *nearby) { return (uint8_t *)(nearby->slots + nearby->capacity); }

static size_t table_bytes(uint32_t capacity) {
    return capacity ? capacity * (sizeof(struct nearby_friend) + 1) + TAGS_AT_ONCE : 0;
}

/* For the table; a Digest's is another. */
static uint64_t table_hash(int64_t user) { return hash_fold((uint64_t)user); }

static uint8_t tag_of(uint64_t hash) { return (uint8_t)(hash >> 57 | 0x80); }

/* Behind the last tag the first ones are repeated, so that as many as are looked at together never end in between. */
static void set_tag(struct nearby *nearby, uint32_t slot, uint8_t tag) {
    for (uint32_t i = slot; i < nearby->capacity + TAGS_AT_ONCE; i += nearby->capacity) tags_of(nearby)[i] = tag;
}

/* Bit 7 of each of eight tags in a row, the first one's lowest. */
struct group {
    uint64_t equal; /* it is this one, and nothing before it is free (or, rarely, it differs in its lowest bit) */
    uint64_t free;
};

static struct group look(const struct nearby *nearby, uint32_t slot, uint8_t tag) {
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones * 0x80;
    uint64_t tags = bytes_get_le64(tags_of(nearby) + slot), other = tags ^ ones * tag, free = ~tags & highs;
    return (struct group){.equal = (other - ones) & ~other & highs & ((free & -free) - 1), .free = free};
}

static uint32_t which(uint64_t bits) { return (uint32_t)__builtin_ctzll(bits) / 8; }

/* The user's slot, or the free one where it would go. There is a table, and it is never full. */
static uint32_t probe(const struct nearby *nearby, int64_t user) {
    uint64_t hash = table_hash(user);
    uint32_t mask = nearby->capacity - 1;
    for (uint32_t from = home(nearby, hash);; from = (from + TAGS_AT_ONCE) & mask) {
        struct group group = look(nearby, from, tag_of(hash));
        for (; group.equal; group.equal &= group.equal - 1) {
            uint32_t slot = (from + which(group.equal)) & mask;
            if (nearby->slots[slot].user == user) return slot;
        }
        if (group.free) return (from + which(group.free)) & mask;
    }
}

static struct nearby_friend *find(const struct nearby *nearby, int64_t user) {
    if (!nearby->count) return NULL;
    uint32_t slot = probe(nearby, user);
    return tags_of(nearby)[slot] ? &nearby->slots[slot] : NULL; /* who is not here costs no look at a slot */
}

static bool is_entry(const struct nearby_friend *friend) { return friend->flags & (NEARBY_HELD | NEARBY_KNOWN); }

static void mark(struct nearby *nearby, uint32_t slot) {
    uint32_t at = slot >> nearby->mark_shift;
    nearby->marks[at / 64] |= (uint64_t)1 << at % 64;
}

/* Puts the entries into a new table, with room for `wanted`. */
static void rehash(struct nearby *nearby, uint32_t wanted) {
    struct nearby_friend *old = nearby->slots;
    uint32_t old_capacity = nearby->capacity, bits = SLOTS_LEAST_BITS;
    while (wanted * 8 > (7u << bits)) bits++;
    nearby->slots = wanted ? lists_table_new(nearby->lists, 1u << bits, table_bytes(1u << bits)) : NULL;
    nearby->capacity = wanted ? 1u << bits : 0;
    nearby->mark_shift = bits > NEARBY_MARK_BITS ? bits - NEARBY_MARK_BITS : 0;
    nearby->count = 0;
    memset(nearby->marks, 0, sizeof nearby->marks);
    for (uint32_t i = 0; i < old_capacity; i++) {
        if (!is_entry(&old[i])) continue;
        uint32_t slot = probe(nearby, old[i].user);
        nearby->slots[slot] = old[i];
        set_tag(nearby, slot, tag_of(table_hash(old[i].user)));
        if (old[i].flags & NEARBY_DIRTY) mark(nearby, slot);
        nearby->count++;
    }
    nearby->dead = 0;
    nearby->shuffles++;
    lists_table_free(nearby->lists, old_capacity, old);
}

static struct nearby_friend *insert(struct nearby *nearby, int64_t user) {
    if ((nearby->count + 1) * 8 > nearby->capacity * 7) rehash(nearby, nearby->count + 1);
    uint32_t slot = probe(nearby, user);
    struct nearby_friend *friend = &nearby->slots[slot];
    *friend = (struct nearby_friend){.user = user};
    set_tag(nearby, slot, tag_of(table_hash(user)));
    nearby->count++;
    return friend;
}

/* Frees a slot, and fills it with what may not stay behind a free one, and so on to the run's end. */
static void take_out(struct nearby *nearby, struct nearby_friend *friend) {
    uint32_t mask = nearby->capacity - 1, hole = (uint32_t)(friend - nearby->slots);
    for (uint32_t i = (hole + 1) & mask; nearby->slots[i].flags; i = (i + 1) & mask) {
        if (((i - home(nearby, table_hash(nearby->slots[i].user))) & mask) < ((i - hole) & mask)) continue;
        nearby->slots[hole] = nearby->slots[i];
        set_tag(nearby, hole, tags_of(nearby)[i]);
        if (nearby->slots[i].flags & NEARBY_DIRTY) mark(nearby, hole);
        hole = i;
    }
    nearby->slots[hole] = (struct nearby_friend){0};
    set_tag(nearby, hole, 0);
    nearby->count--;
    nearby->shuffles++;
    if (nearby->count * SPARSE < nearby->capacity && nearby->capacity > 1 << SLOTS_LEAST_BITS)
        rehash(nearby, nearby->count);
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
    mark(nearby, (uint32_t)(friend - nearby->slots));
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
    nearby_settle(nearby);
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

static bool is_at(const struct nearby_friend *friend, struct geo_point at) {
    return friend->at.lat == at.lat && friend->at.lng == at.lng;
}

/* Puts the position down whatever was there; the caller has decided that it counts. */
static void hold(struct nearby *nearby, struct nearby_friend *friend, struct geo_point at, int64_t time) {
    bool held = friend->flags & NEARBY_HELD;
    bool same = held && friend->time == time && is_at(friend, at);
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

/* friend: the user's entry, or NULL. near: whether `at` is within the radius. Where it is then; NULL: it is not. */
static const struct nearby_friend *upsert(struct nearby *nearby, struct nearby_friend *friend, int64_t user,
                                          struct geo_point at, int64_t time, bool near) {
    if (nearby->barred_count && is_barred(nearby, user)) return NULL;
    bool held = friend && friend->flags & NEARBY_HELD;
    if (held && friend->time > time) return friend;
    if (near) {
        if (!friend) friend = insert(nearby, user);
        hold(nearby, friend, at, time);
    } else if (held && drop(nearby, friend)) {
        take_out(nearby, friend);
        return NULL;
    }
    return friend;
}

static const struct lists_move *pending_move(const struct nearby *nearby, uint32_t which_one) {
    return &nearby->lists->moves[nearby->pending[which_one]];
}

/* Where a tag is equal, or where the entry would go, in all likelihood: no look at the slots themselves. */
static uint32_t likely(const struct nearby *nearby, int64_t user) {
    uint64_t hash = table_hash(user);
    uint32_t mask = nearby->capacity - 1;
    for (uint32_t from = home(nearby, hash);; from = (from + TAGS_AT_ONCE) & mask) {
        struct group group = look(nearby, from, tag_of(hash));
        uint64_t bits = group.equal ? group.equal : group.free;
        if (bits) return (from + which(bits)) & mask;
    }
}

/* Asks for the slots of some of what is pending. */
static void ask(const struct nearby *nearby, struct lists_asked *asked, uint32_t from, uint32_t to) {
    asked->count = to;
    for (uint32_t i = from; i < to; i++) {
        if (!nearby->capacity) {
            asked->slots[i] = NOWHERE;
            continue;
        }
        asked->slots[i] = likely(nearby, pending_move(nearby, i)->user);
        const struct nearby_friend *friend = &nearby->slots[asked->slots[i]];
        __builtin_prefetch(friend, 1);
        __builtin_prefetch((const char *)(friend + 1) - 1, 1); /* a slot may lie in two cache lines */
    }
}

static struct nearby_friend *find_asked(const struct nearby *nearby, int64_t user, uint32_t slot) {
    struct nearby_friend *friend = slot < nearby->capacity ? &nearby->slots[slot] : NULL;
    return friend && friend->user == user && friend->flags ? friend : find(nearby, user);
}

void nearby_prefetch_tags(const struct nearby *nearby) {
    enum { LINE = 64, MANY = 8 };
    if (!nearby->capacity) return;
    for (uint32_t i = 0; i < nearby->pending_count; i++) __builtin_prefetch(pending_move(nearby, i));
    const uint8_t *tags = tags_of(nearby);
    if (nearby->pending_count < MANY || nearby->capacity > MANY * NEARBY_PENDING) {
        for (uint32_t i = 0; i < nearby->pending_count; i++)
            __builtin_prefetch(tags + home(nearby, table_hash(pending_move(nearby, i)->user)));
    } else {
        for (uint32_t i = 0; i < nearby->capacity; i += LINE) __builtin_prefetch(tags + i);
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
                                move->time, near[i - from]);
            slots[i] = friend ? (uint32_t)(friend - nearby->slots) : NOWHERE;
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

void nearby_upsert(struct nearby *nearby, int64_t user, struct geo_point at, int64_t time) {
    nearby_settle(nearby);
    upsert(nearby, find(nearby, user), user, at, time, within(nearby, at));
}

const struct nearby_friend *nearby_find(struct nearby *nearby, int64_t user) {
    nearby_settle(nearby);
    return find(nearby, user);
}

void nearby_remove(struct nearby *nearby, int64_t user) {
    nearby_settle(nearby);
    struct nearby_friend *friend = find(nearby, user);
    if (!friend) return;
    if (drop(nearby, friend)) take_out(nearby, friend);
}

/* The fewer are looked for among the more. */
bool nearby_remove_all(struct nearby *nearby, const struct map *users) {
    uint32_t held = nearby->held, dead = 0;
    if (map_count(users) < nearby->count) {
        size_t cursor = 0;
        uint64_t user, value;
        while (map_next(users, &cursor, &user, &value)) {
            struct nearby_friend *friend = find(nearby, (int64_t)user);
            if (friend) dead += drop(nearby, friend);
        }
    } else {
        for (uint32_t i = 0; i < nearby->capacity; i++) {
            struct nearby_friend *friend = &nearby->slots[i];
            if (friend->flags & NEARBY_HELD && map_find(users, (uint64_t) friend->user)) dead += drop(nearby, friend);
        }
    }
    sweep(nearby, dead);
    return nearby->held != held;
}

void nearby_part(struct nearby *nearby, int64_t user) {
    nearby_remove(nearby, user);
    bar(nearby, user);
}

void nearby_unbar_all(struct nearby *nearby) {
    nearby_settle(nearby);
    nearby->barred_count = 0;
}

void nearby_clear(struct nearby *nearby) {
    nearby_settle(nearby);
    uint32_t dead = 0;
    for (uint32_t i = 0; i < nearby->capacity; i++) dead += drop(nearby, &nearby->slots[i]);
    sweep(nearby, dead);
}

void nearby_roster_start(struct nearby *nearby) {
    nearby_settle(nearby);
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
    nearby_settle(nearby);
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
    nearby_settle(nearby);
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
    nearby_settle(nearby);
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
    nearby_settle(nearby);
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

/* The next slot of the walk that is marked; NULL: no more. */
static struct nearby_friend *next_slot(struct nearby *nearby, uint32_t *cursor) {
    uint32_t shift = nearby->mark_shift, at;
    while ((at = *cursor >> shift) < nearby->capacity >> shift) {
        uint64_t marks = nearby->marks[at / 64] >> at % 64;
        if (marks & 1) {
            struct nearby_friend *friend = &nearby->slots[(*cursor)++];
            if (*cursor >> shift != at) nearby->marks[at / 64] &= ~((uint64_t)1 << at % 64);
            return friend;
        }
        *cursor = (marks ? at + (uint32_t)__builtin_ctzll(marks) : (at | 63) + 1) << shift;
    }
    return NULL;
}

void nearby_walk_start(struct nearby *nearby, struct nearby_walk *walk) {
    uint32_t count = nearby->pending_count, shuffles = nearby->shuffles;
    walk->cursor = walk->next = walk->count = 0;
    memcpy(walk->moves, nearby->pending, count * sizeof *walk->moves);
    settle(nearby, walk->distances, walk->slots);
    if (shuffles == nearby->shuffles) walk->count = count;
}

/* First the whole is read, then a part of it is written: the other way round the processor would have to wait. */
static void tell(struct nearby *nearby, struct nearby_friend *friend, struct nearby_told *told) {
    told->friend = *friend;
    bool held = told->friend.flags & NEARBY_HELD;
    friend->flags = held ? NEARBY_HELD | NEARBY_KNOWN : DEAD;
    nearby->dirty--;
    nearby->dead += !held;
}

/* What was pending: where that is, whose move it was, and how far away, is known. */
static size_t tell_pending(struct nearby *nearby, struct nearby_walk *walk, struct nearby_told *told, size_t most) {
    size_t count = 0;
    for (; walk->next < walk->count && count < most; walk->next++) {
        if (walk->slots[walk->next] == NOWHERE) continue;
        struct nearby_friend *friend = &nearby->slots[walk->slots[walk->next]];
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
    while (count < most && nearby->dirty && (friend = next_slot(nearby, &walk->cursor))) {
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
    memset(nearby->marks, 0, sizeof nearby->marks);
    sweep(nearby, nearby->dead);
    return count;
}

size_t nearby_bytes(const struct nearby *nearby) {
    return table_bytes(nearby->capacity) + nearby->barred_capacity * sizeof *nearby->barred;
}
