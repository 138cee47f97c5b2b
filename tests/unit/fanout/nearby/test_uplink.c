/* The uplink tells Kafka of sessions when their user opts in, when they have long said nothing, and when a broker is back that was away. */
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

/* Also of those that come within one millisecond. */
TEST(numbers_rise) {
    enum { SESSIONS = 5000 };
    struct fanout_world *w = fanout_world_new();
    for (int64_t i = 0; i < SESSIONS; i++) fanout_world_arrive(w, 7, true);
    for (int i = 1; i < SESSIONS; i++) assert_true(w->said[i].session > w->said[i - 1].session);
}

/* None of them gives way to another. */
TEST(on_opting_in_all_sessions_join, struct fanout_world *w) {
    w->shares = false;
    struct session *one = fanout_world_arrive(w, 7, true), *other = fanout_world_arrive(w, 7, true);
    assert_int_equal(w->said_count, 0);
    opt_in(w, 7);
    assert_int_equal(w->said_count, 2);
    assert_true(w->said[0].kind == LOCATION_JOIN && w->said[1].kind == LOCATION_JOIN);
    assert_int_equal(w->said[0].session + w->said[1].session, session_number(one) + session_number(other));
}

/* Also while its user is inactive: routers that have started meanwhile learn of it. */
TEST(a_session_that_has_long_said_nothing_says_so, struct fanout_world *w) {
    struct session *session = fanout_world_arrive(w, 7, true);
    struct reporter *reporter = reporter_of(w, session);
    assert_int_equal(uplink_deadline(reporter), reporter->word_ms);
    uplink_due(w->uplink, reporter);
    assert_int_equal(w->said_count, 1);
    reporter->word_ms = clock_coarse_ms();
    uplink_due(w->uplink, reporter);
    assert_int_equal(w->said_count, 2);
    assert_int_equal(w->said[1].kind, LOCATION_REJOIN);
    assert_int_equal(w->said[1].session, session_number(session));
    assert_true(reporter->word_ms > clock_coarse_ms() + WORLD_TOKEN_MS);

    w->refuse_after = 0; /* it says it as soon as it can, and does not ask at each turn */
    reporter->word_ms = clock_coarse_ms();
    uplink_due(w->uplink, reporter);
    assert_true(uplink_deadline(reporter) > clock_coarse_ms());
    w->refuse_after = -1;
    reporter->rejoin_ms = clock_coarse_ms();
    uplink_due(w->uplink, reporter);
    assert_int_equal(w->said[2].kind, LOCATION_REJOIN);

    uplink_opted_out(w->uplink, reporter);
    assert_int_equal(uplink_deadline(reporter), INT64_MAX);
}

/* Friends are told what the phone has said already when its user lets them see it, and not with every record of sharing. */
TEST(details_are_told_when_they_are_shown, struct fanout_world *w) {
    struct session *session = fanout_world_arrive(w, 7, true);
    struct reporter *reporter = reporter_of(w, session);
    uplink_show(w->uplink, reporter);
    assert_int_equal(w->said_count, 1);
    reporter->details.battery = 500;
    w->shows_details = true;
    uplink_show(w->uplink, reporter);
    uplink_show(w->uplink, reporter);
    assert_int_equal(w->said_count, 2);
    assert_true(w->said[1].kind == LOCATION_REJOIN && w->said[1].shown && w->said[1].battery == 500);
    w->shows_details = false;
    uplink_show(w->uplink, reporter);
    assert_int_equal(w->said_count, 2);
    w->shows_details = true;
    uplink_show(w->uplink, reporter);
    assert_int_equal(w->said_count, 3);
}

/* Routers would tell the session where it is if the report came from it. */
TEST(a_report_for_history_is_of_no_session, struct fanout_world *w) {
    struct session *session = fanout_world_arrive(w, 7, true);
    struct reporter *reporter = reporter_of(w, session);
    struct report old = {.at = {5, 5}, .time = 0, .accuracy = 5};
    reporter->report_ms = 0;
    uplink_report(w->uplink, reporter, &old);
    assert_int_equal(w->said_count, 2);
    assert_int_equal(w->said[1].kind, LOCATION_REPORT);
    assert_true(w->said[1].session == 0 && w->said[1].route == ROUTE_NONE && w->said[1].time == 0);
    assert_int_equal(reporter->list->time, 1);
}

TEST(a_phone_that_comes_again_ends_its_session_before, struct fanout_world *w) {
    w->refuse_after = 1; /* the QUIT goes out, but not the JOIN */
    struct session *session = fanout_world_arrive(w, 7, false);
    struct view *view = fanout_world_view(w, session);
    uplink_follow(view_reporter(view), 55);
    view_open(w->views, w->uplink, view, true);
    fanout_world_report(w, session, 1);
    assert_int_equal(w->said_count, 1);
    w->refuse_after = -1;
    while (w->said_count < 3) uv_run(&w->loop, UV_RUN_ONCE);
    for (int i = 0; i < 2; i++)
        assert_true(w->said[i].kind == LOCATION_QUIT && w->said[i].session == 55 && w->said[i].user == 7);
    assert_true(w->said[2].kind == LOCATION_JOIN && w->said[2].session == session_number(session));
    uplink_opted_out(w->uplink, view_reporter(view));
    opt_in(w, 7);
    assert_int_equal(w->said_count, 4); /* once is enough */
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

/* ---- reports that wait for others ---- */

/* A request for each of 64 partitions, of an edge of some hundred reports a second, would hold hardly more than one. */
TEST(reports_wait_where_requests_would_be_many_and_small) {
    assert_int_equal(uplink_gathering_ms(0, 64, 20, 250), 0);
    assert_int_equal(uplink_gathering_ms(90, 64, 20, 250), 0); // fewer than UPLINK_REQUESTS_S, each by itself
    assert_int_equal(uplink_gathering_ms(120, 64, 20, 250),
                     86); // of 640 ms for a hundred requests, 533 pass by themselves
    assert_int_equal(uplink_gathering_ms(600, 64, 20, 250), 230);
    assert_int_equal(uplink_gathering_ms(600, 16, 20, 250), 60); // three more in each
    assert_int_equal(uplink_gathering_ms(2400, 16, 20, 250), 0); // enough come in 20 ms
    assert_int_equal(uplink_gathering_ms(600, 1, 20, 250), 0);
    assert_int_equal(uplink_gathering_ms(600, 64, 0, 0), 0); // updates go at once
    for (int64_t reports = 1; reports < 100000; reports += reports / 10 + 1)
        for (int32_t partitions = 1; partitions <= 1024; partitions *= 2) {
            double waits = (double)uplink_gathering_ms((double)reports, partitions, 20, 250);
            double between = 1000.0 * partitions / (double)reports;
            assert_true(waits >= 0 && waits <= 230);
            if (waits == 0) continue;
            assert_true(1000 * partitions / (waits + 20 + between) > 0.99 * UPLINK_REQUESTS_S);
            assert_true(waits + 20 <= (UPLINK_RECORDS - 1) * between);
        }
}

/* The session of user 7 in a world where so many reports came in the last second that others wait. */
static struct session *among_many(struct fanout_world *w) {
    for (int64_t user = 1000; user < 1400; user++) fanout_world_arrive(w, user, true);
    struct session *session = fanout_world_arrive(w, 7, true);
    for (int64_t until = clock_monotonic_us() + 700000; clock_monotonic_us() < until;) uv_run(&w->loop, UV_RUN_ONCE);
    assert_int_equal(w->said_count, 401);
    return session;
}

static void says(const struct fanout_world *w, size_t count, enum location_kind kind, int64_t time) {
    assert_int_equal(w->said_count, count);
    assert_true(w->said[count - 1].kind == kind && w->said[count - 1].time == time && w->said[count - 1].user == 7);
}

TEST(reports_wait_for_others) {
    struct fanout_world *w = fanout_world_of(64);
    struct session *session = among_many(w);
    fanout_world_report(w, session, 2);
    says(w, 401, LOCATION_JOIN, 1);
    assert_int_equal(reporter_of(w, session)->list->time, 2); // the session's own place counts at once
    fanout_world_report(w, session, 3);
    says(w, 402, LOCATION_REPORT, 2); // history has each of them
    while (w->said_count == 402) uv_run(&w->loop, UV_RUN_ONCE);
    says(w, 403, LOCATION_REPORT, 3);
}

/* Whatever comes of the session meanwhile. */
TEST(a_report_that_waits_is_not_lost) {
    struct fanout_world *w = fanout_world_of(64);
    struct session *session = among_many(w);
    struct reporter *reporter = reporter_of(w, session);
    fanout_world_report(w, session, 2);
    uplink_rejoin(w->uplink, reporter);
    says(w, 403, LOCATION_REJOIN, 2);
    assert_true(w->said[401].kind == LOCATION_REPORT && w->said[401].time == 2);
    fanout_world_report(w, session, 3);
    uplink_place(w->uplink, reporter, &(struct report){.at = {5, 5}, .time = 9, .details = {DETAILS_NONE}});
    says(w, 404, LOCATION_REPORT, 3);
    assert_int_equal(reporter->list->time, 9);
    fanout_world_report(w, session, 10);
    says(w, 404, LOCATION_REPORT, 3);
    uplink_leave(w->uplink, reporter);
    says(w, 405, LOCATION_REPORT, 10);
    fanout_world_arrive(w, 7, true); // a list is not waited for
    says(w, 406, LOCATION_JOIN, 1);
}
