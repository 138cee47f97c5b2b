/* The rules of the join one by one: what the property test cannot tell apart, because a digest would heal it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "router/join.h"

enum { ADA = 1, BEN = 2, CLEO = 3, NOW = 10000000, INACTIVE = 600000, NEAR = 0, FAR = 2000000 };

struct stage {
    struct presence *presence;
    struct join_context context;
    struct join_result result;
};

static struct stage *stage(void) {
    static struct stage s;
    s = (struct stage){.presence = presence_new()};
    s.context = (struct join_context){.presence = s.presence,
                                      .now = NOW,
                                      .inactive_ms = INACTIVE,
                                      .radius_m = GEO_RADIUS_DEFAULT_M,
                                      .warm = true,
                                      .digests = true};
    join_result_init(&s.result);
    return &s;
}

static void end(struct stage *s) {
    join_result_free(&s->result);
    presence_free(s->presence);
}

static struct location event(int64_t user, enum location_kind kind, int32_t lat, int64_t time) {
    return (struct location){
        .user = user, .kind = kind, .lat = lat, .time = time, .session = 10, .route = (int32_t)user, .opted = 5};
}

static void put(struct stage *s, struct location e) { presence_apply(s->presence, &e, NULL, NULL); }

/* Ada's event, joined with Ben and Cleo as her friends. */
static bool join(struct stage *s, struct location e) {
    static const int64_t FRIENDS[] = {BEN, CLEO};
    if (!join_event(&s->context, &e, &s->result)) return false;
    join_reserve(&s->result, 2);
    join_friends(&s->context, FRIENDS, 2, &s->result);
    return true;
}

static void a_report_tells_who_sees_and_who_saw_her(void **state) {
    (void)state;
    struct stage *s = stage();
    put(s, event(BEN, LOCATION_JOIN, NEAR, NOW - 1));
    put(s, event(CLEO, LOCATION_JOIN, FAR, NOW - 1));
    put(s, event(ADA, LOCATION_JOIN, FAR, NOW - 1));
    assert_true(join(s, event(ADA, LOCATION_REPORT, NEAR, NOW)));
    assert_int_equal(s->result.recipient_count, 2); /* Ben sees her come, Cleo sees her leave */
    assert_true(s->result.roster && !s->result.complete);
    assert_int_equal(s->result.roster_count, 1);
    assert_int_equal(s->result.roster_friends[0].user, BEN);
    assert_true(s->result.digest);
    assert_int_equal(s->result.digest_count, 1);
    assert_true(s->result.digest_hash == hash_u64(BEN));

    assert_true(join(s, event(ADA, LOCATION_REPORT, NEAR, NOW + 1))); /* nothing new about Ben */
    assert_int_equal(s->result.recipient_count, 1);
    assert_false(s->result.roster);
    end(s);
}

static void whatever_repeats_gets_the_complete_list(void **state) {
    (void)state;
    struct stage *s = stage();
    put(s, event(BEN, LOCATION_JOIN, NEAR, NOW));
    struct location cases[] = {event(ADA, LOCATION_JOIN, NEAR, NOW), event(ADA, LOCATION_JOIN, NEAR, NOW + 1),
                               event(ADA, LOCATION_REJOIN, NEAR, NOW + 1), event(ADA, LOCATION_REJOIN, NEAR, NOW + 2),
                               event(ADA, LOCATION_REPORT, NEAR, NOW + 2) /* read again */};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(join(s, cases[i]));
        assert_true(s->result.roster && s->result.complete && !s->result.digest);
        assert_int_equal(s->result.roster_count, 1);
    }
    s->context.warm = s->context.digests = false;
    assert_true(join(s, event(ADA, LOCATION_REJOIN, NEAR, NOW + 2)));
    assert_true(s->result.roster && !s->result.complete);
    assert_int_equal(s->result.roster_count, 1); /* all that is known, though it may not be all there is */
    end(s);
}

static void an_old_report_is_for_history_an_old_join_is_not(void **state) {
    (void)state;
    struct stage *s = stage();
    put(s, event(BEN, LOCATION_JOIN, NEAR, NOW));
    put(s, event(ADA, LOCATION_JOIN, NEAR, NOW));
    assert_false(join(s, event(ADA, LOCATION_REPORT, FAR, NOW - 5)));
    struct location late = event(ADA, LOCATION_JOIN, FAR, NOW - 5);
    late.session = 11;
    assert_true(join(s, late));
    assert_true(s->result.complete);
    assert_int_equal(s->result.at.lat, NEAR); /* with presence's position */
    assert_int_equal(s->result.time, NOW);
    end(s);
}

static void the_older_session_hears_of_the_newer_whatever_its_time(void **state) {
    (void)state;
    struct stage *s = stage();
    put(s, event(ADA, LOCATION_JOIN, NEAR, NOW - 2 * INACTIVE));
    struct location newer = event(ADA, LOCATION_JOIN, NEAR, NOW - 2 * INACTIVE + 1);
    newer.session = 11;
    newer.route = 7;
    assert_false(join(s, newer)); /* too old to make her active */
    assert_int_equal(s->result.older_route, ADA);
    assert_int_equal(s->result.session, 11);

    assert_false(join(s, event(ADA, LOCATION_REPORT, NEAR, NOW))); /* of the beaten session */
    assert_int_equal(s->result.beaten_route, ADA);
    assert_int_equal(s->result.beaten_by, 11);
    end(s);
}

static void http_reports_keep_the_session_and_tell_it(void **state) {
    (void)state;
    struct stage *s = stage();
    put(s, event(ADA, LOCATION_JOIN, FAR, NOW - 1));
    struct location http = event(ADA, LOCATION_REPORT, NEAR, NOW);
    http.session = 0;
    http.route = -1;
    assert_true(join(s, http));
    assert_true(s->result.self);
    assert_int_equal(s->result.route, ADA);
    assert_int_equal(s->result.session, 10);
    end(s);
}

static void quit_of_another_session_changes_nothing(void **state) {
    (void)state;
    struct stage *s = stage();
    put(s, event(ADA, LOCATION_JOIN, NEAR, NOW));
    struct location quit = event(ADA, LOCATION_QUIT, NEAR, NOW);
    quit.session = 9;
    assert_false(join(s, quit));
    assert_int_equal(presence_find(s->presence, ADA)->route, ADA);
    quit.session = 10;
    assert_false(join(s, quit));
    assert_int_equal(presence_find(s->presence, ADA)->route, PRESENCE_ROUTE_NONE);
    end(s);
}

static void leave_is_told_to_all_with_a_route(void **state) {
    (void)state;
    struct stage *s = stage();
    put(s, event(BEN, LOCATION_JOIN, FAR, NOW - 2 * INACTIVE)); /* inactive, but connected */
    struct location leave = event(ADA, LOCATION_LEAVE, NEAR, NOW);
    assert_true(join(s, leave));
    assert_true(s->result.left);
    assert_int_equal(s->result.recipient_count, 1);
    struct location unchecked = event(ADA, LOCATION_REPORT, NEAR, NOW + 1);
    unchecked.opted = 4;
    assert_false(join(s, unchecked)); /* checked before the opt-out */
    assert_true(presence_find(s->presence, ADA)->left);
    end(s);
}

static void friends_made_name_each_other_wherever_they_are(void **state) {
    (void)state;
    struct stage *s = stage();
    join_befriended(&s->context, ADA, BEN, &s->result);
    assert_false(s->result.roster);
    put(s, event(ADA, LOCATION_JOIN, NEAR, NOW));
    join_befriended(&s->context, ADA, BEN, &s->result);
    assert_true(s->result.roster && !s->result.complete);
    assert_int_equal(s->result.roster_friends[0].time, -1);
    put(s, event(BEN, LOCATION_JOIN, FAR, NOW));
    join_befriended(&s->context, ADA, BEN, &s->result);
    assert_int_equal(s->result.roster_friends[0].time, NOW);
    end(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_tells_who_sees_and_who_saw_her),
        cmocka_unit_test(whatever_repeats_gets_the_complete_list),
        cmocka_unit_test(an_old_report_is_for_history_an_old_join_is_not),
        cmocka_unit_test(the_older_session_hears_of_the_newer_whatever_its_time),
        cmocka_unit_test(http_reports_keep_the_session_and_tell_it),
        cmocka_unit_test(quit_of_another_session_changes_nothing),
        cmocka_unit_test(leave_is_told_to_all_with_a_route),
        cmocka_unit_test(friends_made_name_each_other_wherever_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
