/* The sessions of a user: found, bounded, and gone, and those that wait for a hello. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fanout/sessions.h"

enum { EACH = 3, MANY = 20000 };

struct world {
    uv_loop_t loop;
    struct metrics *metrics;
    struct fanout_settings settings;
    struct screen_set screens;
    struct sessions *sessions;
};

static void world_open_with(struct world *w, const struct fanout_settings *settings) {
    *w = (struct world){.settings = *settings};
    uv_loop_init(&w->loop);
    w->metrics = metrics_new();
    w->sessions = sessions_new(&(struct sessions_options){
        .loop = &w->loop, .metrics = w->metrics, .settings = &w->settings, .screens = &w->screens});
}

static void world_open(struct world *w, int64_t each) {
    world_open_with(w, &(struct fanout_settings){.hello_s = 300, .user_sessions = each});
}

static void world_close(struct world *w) {
    sessions_free_all(w->sessions);
    sessions_free(w->sessions);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    metrics_free(w->metrics);
}

static void a_user_has_so_many_sessions(void **state) {
    struct world w;
    struct session *sessions[EACH], *more;
    world_open(&w, EACH);
    for (int i = 0; i < EACH; i++) {
        sessions[i] = session_new(w.sessions, NULL);
        assert_true(session_greet(w.sessions, sessions[i], 7, 0));
    }
    more = session_new(w.sessions, NULL);
    assert_false(session_greet(w.sessions, more, 7, 0));
    assert_false(session_greeted(more));
    assert_ptr_equal(sessions_of(w.sessions, 7), sessions[EACH - 1]);
    assert_true(session_greet(w.sessions, more, 8, 0));
    session_free(w.sessions, sessions[1]);
    assert_ptr_equal(session_twin(sessions[2]), sessions[0]);
    sessions[1] = session_new(w.sessions, NULL);
    assert_true(session_greet(w.sessions, sessions[1], 7, 0));
    session_free(w.sessions, sessions[1]); /* the newest */
    assert_ptr_equal(sessions_of(w.sessions, 7), sessions[2]);
    session_free(w.sessions, sessions[0]); /* the oldest */
    assert_null(session_twin(sessions[2]));
    world_close(&w);
}

/* Oldest first, so that each is the last of its user's: with a walk, this would be two hundred million steps. */
static void many_of_one_user_go_as_quickly_as_others(void **state) {
    struct world w;
    struct session *all[MANY];
    world_open(&w, 0);
    for (int i = 0; i < MANY; i++) {
        all[i] = session_new(w.sessions, NULL);
        assert_true(session_greet(w.sessions, all[i], 7, 0));
    }
    for (int i = 0; i < MANY; i++) session_free(w.sessions, all[i]);
    assert_null(sessions_of(w.sessions, 7));
    assert_int_equal(sessions_count(w.sessions), 0);
    world_close(&w);
}

static void the_one_who_has_waited_longest_is_found(void **state) {
    struct world w;
    world_open(&w, 0);
    struct session *first = session_new(w.sessions, NULL), *second = session_new(w.sessions, NULL);
    struct session *third = session_new(w.sessions, NULL);
    assert_null(sessions_waiting(w.sessions)); /* it may be about to say hello */
    for (int64_t from_ms = clock_coarse_ms(); clock_coarse_ms() < from_ms + 250;) uv_sleep(10);
    assert_ptr_equal(sessions_waiting(w.sessions), first);
    session_greet(w.sessions, first, 7, 0);
    session_free(w.sessions, second);
    assert_ptr_equal(sessions_waiting(w.sessions), third);
    session_free(w.sessions, third);
    assert_null(sessions_waiting(w.sessions));
    world_close(&w);
}

static void a_user_begins_so_many_sessions(void **state) {
    struct world w;
    world_open_with(&w, &(struct fanout_settings){.hello_s = 300, .user_hello_rate = 1, .user_hello_burst = EACH});
    for (int i = 0; i <= EACH; i++) {
        struct session *session = session_new(w.sessions, NULL);
        assert_int_equal(session_greet(w.sessions, session, 7, 0), i < EACH);
        session_free(w.sessions, session); /* one that has gone counts, too */
    }
    assert_true(session_greet(w.sessions, session_new(w.sessions, NULL), 8, 0));
    world_close(&w);
}

static void what_is_held_for_phones_is_bounded_by_user_and_in_all(void **state) {
    enum { MB = 1 << 20 };
    struct world w;
    struct session *sessions[4];
    world_open_with(&w, &(struct fanout_settings){.hello_s = 300, .user_unread_mb = 1, .unread_mb = 2});
    for (int i = 0; i < 4; i++) {
        sessions[i] = session_new(w.sessions, NULL);
        assert_true(session_greet(w.sessions, sessions[i], i < 2 ? 7 : 6 + i, 0)); /* two are of one user */
    }
    assert_true(session_hold(w.sessions, sessions[0], 0, MB / 2));
    assert_true(session_hold(w.sessions, sessions[1], 0, MB / 2));
    assert_true(session_hold(w.sessions, sessions[2], 0, MB - 1));
    assert_false(session_hold(w.sessions, sessions[3], 0, 2));               /* of all */
    assert_false(session_hold(w.sessions, sessions[1], MB / 2, MB / 2 + 1)); /* of its user; none are counted now */
    assert_true(session_hold(w.sessions, sessions[3], 0, 2));
    world_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_user_has_so_many_sessions),
        cmocka_unit_test(a_user_begins_so_many_sessions),
        cmocka_unit_test(what_is_held_for_phones_is_bounded_by_user_and_in_all),
        cmocka_unit_test(many_of_one_user_go_as_quickly_as_others),
        cmocka_unit_test(the_one_who_has_waited_longest_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
