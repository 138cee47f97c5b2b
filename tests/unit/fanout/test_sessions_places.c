/* The sessions of a user: found, bounded, and gone, and those that wait for a hello. */
#include "fanout/sessions.h"
#include "unit/kit/kit.h"

enum { EACH = 3, MANY = 20000 };

struct world {
    uv_loop_t loop;
    struct metrics *metrics;
    struct fanout_settings settings;
    struct screen_set screens;
    struct sessions *sessions;
};

static void world_close(void *it) {
    struct world *w = it;
    sessions_free_all(w->sessions);
    sessions_free(w->sessions);
    kit_loop_end(&w->loop);
}

static struct world *world_with(const struct fanout_settings *settings) {
    struct world *w = kit_zero(sizeof *w);
    *w = (struct world){.settings = *settings};
    uv_loop_init(&w->loop);
    w->metrics = kit_metrics();
    w->sessions = sessions_new(&(struct sessions_options){
        .loop = &w->loop, .metrics = w->metrics, .settings = &w->settings, .screens = &w->screens});
    kit_after(world_close, w);
    return w;
}

static struct world *world_new(int64_t each) {
    return world_with(&(struct fanout_settings){.hello_s = 300, .user_sessions = each});
}

TEST(a_user_has_so_many_sessions) {
    struct world *w = world_new(EACH);
    struct session *sessions[EACH], *more;
    for (int i = 0; i < EACH; i++) {
        sessions[i] = session_new(w->sessions, NULL);
        assert_true(session_greet(w->sessions, sessions[i], 7, 0));
    }
    more = session_new(w->sessions, NULL);
    assert_false(session_greet(w->sessions, more, 7, 0));
    assert_false(session_greeted(more));
    assert_ptr_equal(sessions_of(w->sessions, 7), sessions[EACH - 1]);
    assert_true(session_greet(w->sessions, more, 8, 0));
    session_free(w->sessions, sessions[1]);
    assert_ptr_equal(session_twin(sessions[2]), sessions[0]);
    sessions[1] = session_new(w->sessions, NULL);
    assert_true(session_greet(w->sessions, sessions[1], 7, 0));
    session_free(w->sessions, sessions[1]); /* the newest */
    assert_ptr_equal(sessions_of(w->sessions, 7), sessions[2]);
    session_free(w->sessions, sessions[0]); /* the oldest */
    assert_null(session_twin(sessions[2]));
}

/* Oldest first, so that each is the last of its user's: with a walk, this would be two hundred million steps. */
TEST(many_of_one_user_go_as_quickly_as_others) {
    struct world *w = world_new(0);
    struct session *all[MANY];
    for (int i = 0; i < MANY; i++) {
        all[i] = session_new(w->sessions, NULL);
        assert_true(session_greet(w->sessions, all[i], 7, 0));
    }
    for (int i = 0; i < MANY; i++) session_free(w->sessions, all[i]);
    assert_null(sessions_of(w->sessions, 7));
    assert_int_equal(sessions_count(w->sessions), 0);
}

TEST(the_one_who_has_waited_longest_is_found) {
    struct world *w = world_new(0);
    struct session *first = session_new(w->sessions, NULL), *second = session_new(w->sessions, NULL);
    struct session *third = session_new(w->sessions, NULL);
    assert_null(sessions_waiting(w->sessions)); /* it may be about to say hello */
    for (int64_t from_ms = clock_coarse_ms(); clock_coarse_ms() < from_ms + 250;) uv_sleep(10);
    assert_ptr_equal(sessions_waiting(w->sessions), first);
    session_greet(w->sessions, first, 7, 0);
    session_free(w->sessions, second);
    assert_ptr_equal(sessions_waiting(w->sessions), third);
    session_free(w->sessions, third);
    assert_null(sessions_waiting(w->sessions));
}

TEST(a_user_begins_so_many_sessions) {
    struct world *w =
        world_with(&(struct fanout_settings){.hello_s = 300, .user_hello_rate = 1, .user_hello_burst = EACH});
    for (int i = 0; i <= EACH; i++) {
        struct session *session = session_new(w->sessions, NULL);
        assert_int_equal(session_greet(w->sessions, session, 7, 0), i < EACH);
        session_free(w->sessions, session); /* one that has gone counts, too */
    }
    assert_true(session_greet(w->sessions, session_new(w->sessions, NULL), 8, 0));
}

TEST(what_is_held_for_phones_is_bounded_by_user_and_in_all) {
    enum { MB = 1 << 20 };
    struct world *w = world_with(&(struct fanout_settings){.hello_s = 300, .user_unread_mb = 1, .unread_mb = 2});
    struct session *sessions[4];
    for (int i = 0; i < 4; i++) {
        sessions[i] = session_new(w->sessions, NULL);
        assert_true(session_greet(w->sessions, sessions[i], i < 2 ? 7 : 6 + i, 0)); /* two are of one user */
    }
    assert_true(session_hold(w->sessions, sessions[0], 0, MB / 2));
    assert_true(session_hold(w->sessions, sessions[1], 0, MB / 2));
    assert_true(session_hold(w->sessions, sessions[2], 0, MB - 1));
    assert_false(session_hold(w->sessions, sessions[3], 0, 2));               /* of all */
    assert_false(session_hold(w->sessions, sessions[1], MB / 2, MB / 2 + 1)); /* of its user; none are counted now */
    assert_true(session_hold(w->sessions, sessions[3], 0, 2));
}
