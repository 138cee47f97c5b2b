/* Presence against a plain array with the rules written out again: random events of all kinds, look-ups one by one and in
 * bulk, growth, sweeps. */
#include "router/presence.h"
#include "unit/kit/kit.h"

enum { USERS = 3000, EVENTS = 200000, SPREAD = 1 << 20 };

struct person {
    bool known, left;
    int64_t session, time, opted;
    int32_t lat, route;
};

static uint64_t seed = 1;
static int64_t below(uint64_t limit) { return (int64_t)(hash_u64(seed++) % limit); }

/* Ids far apart and close together, so that segments fill unevenly. */
static int64_t id_of(int number) { return number % 2 ? number : (int64_t)number * SPREAD; }

static enum presence_change expect(struct person *p, const struct location *e) {
    bool known = p->known;
    if (e->kind == LOCATION_LEAVE) {
        if (known && e->opted < p->opted) return PRESENCE_UNCHANGED;
        *p = (struct person){
            .known = true, .left = true, .session = p->session, .time = e->time, .opted = e->opted, .route = -1};
        return PRESENCE_LEFT;
    }
    if (e->kind == LOCATION_QUIT) {
        if (known && p->session == e->session) p->route = -1;
        return PRESENCE_UNCHANGED;
    }
    if (known && p->left && e->opted <= p->opted) return PRESENCE_UNCHANGED;
    if (known && e->session && p->session && e->session < p->session) return PRESENCE_SUPERSEDED;
    bool keeps = known && !p->left && p->time > e->time;
    if (!known) *p = (struct person){.opted = -1, .route = -1};
    p->known = true;
    p->left = false;
    if (e->opted > p->opted) p->opted = e->opted;
    if (e->session) {
        p->session = e->session;
        p->route = e->route;
    }
    if (keeps) return e->kind == LOCATION_REPORT ? PRESENCE_UNCHANGED : PRESENCE_JOINED;
    p->time = e->time;
    p->lat = e->lat;
    return PRESENCE_MOVED;
}

static struct location random_event(int number, int64_t clock) {
    static const enum location_kind KINDS[] = {LOCATION_REPORT, LOCATION_REPORT, LOCATION_REPORT, LOCATION_JOIN,
                                               LOCATION_REJOIN, LOCATION_QUIT,   LOCATION_LEAVE};
    return (struct location){
        .user = id_of(number),
        .lat = (int32_t)below(900000000),
        .time = clock - below(50),
        .kind = KINDS[below(7)],
        .session = below(4) ? below(6) + 1 : 0,
        .route = (int32_t)below(5) - 1,
        .opted = below(4) - 1,
    };
}

static void check_slot(const struct presence_slot *slot, int number, const struct person *p) {
    if (!p->known) {
        assert_null(slot);
        return;
    }
    assert_non_null(slot);
    assert_int_equal(slot->user, id_of(number));
    assert_int_equal(slot->left != 0, p->left);
    assert_int_equal(slot->session, p->session);
    assert_int_equal(slot->time, p->time);
    assert_int_equal(slot->opted, p->opted);
    assert_int_equal(slot->route, p->route);
    if (!p->left) assert_int_equal(slot->at.lat, p->lat);
}

static void check_all(const struct presence *presence, const struct person *people) {
    int64_t ids[USERS];
    const struct presence_slot *found[USERS];
    size_t known = 0;
    for (int i = 0; i < USERS; i++) {
        ids[i] = id_of(i);
        check_slot(presence_find(presence, ids[i]), i, &people[i]);
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
static void sweep(struct presence *presence, struct person *people, int64_t before) {
    for (int i = 0; i < 200; i++) presence_sweep(presence, before, 100);
    for (int i = 0; i < USERS; i++) {
        if (people[i].known && people[i].time < before) people[i] = (struct person){0};
    }
}

TEST(follows_the_rules) {
    struct presence *presence = presence_new();
    FREED struct person *people = mem_zero(USERS, sizeof *people);
    for (int i = 0; i < EVENTS; i++) {
        int number = (int)below(USERS), clock = 1000 + i;
        struct location event = random_event(number, clock);
        struct person before = people[number];
        struct presence_slot old;
        bool had;
        enum presence_change expected = expect(&people[number], &event);
        assert_int_equal(presence_apply(presence, &event, &old, &had), expected);
        assert_int_equal(had, before.known);
        if (had) check_slot(&old, number, &before);
        check_slot(presence_find(presence, event.user), number, &people[number]);
        if (i % 20000 == 19999) check_all(presence, people);
        if (i % 50000 == 49999) {
            sweep(presence, people, clock - 2000);
            check_all(presence, people);
        }
    }
    sweep(presence, people, INT64_MAX);
    check_all(presence, people);
    assert_int_equal(presence_count(presence), 0);
    presence_free(presence);
}

TEST(stays_within_its_memory) {
    enum { MANY = 1000000 };
    struct presence *presence = presence_new();
    for (int64_t user = 0; user < MANY; user++) {
        struct location event = {
            .user = user * 7, .time = 1, .kind = LOCATION_JOIN, .session = 1, .route = 0, .opted = 0};
        presence_apply(presence, &event, NULL, NULL);
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
