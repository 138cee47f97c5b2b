/* Whoever opts out leaves the lists of all sessions, a slice of these at a time, whatever comes and goes in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "fanout/edge.h"
#include "service/internal.h"

enum { SESSIONS = 2000, USERS = 60, NOTED = 20, HELD_AT = 10, NOTED_AT = 11 };

static const struct geo_point HERE = {0, 0};

struct world {
    struct service service;
    struct metric sessions;
    struct edge edge;
    uint64_t seed;
};

static uint64_t chance(struct world *w, uint64_t below) { return hash_u64(w->seed++) % below; }

/* What a session was given: no two alike, and nobody has everybody. */
static bool has(const struct session *session, int64_t user) {
    return hash_u64((uint64_t)session->id * USERS + (uint64_t)user) % 3 != 0;
}

static struct session *arrive(struct world *w) {
    struct session *session = session_new(&w->edge, NULL);
    session->id = (int64_t)w->seed++;
    nearby_locate(&session->nearby, HERE, 1);
    return session;
}

static void fill(struct session *session) {
    for (int64_t user = 0; user < USERS; user++)
        if (has(session, user)) nearby_upsert(&session->nearby, user, HERE, HELD_AT);
}

static struct world *world_new(void) {
    struct world *w = mem_zero(1, sizeof *w);
    w->service.settings.inactive_after_s = 600;
    w->service.settings.radius_m = 1000;
    w->edge = (struct edge){.service = &w->service,
                            .lists = lists_new(),
                            .session_memory = pool_new((sizeof(struct session) + 63) / 64 * 64),
                            .metrics.sessions = &w->sessions};
    w->edge.ready_tail = &w->edge.ready;
    wheel_init(&w->edge.deadlines, 10, 0);
    wheel_init(&w->edge.expiries, 1000, 0);
    optouts_start(&w->edge);
    for (int i = 0; i < SESSIONS; i++) fill(arrive(w));
    return w;
}

static void world_free(struct world *w) {
    sessions_free_all(&w->edge);
    optouts_end(&w->edge);
    wheel_free(&w->edge.deadlines);
    wheel_free(&w->edge.expiries);
    lists_free(w->edge.lists);
    pool_free(w->edge.session_memory);
    free(w);
}

/* Every fourth list has something pending of the first users. */
static void note(struct world *w) {
    for (int64_t user = 0; user < NOTED; user++) {
        uint32_t put = sessions_move(&w->edge, &(struct lists_move){.user = user, .at = HERE, .time = NOTED_AT});
        for (struct session *session = w->edge.sessions; session; session = session->next)
            if (session->id % 4 == 0) nearby_note(&session->nearby, put, NOTED_AT);
    }
}

static void begin(struct world *w) {
    w->edge.optouts.began_ms = edge_clock() - 60000;
    assert_true(optouts_begin(&w->edge));
}

static void go_through(struct world *w) {
    while (optouts_slice(&w->edge)) continue;
}

static int64_t time_of(struct session *session, int64_t user) {
    const struct nearby_friend *friend = nearby_find(&session->nearby, user);
    return friend ? friend->time : 0;
}

/* Users of so many in a row, from the first on, have opted out; all others are where they were. */
static void check(struct world *w, int64_t opted_out) {
    for (struct session *session = w->edge.sessions; session; session = session->next) {
        bool noted = session->nearby.pending_count > 0;
        assert_int_equal(noted, session->id % 4 == 0); /* nobody's list was settled for it */
        for (int64_t user = 0; user < USERS; user++) {
            int64_t time = noted && user < NOTED ? NOTED_AT : has(session, user) ? HELD_AT : 0;
            assert_int_equal(time_of(session, user), user < opted_out ? 0 : time);
        }
    }
}

static void opt_out(int64_t count, int64_t strangers) {
    struct world *w = world_new();
    note(w);
    for (int64_t user = 0; user < count; user++) optouts_add(&w->edge, user);
    for (int64_t user = 0; user < strangers; user++) optouts_add(&w->edge, USERS + user * user);
    begin(w);
    int slices = 1;
    while (optouts_slice(&w->edge)) slices++;
    assert_true(slices > 3);
    check(w, count);
    world_free(w);
}

static void who_opts_out_leaves_every_list(void **state) {
    opt_out(1, 0);
    opt_out(NOTED + 5, 0);
    opt_out(NOTED - 5, 5000);
    opt_out(0, 10);
}

static void a_phone_hears_who_is_gone(void **state) {
    struct world *w = world_new();
    struct session *session = w->edge.sessions;
    struct nearby_place places[USERS];
    struct nearby_told gone;
    struct nearby_walk walk;
    bool more;
    size_t held = nearby_page(&session->nearby, (struct nearby_cursor){-1, -1}, places, USERS, &more);
    int64_t user = places[0].friend->user;
    optouts_add(&w->edge, user);
    begin(w);
    go_through(w);
    nearby_walk_start(&session->nearby, &walk);
    assert_true(nearby_tell(&session->nearby, &walk, &gone, 1));
    assert_int_equal(gone.friend.user, user);
    assert_int_equal(gone.friend.flags & NEARBY_HELD, 0);
    assert_false(nearby_tell(&session->nearby, &walk, &gone, 1));
    assert_int_equal(session->nearby.held, held - 1);
    world_free(w);
}

static void sessions_come_and_go_during_a_pass(void **state) {
    struct world *w = world_new();
    optouts_add(&w->edge, 0);
    begin(w);
    while (optouts_slice(&w->edge)) {
        /* The next one, the one after it, the first, the one that was looked at last, and many at random. */
        session_free(&w->edge, w->edge.optouts.next);
        if (w->edge.optouts.next && w->edge.optouts.next->next) session_free(&w->edge, w->edge.optouts.next->next);
        session_free(&w->edge, w->edge.sessions);
        for (struct session *session = w->edge.sessions, *next; session; session = next) {
            next = session->next;
            if (next == w->edge.optouts.next || chance(w, 20) == 0) session_free(&w->edge, session);
        }
        arrive(w);
    }
    assert_true(w->edge.session_count > SESSIONS / 4);
    for (struct session *session = w->edge.sessions; session; session = session->next)
        assert_int_equal(time_of(session, 0), 0);
    optouts_add(&w->edge, 1);
    begin(w);
    sessions_free_all(&w->edge);
    assert_null(w->edge.optouts.next);
    assert_false(optouts_slice(&w->edge));
    world_free(w);
}

/* Of the new JOIN a list may have heard already: nothing newer is taken off it. */
static void who_is_in_again_is_looked_for_no_more(void **state) {
    struct world *w = world_new();
    optouts_add(&w->edge, 0);
    optouts_add(&w->edge, 1);
    begin(w);
    assert_true(optouts_slice(&w->edge));
    optouts_remove(&w->edge, 0);
    for (struct session *session = w->edge.sessions; session; session = session->next)
        nearby_upsert(&session->nearby, 0, HERE, NOTED_AT);
    go_through(w);
    for (struct session *session = w->edge.sessions; session; session = session->next) {
        assert_int_equal(time_of(session, 0), NOTED_AT);
        assert_int_equal(time_of(session, 1), 0);
    }
    /* Nobody is left to look for, or nobody who waits. */
    optouts_add(&w->edge, 2);
    begin(w);
    optouts_remove(&w->edge, 2);
    assert_false(optouts_slice(&w->edge));
    optouts_add(&w->edge, 3);
    optouts_remove(&w->edge, 3);
    w->edge.optouts.began_ms = edge_clock() - 60000;
    assert_false(optouts_begin(&w->edge));
    for (struct session *session = w->edge.sessions; session; session = session->next)
        assert_int_equal(time_of(session, 3), has(session, 3) ? HELD_AT : 0);
    world_free(w);
}

static void who_comes_during_a_pass_waits_for_the_next(void **state) {
    struct world *w = world_new();
    optouts_add(&w->edge, 0);
    begin(w);
    assert_true(optouts_slice(&w->edge));
    optouts_add(&w->edge, 1);
    w->edge.optouts.began_ms = edge_clock() - 60000;
    assert_false(optouts_begin(&w->edge)); /* one is under way */
    go_through(w);
    for (struct session *session = w->edge.sessions; session; session = session->next) {
        assert_int_equal(time_of(session, 0), 0);
        assert_int_equal(time_of(session, 1), has(session, 1) ? HELD_AT : 0);
    }
    w->edge.optouts.began_ms = edge_clock() + 60000;
    assert_false(optouts_begin(&w->edge)); /* they come at intervals */
    begin(w);
    go_through(w);
    for (struct session *session = w->edge.sessions; session; session = session->next)
        assert_int_equal(time_of(session, 1), 0);
    world_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_opts_out_leaves_every_list),
        cmocka_unit_test(a_phone_hears_who_is_gone),
        cmocka_unit_test(sessions_come_and_go_during_a_pass),
        cmocka_unit_test(who_is_in_again_is_looked_for_no_more),
        cmocka_unit_test(who_comes_during_a_pass_waits_for_the_next),
    };
    return cmocka_run_group_tests_name("fanout opt-outs", tests, NULL, NULL);
}
