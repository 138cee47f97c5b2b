/* What the edge does for all its sessions when friends' moves are put down for later: that none is lost when there is no room, and
 * that whoever has something pending is told in time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "fanout/edge.h"
#include "service/internal.h"

enum { SESSIONS = 5, MANY = LISTS_MOVES + 1000, FLUSH_MS = 700, TOKEN_MS = 100000 };

static const struct geo_point HERE = {0, 0};

struct world {
    struct service service;
    struct metric sessions_open;
    struct edge edge;
    struct session *sessions[MANY];
};

static struct session *arrive(struct world *w) {
    struct session *session = session_new(&w->edge, NULL);
    session->greeted = true;
    session->token_expires_ms = TOKEN_MS;
    nearby_locate(&session->nearby, HERE, 1);
    return session;
}

/* They never say hello, so that no table has them. */
static void depart(struct world *w, struct session *session) {
    session->greeted = false;
    session_free(&w->edge, session);
}

static struct world *world_new(int sessions) {
    struct world *w = mem_zero(1, sizeof *w);
    w->service.settings.radius_m = 1000;
    w->edge = (struct edge){.service = &w->service,
                            .settings.flush_ms = FLUSH_MS,
                            .settings.hello_s = TOKEN_MS,
                            .lists = lists_new(),
                            .session_memory = pool_new((sizeof(struct session) + 63) / 64 * 64),
                            .metrics.sessions = &w->sessions_open};
    w->edge.ready_tail = &w->edge.ready;
    wheel_init(&w->edge.deadlines, 10, 0);
    wheel_init(&w->edge.expiries, 1000, 0);
    for (int i = 0; i < sessions; i++) w->sessions[i] = arrive(w);
    return w;
}

static void world_free(struct world *w) {
    while (w->edge.sessions) depart(w, w->edge.sessions);
    wheel_free(&w->edge.deadlines);
    wheel_free(&w->edge.expiries);
    lists_free(w->edge.lists);
    pool_free(w->edge.session_memory);
    free(w);
}

static uint32_t put(struct world *w, int64_t user, int64_t time) {
    return sessions_move(&w->edge, &(struct lists_move){.user = user, .at = HERE, .time = time});
}

/* Of each session's friends the one who moves is another; there is room for a few of the moves only. */
static void no_move_is_lost_when_there_is_no_more_room(void **state) {
    enum { FRIENDS = 40, MOVES = LISTS_MOVES * 3 + 17 };
    struct world *w = world_new(SESSIONS);
    int64_t newest[SESSIONS][FRIENDS] = {{0}};
    for (int64_t n = 0; n < MOVES; n++) {
        int64_t user = n * n % FRIENDS, time = n + 1;
        uint32_t move = put(w, user, time);
        /* The first of them hears of a few only, so that what it has pending is old. */
        for (int i = 0; i < SESSIONS; i++) {
            if (n % (i ? i : LISTS_MOVES / 3)) continue;
            nearby_note(&w->sessions[i]->nearby, move, time);
            newest[i][user] = time;
        }
    }
    for (int i = 0; i < SESSIONS; i++) {
        for (int64_t user = 0; user < FRIENDS; user++) {
            const struct nearby_friend *friend = nearby_find(&w->sessions[i]->nearby, user);
            assert_int_equal(friend ? friend->time : 0, newest[i][user]);
        }
    }
    world_free(w);
}

static int64_t lists_with_something_pending(const struct world *w) {
    int64_t count = 0;
    for (const struct session *session = w->edge.sessions; session; session = session->next)
        count += session->nearby.pending_count > 0;
    return count;
}

/* Each hears of one move as the first half begins; while the second fills, it is brought into the lists. */
static void lists_are_settled_a_few_at_a_time(void **state) {
    enum { HALF = LISTS_MOVES / 2, FEW = MANY / HALF + 1, LOOK_EVERY = 500 };
    struct world *w = world_new(MANY);
    for (int64_t round = 1; round <= 3; round++) {
        uint32_t move = put(w, 1, round);
        for (int i = 0; i < MANY; i++) nearby_note(&w->sessions[i]->nearby, move, round);
        for (int n = 1; n < HALF; n++) put(w, 2, round);
        assert_int_equal(lists_with_something_pending(w), MANY);
        for (int n = 1; n <= HALF; n++) {
            put(w, 2, round);
            if (n % LOOK_EVERY == 0) assert_true(lists_with_something_pending(w) >= MANY - n * FEW);
        }
        assert_int_equal(lists_with_something_pending(w), 0);
        for (int i = 0; i < MANY; i++) assert_int_equal(nearby_find(&w->sessions[i]->nearby, 1)->time, round);
    }
    world_free(w);
}

/* While the sessions are gone through, they go and come: those that are to be looked at next, too. */
static void sessions_come_and_go_while_lists_are_settled(void **state) {
    enum { COUNT = 300, FRIENDS = 7 };
    struct world *w = world_new(COUNT);
    int64_t newest[COUNT][FRIENDS] = {{0}};
    for (int64_t n = 0; n < 4 * LISTS_MOVES; n++) {
        uint32_t move = put(w, n % FRIENDS, n + 1);
        int i = (int)(hash_u64((uint64_t)n) % COUNT);
        for (int j = 0; j < COUNT && n % 50 == 0; j++) {
            if (j != i && w->sessions[j] != w->edge.unsettled) continue;
            depart(w, w->sessions[j]);
            w->sessions[j] = arrive(w);
            memset(newest[j], 0, sizeof newest[j]);
        }
        nearby_note(&w->sessions[i]->nearby, move, n + 1);
        newest[i][n % FRIENDS] = n + 1;
        /* Most are looked at now and then, a few hardly ever. */
        for (int64_t user = 0; user < FRIENDS && i % 50; user++) {
            const struct nearby_friend *friend = nearby_find(&w->sessions[i]->nearby, user);
            assert_int_equal(friend ? friend->time : 0, newest[i][user]);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        for (int64_t user = 0; user < FRIENDS; user++) {
            const struct nearby_friend *friend = nearby_find(&w->sessions[i]->nearby, user);
            assert_int_equal(friend ? friend->time : 0, newest[i][user]);
        }
    }
    world_free(w);
}

static void what_is_pending_is_owed(void **state) {
    struct world *w = world_new(SESSIONS);
    struct session *session = w->sessions[0];
    session->paged = true;
    session->flushed_ms = 300;
    session_schedule(&w->edge, session);
    assert_int_equal(session->deadline.due, TOKEN_MS);
    nearby_note(&session->nearby, put(w, 1, 1), 1);
    session_schedule(&w->edge, session);
    assert_int_equal(session->deadline.due, 300 + FLUSH_MS);
    world_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_move_is_lost_when_there_is_no_more_room),
        cmocka_unit_test(lists_are_settled_a_few_at_a_time),
        cmocka_unit_test(sessions_come_and_go_while_lists_are_settled),
        cmocka_unit_test(what_is_pending_is_owed),
    };
    return cmocka_run_group_tests_name("fanout sessions", tests, NULL, NULL);
}
