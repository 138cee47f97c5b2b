/* The uplink tells Kafka of sessions when their user opts in, and when a broker is back that was away. */
#include "unit/fanout/world.h"
#include "unit/kit/kit.h"

static struct reporter *reporter_of(const struct fanout_world *w, const struct session *session) {
    return view_reporter(fanout_world_view(w, session));
}

static void opt_in(struct fanout_world *w, int64_t user) {
    w->shares = true;
    for (struct session *session = sessions_of(w->sessions, user); session; session = session_twin(session))
        uplink_opted_in(w->uplink, reporter_of(w, session));
}

SET_UP() { return fanout_world_new(); }

TEST(a_new_session_outbids_whoever_joined_before_it, struct fanout_world *w) {
    struct reporter *reporter = reporter_of(w, fanout_world_arrive(w, 7, true));
    int64_t winner = uplink_number(reporter) + 1000;
    assert_false(uplink_superseded(w->uplink, reporter, winner));
    assert_int_equal(w->said_count, 2);
    assert_int_equal(w->said[1].kind, LOCATION_JOIN);
    assert_true(w->said[1].session > winner);
    assert_int_equal(w->said[1].session, uplink_number(reporter));
    assert_true(uplink_superseded(w->uplink, reporter, uplink_number(reporter) + 1));
}

/* Also of those that come within one millisecond. */
TEST(numbers_rise) {
    enum { SESSIONS = 5000 };
    struct fanout_world *w = fanout_world_new();
    for (int64_t i = 0; i < SESSIONS; i++) fanout_world_arrive(w, 7, true);
    for (int i = 1; i < SESSIONS; i++) assert_true(w->said[i].session > w->said[i - 1].session);
}

/* Both join when the user opts in: whichever is first, the older one does not outbid the newer one. */
TEST(on_opting_in_the_older_session_gives_way, struct fanout_world *w) {
    w->shares = false;
    struct reporter *older = reporter_of(w, fanout_world_arrive(w, 7, true));
    struct reporter *newer = reporter_of(w, fanout_world_arrive(w, 7, true));
    int64_t winner = uplink_number(newer);
    assert_int_equal(w->said_count, 0);
    opt_in(w, 7);
    assert_int_equal(w->said_count, 2);
    assert_true(uplink_superseded(w->uplink, older, winner));
    assert_int_equal(w->said_count, 2);
    assert_int_equal(uplink_number(newer), winner);
}

TEST(a_join_that_waited_for_a_broker_outbids_nobody, struct fanout_world *w) {
    w->up = false;
    struct reporter *reporter = reporter_of(w, fanout_world_arrive(w, 7, true));
    w->up = true;
    while (!w->said_count) uv_run(&w->loop, UV_RUN_ONCE);
    assert_int_equal(w->said[0].kind, LOCATION_JOIN);
    assert_true(uplink_superseded(w->uplink, reporter, uplink_number(reporter) + 1));
}

/* Ten thousand sessions would else hold up the loop when the broker comes back. */
TEST(a_few_unsent_reports_go_out_in_one_turn) {
    enum { SESSIONS = 3 * UPLINK_SLICE + 5 };
    struct fanout_world *w = fanout_world_new();
    w->up = false;
    for (int64_t user = 0; user < SESSIONS; user++) fanout_world_arrive(w, user, true);
    assert_int_equal(w->said_count, 0);
    w->up = true;
    for (size_t before = 0; w->said_count < SESSIONS; before = w->said_count) {
        uv_run(&w->loop, UV_RUN_ONCE);
        assert_true(w->said_count - before <= UPLINK_SLICE);
    }
    for (int64_t user = 0; user < SESSIONS; user++) {
        assert_int_equal(w->said[user].user, user); /* in the order in which they came */
        assert_int_equal(w->said[user].kind, LOCATION_JOIN);
    }
}

/* The producer's queue is full: the others wait for the next time, and nothing is tried in vain. */
TEST(what_the_producer_refuses_waits) {
    enum { SESSIONS = 10, TAKEN = 4 };
    struct fanout_world *w = fanout_world_new();
    w->up = false;
    for (int64_t user = 0; user < SESSIONS; user++) fanout_world_arrive(w, user, true);
    w->up = true;
    w->refuse_after = TAKEN;
    while (w->said_count < TAKEN) uv_run(&w->loop, UV_RUN_ONCE);
    for (int turn = 0; turn < 3; turn++) uv_run(&w->loop, UV_RUN_NOWAIT);
    assert_int_equal(w->said_count, TAKEN);
    w->refuse_after = -1;
    while (w->said_count < SESSIONS) uv_run(&w->loop, UV_RUN_ONCE);
}

TEST(sessions_that_go_meanwhile_say_nothing, struct fanout_world *w) {
    w->up = false;
    for (int64_t user = 0; user < 6; user++) fanout_world_arrive(w, user, true);
    for (int64_t user = 0; user < 6; user += 2) session_free(w->sessions, sessions_of(w->sessions, user));
    session_free(w->sessions, sessions_of(w->sessions, 5));
    w->up = true;
    while (w->said_count < 2) uv_run(&w->loop, UV_RUN_ONCE);
    for (int turn = 0; turn < 3; turn++) uv_run(&w->loop, UV_RUN_NOWAIT);
    assert_int_equal(w->said_count, 2);
    assert_int_equal(w->said[0].user, 1);
    assert_int_equal(w->said[1].user, 3);
}

TEST(a_repeated_report_is_no_move, struct fanout_world *w) {
    struct reporter *reporter = reporter_of(w, fanout_world_arrive(w, 7, true));
    struct report report = {.at = reporter->list->at, .time = reporter->list->time, .accuracy = 5};
    size_t said = w->said_count;
    for (int i = 0; i < 3; i++) uplink_report(w->uplink, reporter, &report);
    assert_int_equal(w->said_count, said);
    assert_true(!reporter->held);
    report.at.lat++; // a phone that moves twice in a millisecond
    uplink_report(w->uplink, reporter, &report);
    assert_true(reporter->held || w->said_count == said + 1);
}
