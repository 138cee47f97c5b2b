/* Tests sessions.c, sessions_flush.c and screen_set.c. What the edge does for all its sessions when friends' moves are put down for
 * later: that none is lost when there is no room, and that whoever has something pending is told in time. */
#include "unit/fanout/world.h"
#include "unit/kit/kit.h"

enum { SESSIONS = 5, MANY = LISTS_MOVES + 1000 };

static const struct geo_point HERE = {0, 0};

struct world {
    struct fanout_world *edge;
    struct session *sessions[MANY];
};

static struct nearby *list_of(const struct world *w, const struct session *session) {
    return view_list(fanout_world_view(w->edge, session));
}

static struct session *arrive(struct world *w) {
    static int64_t users;
    return fanout_world_arrive(w->edge, ++users, true);
}

static void depart(struct world *w, struct session *session) { session_free(w->edge->sessions, session); }

static struct world *world_new(int sessions) {
    struct world *w = mem_zero(1, sizeof *w);
    w->edge = fanout_world_new();
    w->edge->shares = false; /* nothing is produced */
    for (int i = 0; i < sessions; i++) w->sessions[i] = arrive(w);
    return w;
}

static void world_free(struct world *w) { free(w); }

static uint32_t put(struct world *w, int64_t user, int64_t time) {
    return views_move(w->edge->views, &(struct lists_move){.user = user, .at = HERE, .time = time});
}

/* Of each session's friends the one who moves is another; there is room for a few of the moves only. */
TEST(no_move_is_lost_when_there_is_no_more_room) {
    enum { FRIENDS = 40, MOVES = LISTS_MOVES * 3 + 17 };
    struct world *w = world_new(SESSIONS);
    int64_t newest[SESSIONS][FRIENDS] = {{0}};
    for (int64_t n = 0; n < MOVES; n++) {
        int64_t user = n * n % FRIENDS, time = n + 1;
        uint32_t move = put(w, user, time);
        /* The first of them hears of a few only, so that what it has pending is old. */
        for (int i = 0; i < SESSIONS; i++) {
            if (n % (i ? i : LISTS_MOVES / 3)) continue;
            nearby_note(list_of(w, w->sessions[i]), move, time);
            newest[i][user] = time;
        }
    }
    for (int i = 0; i < SESSIONS; i++) {
        for (int64_t user = 0; user < FRIENDS; user++) {
            const struct nearby_friend *friend = nearby_find(list_of(w, w->sessions[i]), user);
            assert_int_equal(friend ? friend->time : 0, newest[i][user]);
        }
    }
    world_free(w);
}

static int64_t lists_with_something_pending(const struct world *w) {
    int64_t count = 0;
    for (struct view *view = views_first(w->edge->views); view; view = view_next(view))
        count += view_list(view)->pending_count > 0;
    return count;
}

/* Each hears of one move as the first half begins; while the second fills, it is brought into the lists. */
TEST(lists_are_settled_a_few_at_a_time) {
    enum { HALF = LISTS_MOVES / 2, FEW = MANY / HALF + 1, LOOK_EVERY = 500 };
    struct world *w = world_new(MANY);
    for (int64_t round = 1; round <= 3; round++) {
        uint32_t move = put(w, 1, round);
        for (int i = 0; i < MANY; i++) nearby_note(list_of(w, w->sessions[i]), move, round);
        for (int n = 1; n < HALF; n++) put(w, 2, round);
        assert_int_equal(lists_with_something_pending(w), MANY);
        for (int n = 1; n <= HALF; n++) {
            put(w, 2, round);
            if (n % LOOK_EVERY == 0) assert_true(lists_with_something_pending(w) >= MANY - n * FEW);
        }
        assert_int_equal(lists_with_something_pending(w), 0);
        for (int i = 0; i < MANY; i++) assert_int_equal(nearby_find(list_of(w, w->sessions[i]), 1)->time, round);
    }
    world_free(w);
}

/* While the sessions are gone through, they go and come: those that are to be looked at next, too. */
TEST(sessions_come_and_go_while_lists_are_settled) {
    enum { COUNT = 300, FRIENDS = 7 };
    struct world *w = world_new(COUNT);
    int64_t newest[COUNT][FRIENDS] = {{0}};
    for (int64_t n = 0; n < 4 * LISTS_MOVES; n++) {
        uint32_t move = put(w, n % FRIENDS, n + 1);
        int i = (int)(hash_u64((uint64_t)n) % COUNT);
        for (int j = 0; j < COUNT && n % 50 == 0; j++) {
            if (j != i && fanout_world_view(w->edge, w->sessions[j]) != views_unsettled(w->edge->views)) continue;
            depart(w, w->sessions[j]);
            w->sessions[j] = arrive(w);
            memset(newest[j], 0, sizeof newest[j]);
        }
        nearby_note(list_of(w, w->sessions[i]), move, n + 1);
        newest[i][n % FRIENDS] = n + 1;
        /* Most are looked at now and then, a few hardly ever. */
        for (int64_t user = 0; user < FRIENDS && i % 50; user++) {
            const struct nearby_friend *friend = nearby_find(list_of(w, w->sessions[i]), user);
            assert_int_equal(friend ? friend->time : 0, newest[i][user]);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        for (int64_t user = 0; user < FRIENDS; user++) {
            const struct nearby_friend *friend = nearby_find(list_of(w, w->sessions[i]), user);
            assert_int_equal(friend ? friend->time : 0, newest[i][user]);
        }
    }
    world_free(w);
}

TEST(what_is_pending_is_owed) {
    struct world *w = world_new(SESSIONS);
    struct session *session = w->sessions[0];
    struct view *view = fanout_world_view(w->edge, session);
    view->paged = true;
    session_schedule(w->edge->sessions, session);
    assert_int_equal(session_deadline(session), WORLD_TOKEN_MS);
    nearby_note(view_list(view), put(w, 1, 1), 1);
    view_changed(w->edge->views, view);
    assert_int_equal(session_deadline(session), WORLD_FLUSH_MS);
    world_free(w);
}

/* Views come and go with places, not with sessions. */
TEST(a_session_without_a_place_has_no_view) {
    struct fanout_world *edge = fanout_world_new();
    struct session *watcher = fanout_world_arrive(edge, 7, false), *phone = fanout_world_arrive(edge, 7, true);
    assert_ptr_equal(sessions_of(edge->sessions, 7), phone);
    assert_ptr_equal(session_twin(phone), watcher);
    assert_int_equal(sessions_count(edge->sessions), 2);
    assert_int_equal(views_count(edge->views), 1);
    assert_int_equal(edge->said_count, 1);
    assert_int_equal(edge->said[0].kind, LOCATION_JOIN);

    /* Its first place opens the view, as the newest session of the user. */
    int64_t before = uplink_number(view_reporter(fanout_world_view(edge, phone)));
    view_open(edge->views, edge->uplink, fanout_world_view(edge, watcher), true);
    fanout_world_report(edge, watcher, 2);
    assert_int_equal(views_count(edge->views), 2);
    assert_int_equal(edge->said[1].kind, LOCATION_JOIN);
    assert_true(edge->said[1].session > before);
}
