/* A user who opts out leaves the lists of all sessions, a slice of these at a time, whatever comes and goes in between. */
#include "unit/fanout/world.h"
#include "unit/kit/kit.h"

enum { SESSIONS = 2000, USERS = 60, NOTED = 20, HELD_AT = 10, NOTED_AT = 11 };

static const struct geo_point HERE = {0, 0};

struct world {
    struct fanout_world *edge;
    int64_t now; /* ms */
    uint64_t seed;
};

static uint64_t chance(struct world *w, uint64_t below) { return hash_u64(w->seed++) % below; }

static int64_t id_of(const struct view *view) { return session_user(view_session(view)); }

/* What a session was given: no two alike, and nobody has everybody. */
static bool has(const struct view *view, int64_t user) {
    return hash_u64((uint64_t)id_of(view) * USERS + (uint64_t)user) % 3 != 0;
}

static struct view *arrive(struct world *w) {
    return fanout_world_view(w->edge, fanout_world_arrive(w->edge, (int64_t)w->seed++, true));
}

static void fill(struct view *view) {
    for (int64_t user = 0; user < USERS; user++)
        if (has(view, user)) nearby_upsert(view_list(view), user, HERE, HELD_AT);
}

static void leave(struct world *w, const struct view *view) { session_free(w->edge->sessions, view_session(view)); }

static struct world *world_new(void) {
    struct world *w = mem_zero(1, sizeof *w);
    w->edge = fanout_world_new();
    w->edge->shares = false; /* nothing is produced */
    for (int i = 0; i < SESSIONS; i++) fill(arrive(w));
    return w;
}

static void world_free(struct world *w) { free(w); }

/* Every fourth list has something pending of the first users. */
static void note(struct world *w) {
    for (int64_t user = 0; user < NOTED; user++) {
        uint32_t put = views_move(w->edge->views, &(struct lists_move){.user = user, .at = HERE, .time = NOTED_AT});
        for (struct view *view = views_first(w->edge->views); view; view = view_next(view))
            if (id_of(view) % 4 == 0) nearby_note(view_list(view), put, NOTED_AT);
    }
}

static void begin(struct world *w) {
    w->now += OPTOUTS_EVERY_MS;
    assert_true(optouts_begin(w->edge->optouts, w->now));
}

static void go_through(struct world *w) {
    while (optouts_slice(w->edge->optouts)) continue;
}

static int64_t time_of(struct view *view, int64_t user) {
    const struct nearby_friend *friend = nearby_find(view_list(view), user);
    return friend ? friend->time : 0;
}

/* Users of so many in a row, from the first on, have opted out; all others are where they were. */
static void check(struct world *w, int64_t opted_out) {
    for (struct view *view = views_first(w->edge->views); view; view = view_next(view)) {
        bool noted = view_list(view)->pending_count > 0;
        assert_int_equal(noted, id_of(view) % 4 == 0); /* nobody's list was settled for it */
        for (int64_t user = 0; user < USERS; user++) {
            int64_t time = noted && user < NOTED ? NOTED_AT : has(view, user) ? HELD_AT : 0;
            assert_int_equal(time_of(view, user), user < opted_out ? 0 : time);
        }
    }
}

static void opt_out(int64_t count, int64_t strangers) {
    struct world *w = world_new();
    note(w);
    for (int64_t user = 0; user < count; user++) optouts_add(w->edge->optouts, user);
    for (int64_t user = 0; user < strangers; user++) optouts_add(w->edge->optouts, USERS + user * user);
    begin(w);
    int slices = 1;
    while (optouts_slice(w->edge->optouts)) slices++;
    assert_true(slices > 3);
    check(w, count);
    world_free(w);
}

SET_UP() { return world_new(); }
TEAR_DOWN(struct world *w) { free(w); }

TEST(who_opts_out_leaves_every_list) {
    opt_out(1, 0);
    opt_out(NOTED + 5, 0);
    opt_out(NOTED - 5, 5000);
    opt_out(0, 10);
}

TEST(a_phone_hears_who_is_gone, struct world *w) {
    struct view *session = views_first(w->edge->views);
    struct nearby_place places[USERS];
    struct nearby_told gone;
    struct nearby_walk walk;
    bool more;
    size_t held = nearby_page(view_list(session), (struct nearby_cursor){-1, -1}, places, USERS, &more);
    int64_t user = places[0].friend->user;
    optouts_add(w->edge->optouts, user);
    begin(w);
    go_through(w);
    nearby_walk_start(view_list(session), &walk);
    assert_true(nearby_tell(view_list(session), &walk, &gone, 1));
    assert_int_equal(gone.friend.user, user);
    assert_int_equal(gone.friend.flags & NEARBY_HELD, 0);
    assert_false(nearby_tell(view_list(session), &walk, &gone, 1));
    assert_int_equal(view_list(session)->held, held - 1);
}

/* Whoever has the user on the screen, at the exact place, is told again, and nobody else. */
TEST(who_says_something_else_is_told_again, struct world *w) {
    struct nearby_place places[USERS];
    bool more;
    for (struct view *view = views_first(w->edge->views); view; view = view_next(view)) {
        nearby_page(view_list(view), (struct nearby_cursor){-1, -1}, places, USERS, &more);
        if (id_of(view) % 4) continue; // sees users 0 and 1 rounded
        nearby_roster_start(view_list(view));
        for (int64_t user = 0; user < 2; user++) nearby_roster_entry(view_list(view), user, HERE, NOTED_AT, true);
        nearby_roster_end(view_list(view), false);
        nearby_page(view_list(view), (struct nearby_cursor){-1, -1}, places, USERS, &more);
    }
    optouts_tell_anew(w->edge->optouts, 0);
    optouts_tell_anew(w->edge->optouts, 1);
    optouts_return(w->edge->optouts, 1); // another choice, which changes nothing of the entry
    begin(w);
    go_through(w);
    for (struct view *view = views_first(w->edge->views); view; view = view_next(view)) {
        assert_int_equal(view_list(view)->dirty, id_of(view) % 4 ? has(view, 0) + has(view, 1) : 0);
        if (has(view, 0)) assert_true(nearby_find(view_list(view), 0)->flags & NEARBY_HELD);
        if (has(view, 1)) assert_true(nearby_find(view_list(view), 1)->flags & NEARBY_HELD);
    }
}

TEST(sessions_come_and_go_during_a_pass, struct world *w) {
    optouts_add(w->edge->optouts, 0);
    begin(w);
    while (optouts_slice(w->edge->optouts)) {
        /* The next one, the one after it, the first, the one that was looked at last, and many at random. */
        const struct optouts *optouts = w->edge->optouts;
        leave(w, optouts_next(optouts));
        if (optouts_next(optouts) && view_next(optouts_next(optouts))) leave(w, view_next(optouts_next(optouts)));
        leave(w, views_first(w->edge->views));
        for (struct view *session = views_first(w->edge->views), *next; session; session = next) {
            next = view_next(session);
            if (next == optouts_next(optouts) || chance(w, 20) == 0) leave(w, session);
        }
        arrive(w);
    }
    assert_true(views_count(w->edge->views) > SESSIONS / 4);
    for (struct view *session = views_first(w->edge->views); session; session = view_next(session))
        assert_int_equal(time_of(session, 0), 0);
    optouts_add(w->edge->optouts, 1);
    begin(w);
    sessions_free_all(w->edge->sessions);
    assert_null(optouts_next(w->edge->optouts));
    assert_false(optouts_slice(w->edge->optouts));
}

/* Of the new JOIN a list may have heard already: nothing newer is taken off it. What the entry says may be old: it is told again. */
TEST(who_is_in_again_stays_and_is_told_again, struct world *w) {
    struct nearby_place places[USERS];
    bool more;
    optouts_add(w->edge->optouts, 0);
    optouts_add(w->edge->optouts, 1);
    begin(w);
    assert_true(optouts_slice(w->edge->optouts));
    optouts_return(w->edge->optouts, 0);
    for (struct view *session = views_first(w->edge->views); session; session = view_next(session))
        nearby_upsert(view_list(session), 0, HERE, NOTED_AT);
    go_through(w);
    for (struct view *session = views_first(w->edge->views); session; session = view_next(session)) {
        assert_int_equal(time_of(session, 0), NOTED_AT);
        assert_int_equal(time_of(session, 1), 0);
        nearby_page(view_list(session), (struct nearby_cursor){-1, -1}, places, USERS, &more);
    }
    optouts_tell_anew(w->edge->optouts, 2);
    optouts_add(w->edge->optouts, 2);
    optouts_return(w->edge->optouts, 2);
    begin(w);
    go_through(w);
    for (struct view *session = views_first(w->edge->views); session; session = view_next(session)) {
        if (has(session, 2)) assert_true(nearby_find(view_list(session), 2)->flags & NEARBY_HELD);
        assert_int_equal(view_list(session)->dirty, has(session, 2));
    }
    /* Nobody waits. */
    optouts_return(w->edge->optouts, 3);
    assert_false(optouts_begin(w->edge->optouts, w->now + 60000));
}

TEST(who_comes_during_a_pass_waits_for_the_next, struct world *w) {
    optouts_add(w->edge->optouts, 0);
    begin(w);
    assert_true(optouts_slice(w->edge->optouts));
    optouts_add(w->edge->optouts, 1);
    assert_false(optouts_begin(w->edge->optouts, w->now + 60000)); /* one is under way */
    go_through(w);
    for (struct view *session = views_first(w->edge->views); session; session = view_next(session)) {
        assert_int_equal(time_of(session, 0), 0);
        assert_int_equal(time_of(session, 1), has(session, 1) ? HELD_AT : 0);
    }
    assert_false(optouts_begin(w->edge->optouts, w->now + OPTOUTS_EVERY_MS - 1)); /* they come at intervals */
    begin(w);
    go_through(w);
    for (struct view *session = views_first(w->edge->views); session; session = view_next(session))
        assert_int_equal(time_of(session, 1), 0);
}
