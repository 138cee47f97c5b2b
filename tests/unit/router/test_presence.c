/* Presence against a plain array with the rules written out again: random events of all kinds, look-ups one by one and in
 * bulk, growth, sweeps. Some users have one session, others up to twenty (devices.c). */
#include "router/presence.h"
#include "unit/kit/kit.h"

enum { USERS = 3000, EVENTS = 200000, SPREAD = 1 << 20, INACTIVE = 12800, STEP = 64 };

struct person {
    bool known, left;
    int64_t time, opted;
    int32_t lat;
    struct device_entry entries[DEVICES_MAX + 1]; /* heard: in steps, which do not come round here */
    size_t count;
};

static uint64_t seed = 1;
static int64_t below(uint64_t limit) { return (int64_t)(hash_u64(seed++) % limit); }

/* Ids far apart and close together, so that segments fill unevenly. */
static int64_t id_of(int number) { return number % 2 ? number : (int64_t)number * SPREAD; }

static size_t entry_of(const struct person *p, int64_t session) {
    size_t i = 0;
    while (i < p->count && p->entries[i].session != session) i++;
    return i;
}

static void remove_entry(struct person *p, size_t i) {
    if (i < p->count) p->entries[i] = p->entries[--p->count];
}

static void enter(struct person *p, const struct location *e, int64_t arrived) {
    uint16_t heard = (uint16_t)(arrived / STEP);
    size_t i = entry_of(p, e->session);
    if (e->route < 0) {
        remove_entry(p, i);
        return;
    }
    if (i < p->count && p->entries[i].heard > heard) heard = p->entries[i].heard;
    p->count += i == p->count;
    p->entries[i] = (struct device_entry){.session = e->session, .route = e->route, .heard = heard};
}

static enum presence_change expect(struct person *p, const struct location *e, int64_t arrived) {
    bool known = p->known;
    if (e->kind == LOCATION_LEAVE) {
        if (known && e->opted < p->opted) return PRESENCE_UNCHANGED;
        *p = (struct person){.known = true, .left = true, .time = e->time, .opted = e->opted};
        return PRESENCE_LEFT;
    }
    if (e->kind == LOCATION_QUIT) {
        remove_entry(p, entry_of(p, e->session));
        return PRESENCE_UNCHANGED;
    }
    if (known && p->left && e->opted <= p->opted) return PRESENCE_UNCHANGED;
    bool keeps = known && !p->left && p->time > e->time;
    if (!known) *p = (struct person){.opted = -1};
    p->known = true;
    p->left = false;
    if (e->opted > p->opted) p->opted = e->opted;
    if (e->session) enter(p, e, arrived);
    if (keeps) return e->kind == LOCATION_REPORT ? PRESENCE_OLDER : PRESENCE_JOINED;
    p->time = e->time;
    p->lat = e->lat;
    return PRESENCE_MOVED;
}

static struct location random_event(int number, int64_t clock) {
    static const enum location_kind KINDS[] = {LOCATION_REPORT, LOCATION_REPORT, LOCATION_REPORT, LOCATION_JOIN,
                                               LOCATION_REJOIN, LOCATION_QUIT,   LOCATION_LEAVE};
    bool leaves = below(20) == 0; /* rarely, or nobody would have many sessions */
    return (struct location){
        .user = id_of(number),
        .lat = (int32_t)below(900000000),
        .time = clock - below(50),
        .kind = KINDS[leaves ? 5 + below(2) : below(5)],
        .session = below(4) ? below(number % 10 ? 3 : 30) + 1 : 0,
        .route = (int32_t)below(30) - 1,
        .opted = below(4) - 1,
    };
}

/* One session too many: one of those that were silent for longest went, whichever. */
static void forget_the_silent(struct person *p, const struct device_entry *entries, size_t count) {
    size_t gone = p->count;
    assert_int_equal(count, DEVICES_MAX);
    for (size_t i = 0; i < p->count; i++) {
        size_t j = 0;
        while (j < count && entries[j].session != p->entries[i].session) j++;
        if (j == count) gone = i;
    }
    assert_true(gone < p->count);
    for (size_t i = 0; i < p->count; i++) assert_true(p->entries[i].heard >= p->entries[gone].heard);
    remove_entry(p, gone);
}

static void check_slot(const struct presence *presence, const struct presence_slot *slot, int number,
                       struct person *p) {
    struct device_entry entries[DEVICES_MAX];
    int32_t routes[DEVICES_MAX];
    if (!p->known) {
        assert_null(slot);
        return;
    }
    assert_non_null(slot);
    assert_int_equal(slot->user, id_of(number));
    assert_int_equal(slot->left != 0, p->left);
    assert_int_equal(slot->time, p->time);
    assert_int_equal(slot->opted, p->opted);
    if (!p->left) assert_int_equal(slot->at.lat, p->lat);
    size_t count = presence_entries(presence, slot, entries), known = presence_routes(presence, slot, routes);
    if (p->count > DEVICES_MAX) forget_the_silent(p, entries, count);
    assert_int_equal(count, p->count);
    assert_int_equal(slot->more, count > 1);
    assert_int_equal(slot->session != 0, count > 0);
    assert_int_equal(slot->route != PRESENCE_ROUTE_NONE, count > 0);
    for (size_t i = 0; i < count; i++) {
        size_t at = entry_of(p, entries[i].session), times = 0;
        assert_true(at < p->count);
        assert_int_equal(entries[i].route, p->entries[at].route);
        assert_int_equal(entries[i].heard, p->entries[at].heard);
        for (size_t j = 0; j < known; j++) times += routes[j] == entries[i].route;
        assert_int_equal(times, 1);
    }
    assert_true(known <= count);
}

static void check_all(const struct presence *presence, struct person *people) {
    int64_t ids[USERS];
    const struct presence_slot *found[USERS];
    size_t known = 0;
    for (int i = 0; i < USERS; i++) {
        ids[i] = id_of(i);
        check_slot(presence, presence_find(presence, ids[i]), i, &people[i]);
    }
    size_t hits = presence_find_many(presence, ids, USERS, found);
    for (int i = 0; i < USERS; i++) {
        if (!people[i].known) continue;
        assert_true(known < hits);
        assert_ptr_equal(found[known], presence_find(presence, ids[i]));
        known++;
    }
    assert_int_equal(hits, known);
    assert_int_equal(presence_count(presence), known);
}

/* A whole round of the sweep, in small budgets: it goes on where it ended. */
static void sweep(struct presence *presence, struct person *people, int64_t now) {
    for (int i = 0; i < 200; i++) presence_sweep(presence, now, 100);
    for (int i = 0; i < USERS; i++) {
        struct person *p = &people[i];
        for (size_t j = 0; j < p->count;) {
            if (now / STEP - p->entries[j].heard > INACTIVE / STEP + 1)
                remove_entry(p, j);
            else
                j++;
        }
        if (p->known && !p->count && p->time < now - 2 * INACTIVE) *p = (struct person){0};
    }
}

TEST(follows_the_rules) {
    struct presence *presence = presence_new(INACTIVE);
    FREED struct person *people = mem_zero(USERS, sizeof *people);
    for (int i = 0; i < EVENTS; i++) {
        int number = (int)below(below(4) ? USERS : USERS / 30), clock = 1000 + i;
        struct location event = random_event(number, clock);
        int64_t arrived = clock - below(900);
        struct presence_slot old;
        bool had, known = people[number].known, left = people[number].left;
        int64_t time = people[number].time;
        enum presence_change expected = expect(&people[number], &event, arrived);
        assert_int_equal(presence_apply(presence, &event, arrived, &old, &had), expected);
        assert_int_equal(had, known);
        if (had) assert_true(old.user == event.user && old.time == time && old.left == left);
        check_slot(presence, presence_find(presence, event.user), number, &people[number]);
        if (i % 20000 == 19999) check_all(presence, people);
        if (i % 50000 == 49999) {
            sweep(presence, people, clock);
            check_all(presence, people);
        }
    }
    sweep(presence, people, EVENTS + 4 * INACTIVE);
    check_all(presence, people);
    assert_int_equal(presence_count(presence), 0);
    presence_free(presence);
}

/* A session that goes on to say REJOIN keeps its route, though nobody has reported for long. */
TEST(a_silent_user_stays_while_a_session_speaks) {
    struct presence *presence = presence_new(INACTIVE);
    struct location event = {.user = 7, .time = 1000, .kind = LOCATION_JOIN, .session = 5, .route = 3, .opted = 0};
    int64_t now = 1000;
    presence_apply(presence, &event, now, NULL, NULL);
    event.kind = LOCATION_REJOIN;
    for (int i = 0; i < 40; i++) {
        now += INACTIVE / 3;
        presence_apply(presence, &event, now, NULL, NULL);
        presence_sweep(presence, now, SIZE_MAX);
        assert_int_equal(presence_find(presence, 7)->route, 3);
    }
    presence_sweep(presence, now + INACTIVE + 2 * STEP, SIZE_MAX);
    assert_null(presence_find(presence, 7));
    presence_free(presence);
}

TEST(stays_within_its_memory) {
    enum { MANY = 1000000 };
    struct presence *presence = presence_new(600000);
    for (int64_t user = 0; user < MANY; user++) {
        struct location event = {
            .user = user * 7, .time = 1, .kind = LOCATION_JOIN, .session = 1, .route = 0, .opted = 0};
        presence_apply(presence, &event, event.time, NULL, NULL);
    }
    assert_int_equal(presence_count(presence), MANY);
    assert_true((double)presence_bytes(presence) / MANY <= 48);
    presence_free(presence);
}

TEST(refuses_what_it_cannot_hold) {
    struct location good = {.user = 1, .time = 1, .route = PRESENCE_ROUTE_MAX, .opted = -1};
    assert_true(presence_valid(&good));
    struct location bad[] = {good, good, good, good, good, good, good, good};
    bad[0].user = -1;
    bad[1].time = PRESENCE_TIME_MAX + 1;
    bad[2].time = -1;
    bad[3].route = PRESENCE_ROUTE_MAX + 1;
    bad[4].route = -2;
    bad[5].opted = -2;
    bad[6].lat = 900000001;
    bad[7].session = -1;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(presence_valid(&bad[i]));
}
