/* What the edge does for all its sessions when friends' moves are put down for later: that none is lost when there is no room, and
 * that whoever has something pending is told in time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/mem.h"
#include "fanout/edge.h"

enum { SESSIONS = 5, FLUSH_MS = 700, TOKEN_MS = 100000 };

static const struct geo_point HERE = {0, 0};

struct world {
    struct edge edge;
    struct session sessions[SESSIONS];
};

static struct world *world_new(void) {
    struct world *w = mem_zero(1, sizeof *w);
    w->edge.lists = lists_new();
    w->edge.settings.flush_ms = FLUSH_MS;
    wheel_init(&w->edge.deadlines, 10, 0);
    for (int i = 0; i < SESSIONS; i++) {
        struct session *session = &w->sessions[i];
        *session = (struct session){.next = w->edge.sessions, .greeted = true, .token_expires_ms = TOKEN_MS};
        w->edge.sessions = session;
        nearby_init(&session->nearby, w->edge.lists, 1000);
        nearby_locate(&session->nearby, HERE, 1);
    }
    return w;
}

static void world_free(struct world *w) {
    for (int i = 0; i < SESSIONS; i++) {
        wheel_clear(&w->sessions[i].deadline);
        nearby_free(&w->sessions[i].nearby);
    }
    lists_free(w->edge.lists);
    free(w);
}

/* Of each session's friends the one who moves is another; there is room for a few of the moves only. */
static void no_move_is_lost_when_there_is_no_more_room(void **state) {
    enum { FRIENDS = 40, MOVES = LISTS_MOVES * 3 + 17 };
    struct world *w = world_new();
    int64_t newest[SESSIONS][FRIENDS] = {{0}};
    for (int64_t n = 0; n < MOVES; n++) {
        int64_t user = n * n % FRIENDS, time = n + 1;
        uint32_t put = sessions_move(&w->edge, &(struct lists_move){.user = user, .at = HERE, .time = time});
        /* The first of them hears of a few only, so that what it has pending is old. */
        for (int i = 0; i < SESSIONS; i++) {
            if (n % (i ? i : LISTS_MOVES / 3)) continue;
            nearby_note(&w->sessions[i].nearby, put, time);
            newest[i][user] = time;
        }
    }
    for (int i = 0; i < SESSIONS; i++) {
        for (int64_t user = 0; user < FRIENDS; user++) {
            const struct nearby_friend *friend = nearby_find(&w->sessions[i].nearby, user);
            assert_int_equal(friend ? friend->time : 0, newest[i][user]);
        }
    }
    world_free(w);
}

static void what_is_pending_is_owed(void **state) {
    struct world *w = world_new();
    struct session *session = &w->sessions[0];
    session->paged = true;
    session->flushed_ms = 300;
    session_schedule(&w->edge, session);
    assert_int_equal(session->deadline.due, TOKEN_MS);
    nearby_note(&session->nearby, sessions_move(&w->edge, &(struct lists_move){.user = 1, .at = HERE, .time = 1}), 1);
    session_schedule(&w->edge, session);
    assert_int_equal(session->deadline.due, 300 + FLUSH_MS);
    world_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_move_is_lost_when_there_is_no_more_room),
        cmocka_unit_test(what_is_pending_is_owed),
    };
    return cmocka_run_group_tests_name("fanout sessions", tests, NULL, NULL);
}
