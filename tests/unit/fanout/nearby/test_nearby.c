/* Tests nearby.c, id_set.c, lists.c, repair.c, table.c and view.c. What a session's screen shows, against a plain model, under random
 * operations; and a simulated phone, which knows only the pages and updates that it is sent, against both. Then what digests ask for,
 * case by case. */
#include <math.h>

#include "fanout/nearby/nearby.h"
#include "unit/kit/kit.h"

enum { USERS = 24, HISTORIES = 400, STEPS = 300, PAGE = 4, INACTIVE = 50, CROWD = 131 };
#define RADIUS_M 1000.0
#define CELL_E7 20000 /* some 222 m: positions repeat, and lie on both sides of the radius */

struct entry {
    bool there;
    struct geo_point at;
    int64_t time;
    bool rounded;
};

struct world {
    uint64_t seed;
    int64_t now;
    struct nearby nearby;
    /* the model */
    struct geo_point at;
    struct entry held[USERS];
    bool barred[USERS];
    bool muted[USERS];
    /* the phone */
    struct entry phone[USERS];
    bool paged, more;
    struct nearby_cursor cursor;
};

static uint64_t chance(struct world *w, uint64_t below) { return hash_u64(w->seed++) % below; }

/* User ids are not their indexes, and do not lie close together. One is 0, as are free slots. */
static int64_t id_of(uint64_t user) { return (int64_t)(user * user * 7919); }

static int user_of(int64_t id) {
    for (int user = 0; user < USERS; user++) {
        if (id_of((uint64_t)user) == id) return user;
    }
    fail_msg("nobody has the id %lld", (long long)id);
    return -1;
}

static struct geo_point somewhere(struct world *w) {
    return (struct geo_point){399000000 + (int32_t)chance(w, 12) * CELL_E7,
                              1163000000 + (int32_t)chance(w, 12) * CELL_E7};
}

static bool same(const struct entry *entry, const struct nearby_friend *friend) {
    return entry->there && entry->at.lat == friend->at.lat && entry->at.lng == friend->at.lng &&
           entry->time == friend->time && entry->rounded == !!(friend->flags & NEARBY_ROUNDED);
}

static struct lists *lists;

SET_UP_ONCE() { return lists = lists_new(); }

TEAR_DOWN(void *made) { lists_free(lists); }

/* ---- the model ---- */

static void model_locate(struct world *w, struct geo_point at) {
    w->at = at;
    for (int user = 0; user < USERS; user++) {
        if (geo_distance(at, w->held[user].at) > RADIUS_M) w->held[user].there = false;
    }
}

static void model_upsert(struct world *w, int user, struct geo_point at, int64_t time, bool rounded) {
    if (w->barred[user] || (w->held[user].there && w->held[user].time > time)) return;
    w->held[user] =
        (struct entry){.there = geo_distance(w->at, at) <= RADIUS_M, .at = at, .time = time, .rounded = rounded};
}

/* ---- what is done to both ---- */

static void locate(struct world *w) {
    struct geo_point at = somewhere(w);
    model_locate(w, at);
    nearby_locate(&w->nearby, at, w->now);
}

static void upsert(struct world *w) {
    int user = (int)chance(w, USERS);
    struct geo_point at = somewhere(w);
    int64_t time = w->now - (int64_t)chance(w, 5);
    model_upsert(w, user, at, time, false);
    nearby_upsert(&w->nearby, id_of((uint64_t)user), at, time);
}

static void note(struct world *w) {
    int user = (int)chance(w, USERS);
    struct lists_move move = {
        .user = id_of((uint64_t)user), .at = somewhere(w), .time = w->now - (int64_t)chance(w, 5)};
    move.rounded = chance(w, 3) == 0;
    model_upsert(w, user, move.at, move.time, move.rounded);
    if (!lists_room(lists)) {
        nearby_settle(&w->nearby);
        lists_forget(lists);
    }
    bool first = !w->nearby.pending_count || move.time < w->nearby.oldest;
    bool look = nearby_note(&w->nearby, lists_put(lists, &move), move.time);
    assert_int_equal(look, first || !w->nearby.pending_count);
    assert_true(w->nearby.oldest <= move.time);
}

/* It comes soon, or it and two others do, so that what was found out about one of them is forgotten. */
static void prefetch(struct world *w) {
    struct nearby others[2];
    nearby_prefetch_tags(&w->nearby);
    for (int i = 0; i < 2; i++) nearby_init(&others[i], lists, RADIUS_M);
    if (chance(w, 3)) nearby_prefetch(&w->nearby);
    for (int i = (int)chance(w, 3); i > 0; i--) nearby_prefetch(&others[i - 1]);
    if (chance(w, 3)) nearby_prefetch(&w->nearby);
    for (int i = 0; i < 2; i++) nearby_free(&others[i]);
}

static void take_away(struct world *w, bool part) {
    int user = (int)chance(w, USERS);
    w->held[user].there = false;
    w->barred[user] |= part;
    if (part)
        nearby_part(&w->nearby, id_of((uint64_t)user));
    else
        nearby_remove(&w->nearby, id_of((uint64_t)user));
}

static void mute(struct world *w) {
    int user = (int)chance(w, USERS);
    w->muted[user] = chance(w, 2);
    nearby_mute(&w->nearby, id_of((uint64_t)user), w->muted[user]);
}

static void hide(struct world *w) {
    struct map *users = map_new();
    bool any = false;
    for (int i = (int)chance(w, chance(w, 2) ? 3 : 2 * USERS); i >= 0; i--) {
        int user = (int)chance(w, USERS);
        any |= w->held[user].there;
        w->held[user].there = false;
        map_put(users, (uint64_t)id_of((uint64_t)user), NULL);
    }
    bool settled = !w->nearby.pending_count;
    lists_void(lists, users);
    bool removed = nearby_change_all(&w->nearby, users);
    if (settled) assert_int_equal(removed, any);
    map_free(users);
}

static void clear(struct world *w) {
    for (int user = 0; user < USERS; user++) w->held[user].there = false;
    nearby_clear(&w->nearby);
}

static void unbar(struct world *w) {
    for (int user = 0; user < USERS; user++) w->barred[user] = false;
    nearby_unbar_all(&w->nearby);
}

static void roster(struct world *w) {
    bool complete = chance(w, 2), named[USERS] = {false};
    nearby_roster_start(&w->nearby);
    for (int i = (int)chance(w, USERS); i > 0; i--) {
        int user = (int)chance(w, USERS);
        struct geo_point at = somewhere(w);
        int64_t time = w->now - (int64_t)chance(w, 5);
        named[user] = true;
        w->barred[user] = false;
        bool rounded = chance(w, 3) == 0;
        model_upsert(w, user, at, time, rounded);
        nearby_roster_entry(&w->nearby, id_of((uint64_t)user), at, time, rounded);
    }
    for (int user = 0; complete && user < USERS; user++) w->held[user].there &= named[user];
    nearby_roster_end(&w->nearby, complete);
}

static void expire(struct world *w) {
    int64_t next = INT64_MAX;
    w->now += (int64_t)chance(w, 2 * INACTIVE);
    for (int user = 0; user < USERS; user++) {
        w->held[user].there &= w->now - w->held[user].time < INACTIVE;
        if (w->held[user].there && w->held[user].time + INACTIVE < next) next = w->held[user].time + INACTIVE;
    }
    /* It may say to come too early, never too late, and never a time that has passed. */
    int64_t said = nearby_expire(&w->nearby, w->now, INACTIVE);
    assert_true(said <= next);
    assert_true(said > w->now);
}

/* ---- the phone ---- */

static void show(struct world *w, const struct nearby_friend *friend) {
    int user = user_of(friend->user);
    assert_true(same(&w->held[user], friend));
    assert_false(w->muted[user]);
    w->phone[user] = w->held[user];
}

static void get_page(struct world *w, struct nearby_cursor after) {
    struct nearby_place places[PAGE];
    size_t count = nearby_page(&w->nearby, after, places, PAGE, &w->more);
    assert_true(count == PAGE || !w->more);
    for (size_t i = 0; i < count; i++) {
        assert_true(places[i].distance_m == geo_distance(w->at, places[i].friend->at));
        if (i) assert_true(places[i].distance_m >= places[i - 1].distance_m);
        show(w, places[i].friend);
    }
    if (count) w->cursor = (struct nearby_cursor){places[count - 1].distance_m, places[count - 1].friend->user};
    w->paged = true;
}

static void page(struct world *w) {
    if (w->paged && w->more)
        get_page(w, w->cursor);
    else if (chance(w, 4) == 0)
        get_page(w, (struct nearby_cursor){-1, -1});
}

static void check_phone(struct world *w) {
    for (int user = 0; user < USERS; user++) {
        const struct entry *held = &w->held[user];
        assert_int_equal(w->phone[user].there, held->there && !w->muted[user]);
        if (!w->phone[user].there) continue;
        assert_memory_equal(&w->phone[user].at, &held->at, sizeof held->at);
        assert_true(w->phone[user].time == held->time && w->phone[user].rounded == held->rounded);
    }
}

static void update(struct world *w) {
    struct nearby_told told;
    if (!w->paged) return;
    struct nearby_walk walk;
    nearby_walk_start(&w->nearby, &walk);
    uint32_t count = 0, dirty = w->nearby.dirty;
    while (nearby_tell(&w->nearby, &walk, &told, 1)) {
        const struct nearby_friend *friend = &told.friend;
        if (told.move) assert_true(told.move->user == friend->user);
        count++;
        if (friend->flags & NEARBY_HELD) {
            assert_true(fabs(told.distance_m - geo_distance(w->nearby.at, friend->at)) < 1e-5);
            show(w, friend);
        } else {
            assert_true(w->phone[user_of(friend->user)].there); /* nobody is gone who was not there */
            w->phone[user_of(friend->user)].there = false;
        }
    }
    assert_int_equal(count, dirty);
    assert_int_equal(w->nearby.dirty, 0);
    check_phone(w);
}

/* ---- the comparison ---- */

static void check(struct world *w) {
    uint32_t held = 0, dirty = 0, muted = 0;
    uint64_t hash = 0;
    for (int user = 0; user < USERS; user++) {
        const struct nearby_friend *friend = nearby_find(&w->nearby, id_of((uint64_t)user));
        bool there = friend && friend->flags & NEARBY_HELD;
        assert_int_equal(there, w->held[user].there);
        if (!friend) assert_false(w->phone[user].there);
        if (!there) continue;
        assert_true(same(&w->held[user], friend));
        assert_true(w->nearby.oldest <= friend->time);
        assert_int_equal(!(friend->flags & NEARBY_MUTED), !w->muted[user]);
        muted += w->muted[user];
        hash += hash_u64((uint64_t) friend->user);
        held++;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->nearby.table.capacity; i++) {
        const struct nearby_friend *friend = &w->nearby.table.slots[i];
        if (!friend->flags) continue;
        count++;
        assert_ptr_equal(nearby_find(&w->nearby, friend->user), friend);
        assert_true(friend->flags & (NEARBY_HELD | NEARBY_KNOWN));
        assert_int_equal(friend->flags & ~(NEARBY_HELD | NEARBY_KNOWN | NEARBY_DIRTY | NEARBY_MUTED | NEARBY_ROUNDED),
                         0);
        if (!(friend->flags & NEARBY_HELD)) assert_true(friend->flags & NEARBY_DIRTY); /* the phone must hear of it */
        dirty += friend->flags & NEARBY_DIRTY ? 1 : 0;
    }
    assert_int_equal(w->nearby.table.count, count);
    assert_int_equal(w->nearby.held, held);
    assert_int_equal(nearby_shown(&w->nearby), held - muted);
    assert_int_equal(w->nearby.dirty, dirty);
    assert_true(w->nearby.hash == hash);
}

/* notes: of a hundred steps so many are moves that are put off, and so rarely is the list looked at. */
static void compare(uint64_t seed, uint64_t notes) {
    struct world w = {.seed = seed << 32, .now = 1000};
    lists->count = (uint32_t)LISTS_MOVES - (uint32_t)chance(&w, STEPS);
    nearby_init(&w.nearby, lists, RADIUS_M);
    locate(&w);
    for (int step = 0; step < STEPS; step++) {
        uint64_t what = chance(&w, 100);
        w.now += (int64_t)chance(&w, 2);
        if (chance(&w, 4) == 0) prefetch(&w);
        if (chance(&w, 100) < notes)
            note(&w);
        else if (what < 45)
            upsert(&w);
        else if (what < 55)
            locate(&w);
        else if (what < 58)
            take_away(&w, false);
        else if (what < 60)
            hide(&w);
        else if (what < 65)
            take_away(&w, true);
        else if (what < 66)
            clear(&w);
        else if (what < 68)
            unbar(&w);
        else if (what < 70)
            mute(&w);
        else if (what < 75)
            roster(&w);
        else if (what < 80)
            expire(&w);
        else if (what < 90)
            page(&w);
        else
            update(&w);
        if (chance(&w, 100) >= notes) check(&w);
    }
    w.paged = true;
    update(&w);
    nearby_free(&w.nearby);
}

TEST(agrees_with_a_model) {
    static const uint64_t NOTES[] = {0, 40, 90, 98};
    for (uint64_t history = 0; history < HISTORIES; history++) compare(history, NOTES[history % 4]);
}

/* Tables of every size that pools, marks and the heap tell apart: one friend in so many moves, and only those are told. */
TEST(lists_of_every_size_tell_what_has_moved) {
    struct nearby nearby;
    struct nearby_told told[7];
    for (int64_t size = 1; size <= 8000; size = size * 3 / 2 + 1) {
        size_t count, all = 0;
        struct nearby_walk walk;
        nearby_init(&nearby, lists, RADIUS_M);
        nearby_locate(&nearby, (struct geo_point){0, 0}, 1);
        for (int64_t user = 0; user < size; user++) nearby_upsert(&nearby, user, (struct geo_point){0, 0}, 1);
        nearby_walk_start(&nearby, &walk);
        while ((count = nearby_tell(&nearby, &walk, told, 7))) all += count;
        assert_int_equal(all, size);
        for (int64_t every = 1; every <= size; every *= 7) {
            all = 0;
            for (int64_t user = 0; user < size; user += every) {
                struct lists_move move = {.user = user, .at = {(int32_t)every, 0}, .time = every + 1};
                nearby_note(&nearby, lists_put(lists, &move), move.time);
            }
            nearby_walk_start(&nearby, &walk);
            while ((count = nearby_tell(&nearby, &walk, told, 7))) {
                for (size_t i = 0; i < count; i++, all++) {
                    assert_int_equal(told[i].friend.user % every, 0);
                    assert_int_equal(told[i].friend.at.lat, every);
                }
            }
            assert_int_equal(all, (size + every - 1) / every);
            assert_int_equal(nearby.dirty, 0);
            lists_forget(lists);
        }
        nearby_free(&nearby);
    }
}

/* A report that is the same in all else may say more beside the place. */
TEST(a_move_may_be_told_anew) {
    struct nearby nearby;
    struct nearby_place place;
    bool more;
    struct lists_move move = {.user = 5, .at = {0, 0}, .time = 2};
    nearby_init(&nearby, lists, RADIUS_M);
    nearby_locate(&nearby, (struct geo_point){0, 0}, 1);
    nearby_note(&nearby, lists_put(lists, &move), move.time);
    nearby_page(&nearby, (struct nearby_cursor){-1, -1}, &place, 1, &more);
    nearby_note(&nearby, lists_put(lists, &move), move.time);
    nearby_settle(&nearby);
    assert_int_equal(nearby.dirty, 0);
    move.anew = 1;
    nearby_note(&nearby, lists_put(lists, &move), move.time);
    nearby_settle(&nearby);
    assert_int_equal(nearby.dirty, 1);
    lists_forget(lists);
    nearby_free(&nearby);
}

/* Few are looked for in the table, and many the other way round. */
TEST(lists_of_every_size_lose_whoever_opts_out) {
    struct nearby nearby;
    for (int64_t size = 1; size <= 8000; size = size * 3 / 2 + 1) {
        for (int64_t every = 1; every <= size * 2; every *= 5) {
            struct map *users = map_new();
            uint32_t left = 0;
            nearby_init(&nearby, lists, RADIUS_M);
            nearby_locate(&nearby, (struct geo_point){0, 0}, 1);
            for (int64_t user = 0; user < size; user++) nearby_upsert(&nearby, user, (struct geo_point){0, 0}, 1);
            for (int64_t user = every / 2; user < size * 2; user += every) map_put(users, (uint64_t)user, NULL);
            assert_int_equal(nearby_change_all(&nearby, users), every / 2 < size);
            for (int64_t user = 0; user < size; user++) {
                bool stays = !map_find(users, (uint64_t)user);
                assert_int_equal(nearby_find(&nearby, user) != NULL, stays);
                left += stays;
            }
            assert_int_equal(nearby.held, left);
            assert_int_equal(nearby.table.count, left);
            assert_false(nearby_change_all(&nearby, users));
            nearby_free(&nearby);
            map_free(users);
        }
    }
}

/* ---- paging ---- */

static void crowd(struct nearby *nearby) {
    nearby_init(nearby, lists, RADIUS_M);
    nearby_locate(nearby, (struct geo_point){0, 0}, 1);
    /* Every third stands where another one stands: equal distances must not lose anybody. */
    for (int64_t user = 0; user < CROWD; user++)
        nearby_upsert(nearby, user, (struct geo_point){(int32_t)(user - user % 3) * 300, 0}, 1);
    assert_int_equal(nearby->held, CROWD);
}

static size_t page_through(struct nearby *nearby, int *seen) {
    struct nearby_place places[20];
    struct nearby_cursor cursor = {-1, -1};
    size_t pages = 0;
    bool more = true;
    while (more) {
        size_t count = nearby_page(nearby, cursor, places, 20, &more);
        for (size_t i = 0; i < count; i++) {
            seen[places[i].friend->user]++;
            assert_true(places[i].distance_m >= cursor.distance_m);
            cursor = (struct nearby_cursor){places[i].distance_m, places[i].friend->user};
        }
        pages++;
    }
    return pages;
}

TEST(pages_name_everybody_once) {
    FREED_BY(nearby_free) struct nearby nearby;
    crowd(&nearby);
    for (int known = 0; known < 2; known++) { /* the second time the phone knows them all */
        int seen[CROWD] = {0};
        assert_int_equal(page_through(&nearby, seen), (CROWD + 19) / 20);
        for (int user = 0; user < CROWD; user++) assert_int_equal(seen[user], 1);
    }
    struct nearby_walk walk;
    struct nearby_told told;
    nearby_walk_start(&nearby, &walk);
    assert_int_equal(nearby_tell(&nearby, &walk, &told, 1), 0); /* told by the pages */
}

TEST(whoever_comes_nearer_between_two_pages_is_not_missed) {
    FREED_BY(nearby_free) struct nearby nearby;
    struct nearby_place places[20];
    bool more;
    crowd(&nearby);
    nearby_page(&nearby, (struct nearby_cursor){-1, -1}, places, 20, &more);
    struct nearby_cursor cursor = {places[19].distance_m, places[19].friend->user};
    nearby_upsert(&nearby, CROWD - 1, (struct geo_point){1, 1}, 2);
    nearby_page(&nearby, cursor, places, 20, &more);
    assert_int_equal(places[0].friend->user, CROWD - 1);
}

TEST(an_empty_list_is_one_page) {
    FREED_BY(nearby_free) struct nearby nearby;
    struct nearby_place places[20];
    bool more = true;
    nearby_init(&nearby, lists, RADIUS_M);
    assert_int_equal(nearby_page(&nearby, (struct nearby_cursor){-1, -1}, places, 20, &more), 0);
    assert_false(more);
}

/* ---- digests ---- */

TEST(digests_that_agree_or_are_not_of_the_latest_report_ask_for_nothing) {
    FREED_BY(nearby_free) struct nearby nearby;
    crowd(&nearby);
    for (int i = 0; i < 5; i++) {
        assert_false(nearby_digest(&nearby, 1, CROWD, nearby.hash, 2));
        assert_false(nearby_digest(&nearby, 0, 0, 0, 2));
        assert_false(nearby_digest(&nearby, 2, 0, 0, 2));
    }
}

TEST(the_second_difference_in_a_row_asks_for_a_repair) {
    FREED_BY(nearby_free) struct nearby nearby;
    crowd(&nearby);
    assert_false(nearby_digest(&nearby, 1, CROWD - 1, nearby.hash, 2));
    assert_false(nearby_digest(&nearby, 1, CROWD, nearby.hash, 2)); /* a strike is forgiven */
    assert_false(nearby_digest(&nearby, 1, CROWD, nearby.hash + 1, 2));
    assert_true(nearby_digest(&nearby, 1, CROWD, nearby.hash + 1, 2));
}

static int digests_until_repair(struct nearby *nearby) {
    for (int count = 1; count < 1000; count++) {
        if (nearby_digest(nearby, 1, 0, 0, 2)) return count;
    }
    return -1;
}

static void complete_roster(struct nearby *nearby) {
    nearby_roster_start(nearby);
    nearby_roster_entry(nearby, 5, (struct geo_point){1, 1}, 1, false);
    nearby_roster_end(nearby, true);
}

TEST(repairs_that_do_not_help_become_rare) {
    static const int EXPECTED[] = {2, 2, 2, 2, 4, 8, 16, 32, 64, 64};
    FREED_BY(nearby_free) struct nearby nearby;
    crowd(&nearby);
    for (size_t i = 0; i < sizeof EXPECTED / sizeof *EXPECTED; i++) {
        assert_int_equal(digests_until_repair(&nearby), EXPECTED[i]);
        complete_roster(&nearby);
    }
    assert_false(nearby_digest(&nearby, 1, 1, nearby.hash, 2)); /* one agrees */
    assert_int_equal(digests_until_repair(&nearby), 2);
}

TEST(repairs_that_nobody_answered_are_asked_for_as_often_as_ever) {
    FREED_BY(nearby_free) struct nearby nearby;
    crowd(&nearby);
    for (int i = 0; i < 10; i++) assert_int_equal(digests_until_repair(&nearby), 2);
}

/* ---- bars ---- */

TEST(the_parted_are_hidden_until_a_roster_names_them) {
    FREED_BY(nearby_free) struct nearby nearby;
    crowd(&nearby);
    nearby_part(&nearby, 7);
    nearby_upsert(&nearby, 7, (struct geo_point){0, 0}, 9);
    assert_null(nearby_find(&nearby, 7));
    nearby_roster_start(&nearby);
    nearby_roster_entry(&nearby, 7, (struct geo_point){0, 0}, 10, false);
    nearby_roster_end(&nearby, false);
    assert_non_null(nearby_find(&nearby, 7));
    assert_int_equal(nearby.held, CROWD);
}

/* ---- what is pending ---- */

static void note_one(struct nearby *nearby, int64_t user, int64_t time) {
    struct lists_move move = {.user = user, .at = {1, 1}, .time = time};
    nearby_note(nearby, lists_put(lists, &move), time);
}

TEST(a_digest_counts_what_is_pending) {
    FREED_BY(nearby_free) struct nearby nearby;
    crowd(&nearby);
    uint64_t hash = nearby.hash + hash_u64(CROWD);
    note_one(&nearby, CROWD, 5);
    assert_false(nearby_digest(&nearby, 1, CROWD + 1, hash, 1));
}

TEST(what_was_pending_while_barred_stays_out) {
    FREED_BY(nearby_free) struct nearby nearby;
    crowd(&nearby);
    nearby_part(&nearby, 7);
    note_one(&nearby, 7, 20);
    nearby_roster_start(&nearby);
    nearby_roster_entry(&nearby, 7, (struct geo_point){0, 0}, 10, false);
    nearby_roster_end(&nearby, false);
    assert_int_equal(nearby_find(&nearby, 7)->time, 10);
    nearby_part(&nearby, 7);
    note_one(&nearby, 7, 20);
    nearby_roster_start(&nearby);
    nearby_roster_entry(&nearby, 7, (struct geo_point){0, 0}, -1, false); /* a friend, but not to be seen */
    nearby_roster_end(&nearby, true);
    assert_int_equal(nearby.held, 0);
    nearby_part(&nearby, 7);
    note_one(&nearby, 7, 20);
    nearby_unbar_all(&nearby);
    assert_null(nearby_find(&nearby, 7));
}
