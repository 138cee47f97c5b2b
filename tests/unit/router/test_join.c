/* The rules of the join one by one: what the property test cannot tell apart, because a digest would heal it. */
#include "router/join.h"
#include "unit/kit/kit.h"

enum { ADA = 1, BEN = 2, CLEO = 3, NOW = 10000000, INACTIVE = 600000, NEAR = 0, FAR = 2000000 };

struct stage {
    struct presence *presence;
    struct join_context context;
    struct join_result result;
};

static struct stage *stage(void) {
    struct stage *s = kit_zero(sizeof *s);
    s->presence = presence_new(600000);
    s->context = (struct join_context){.presence = s->presence,
                                       .now = NOW,
                                       .inactive_ms = INACTIVE,
                                       .radius_m = GEO_RADIUS_DEFAULT_M,
                                       .rounded = grid_of(6),
                                       .warm = true,
                                       .digests = true};
    join_result_init(&s->result);
    return s;
}

static void end(struct stage *s) {
    join_result_free(&s->result);
    presence_free(s->presence);
}

static struct location event(int64_t user, enum location_kind kind, int32_t lat, int64_t time) {
    return (struct location){
        .user = user, .kind = kind, .lat = lat, .time = time, .session = 10, .route = (int32_t)user, .opted = 5};
}

static void put(struct stage *s, struct location e) { presence_apply(s->presence, &e, e.time, NULL, NULL); }

/* Ada's event, joined with Ben and Cleo as her friends; rounding: bits for Ben. */
static bool join_with(struct stage *s, struct location e, uint8_t rounding) {
    static const int64_t FRIENDS[] = {BEN, CLEO};
    struct rounding ben = {BEN, rounding};
    struct rounding_list roundings = {.items = &ben, .count = rounding != ROUNDING_NONE};
    if (!join_event(&s->context, &e, e.time, &s->result)) return false;
    join_reserve(&s->result, 2);
    join_friends(&s->context, FRIENDS, 2, &roundings, &s->result);
    return true;
}

static bool join(struct stage *s, struct location e) { return join_with(s, e, ROUNDING_NONE); }

SET_UP() { return stage(); }
TEAR_DOWN(struct stage *s) { end(s); }

TEST(a_report_tells_who_sees_and_who_saw_her, struct stage *s) {
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
}

TEST(whatever_repeats_gets_the_complete_list, struct stage *s) {
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
}

TEST(an_old_report_is_for_history_an_old_join_is_not, struct stage *s) {
    put(s, event(BEN, LOCATION_JOIN, NEAR, NOW));
    put(s, event(ADA, LOCATION_JOIN, NEAR, NOW));
    assert_false(join(s, event(ADA, LOCATION_REPORT, FAR, NOW - 5)));
    struct location late = event(ADA, LOCATION_JOIN, FAR, NOW - 5);
    late.session = 11;
    assert_true(join(s, late));
    assert_true(s->result.complete);
    assert_int_equal(s->result.at.lat, NEAR); /* with presence's position */
    assert_int_equal(s->result.time, NOW);
}

static const struct join_answer *answer(const struct stage *s, int64_t session) {
    for (size_t i = 0; i < s->result.answer_count; i++)
        if (s->result.answers[i].session == session) return &s->result.answers[i];
    return NULL;
}

static struct location of_session(struct location e, int64_t session, int32_t route) {
    e.session = session;
    e.route = route;
    return e;
}

TEST(all_her_sessions_hear_of_a_report, struct stage *s) {
    put(s, event(BEN, LOCATION_JOIN, NEAR, NOW - 1));
    put(s, event(ADA, LOCATION_JOIN, FAR, NOW - 2));
    assert_true(join(s, of_session(event(ADA, LOCATION_JOIN, FAR, NOW - 1), 9, 7))); /* numbers need no order */
    assert_int_equal(s->result.answer_count, 2);
    assert_true(s->result.complete);
    assert_true(answer(s, 10)->self && answer(s, 10)->route == ADA);
    assert_true(!answer(s, 9)->self && answer(s, 9)->route == 7);

    assert_true(join(s, event(ADA, LOCATION_REPORT, NEAR, NOW)));
    assert_true(answer(s, 9)->self && !answer(s, 10)->self);
    assert_true(s->result.roster && !s->result.complete && s->result.digest);
}

TEST(a_repair_without_news_is_answered_to_its_session_alone, struct stage *s) {
    put(s, event(ADA, LOCATION_JOIN, NEAR, NOW));
    put(s, of_session(event(ADA, LOCATION_JOIN, NEAR, NOW), 11, 7));
    assert_true(join(s, of_session(event(ADA, LOCATION_REJOIN, NEAR, NOW), 11, 8)));
    assert_int_equal(s->result.answer_count, 1);
    assert_true(answer(s, 11)->route == 8 && !answer(s, 11)->self);
    assert_true(join(s, of_session(event(ADA, LOCATION_REJOIN, NEAR, NOW + 1), 11, 8)));
    assert_int_equal(s->result.answer_count, 2);
}

TEST(a_session_that_is_behind_hears_where_she_is, struct stage *s) {
    put(s, event(ADA, LOCATION_JOIN, NEAR, NOW));
    assert_false(join(s, of_session(event(ADA, LOCATION_REPORT, FAR, NOW - 5), 11, 7)));
    assert_int_equal(s->result.answer_count, 1);
    assert_true(answer(s, 11)->self && s->result.at.lat == NEAR && s->result.time == NOW && !s->result.roster);
    assert_true(join(s, of_session(event(ADA, LOCATION_JOIN, FAR, 0), 12, 7))); /* it only looks */
    assert_int_equal(s->result.answer_count, 1);
    assert_true(answer(s, 12)->self && s->result.complete);
    assert_false(join(s, of_session(event(ADA, LOCATION_REPORT, FAR, NOW - 5), 0, -1))); /* for history alone */
    assert_int_equal(s->result.answer_count, 0);
}

TEST(each_route_of_a_friend_hears_of_her_once, struct stage *s) {
    put(s, event(BEN, LOCATION_JOIN, NEAR, NOW));
    for (int session = 20; session < 30; session++)
        put(s, of_session(event(BEN, LOCATION_REPORT, NEAR, NOW), session, 50 + session % 3));
    put(s, event(CLEO, LOCATION_JOIN, NEAR, NOW));
    assert_true(join(s, event(ADA, LOCATION_JOIN, NEAR, NOW)));
    assert_int_equal(s->result.recipient_count, 5);
    assert_int_equal(s->result.active, 2);
    assert_true(join_with(s, event(ADA, LOCATION_REPORT, NEAR, NOW + 1), ROUNDING_MINE));
    assert_int_equal(s->result.recipient_count, 1);
    assert_int_equal(s->result.rounded_recipient_count, 4);
    struct location leave = event(ADA, LOCATION_LEAVE, NEAR, NOW);
    assert_true(join(s, leave));
    assert_int_equal(s->result.recipient_count, 5);
}

TEST(http_reports_keep_the_sessions_and_tell_them, struct stage *s) {
    put(s, event(ADA, LOCATION_JOIN, FAR, NOW - 2));
    put(s, of_session(event(ADA, LOCATION_JOIN, FAR, NOW - 1), 11, 7));
    assert_true(join(s, of_session(event(ADA, LOCATION_REPORT, NEAR, NOW), 0, -1)));
    assert_true(answer(s, 10)->self && answer(s, 11)->self);
}

TEST(a_quit_ends_its_own_session_alone, struct stage *s) {
    put(s, event(ADA, LOCATION_JOIN, NEAR, NOW));
    put(s, of_session(event(ADA, LOCATION_JOIN, NEAR, NOW), 11, 7));
    assert_false(join(s, of_session(event(ADA, LOCATION_QUIT, NEAR, NOW), 9, ADA)));
    assert_false(join(s, event(ADA, LOCATION_QUIT, NEAR, NOW)));
    assert_int_equal(presence_find(s->presence, ADA)->route, 7);
    assert_false(join(s, of_session(event(ADA, LOCATION_QUIT, NEAR, NOW), 11, 7)));
    assert_int_equal(presence_find(s->presence, ADA)->route, PRESENCE_ROUTE_NONE);
}

TEST(leave_is_told_to_all_with_a_route, struct stage *s) {
    put(s, event(BEN, LOCATION_JOIN, FAR, NOW - 2 * INACTIVE)); /* inactive, but connected */
    struct location leave = event(ADA, LOCATION_LEAVE, NEAR, NOW);
    assert_true(join(s, leave));
    assert_true(s->result.left);
    assert_int_equal(s->result.recipient_count, 1);
    struct location unchecked = event(ADA, LOCATION_REPORT, NEAR, NOW + 1);
    unchecked.opted = 4;
    assert_false(join(s, unchecked)); /* checked before the opt-out */
    assert_true(presence_find(s->presence, ADA)->left);
}

TEST(friends_made_name_each_other_wherever_they_are, struct stage *s) {
    join_befriended(&s->context, ADA, BEN, ROUNDING_NONE, &s->result);
    assert_false(s->result.roster);
    put(s, event(ADA, LOCATION_JOIN, NEAR, NOW));
    join_befriended(&s->context, ADA, BEN, ROUNDING_NONE, &s->result);
    assert_true(s->result.roster && !s->result.complete);
    assert_int_equal(s->result.roster_friends[0].time, -1);
    put(s, event(BEN, LOCATION_JOIN, FAR, NOW));
    join_befriended(&s->context, ADA, BEN, ROUNDING_NONE, &s->result);
    assert_int_equal(s->result.roster_friends[0].time, NOW);
}

/* ---- rounded places ---- */

static struct geo_point snapped(const struct stage *s, int32_t lat) {
    return grid_centre(&s->context.rounded, grid_cell(&s->context.rounded, (struct geo_point){lat, 0}));
}

TEST(who_sees_her_rounded_hears_of_the_rounded_place_alone, struct stage *s) {
    put(s, event(BEN, LOCATION_JOIN, NEAR, NOW - 1));
    put(s, event(CLEO, LOCATION_JOIN, NEAR, NOW - 1));
    assert_true(join_with(s, event(ADA, LOCATION_JOIN, 777, NOW), ROUNDING_MINE));
    assert_int_equal(s->result.recipient_count, 1); /* Cleo sees her exactly */
    assert_int_equal(s->result.recipients[0].user, CLEO);
    assert_int_equal(s->result.rounded_recipient_count, 1);
    assert_int_equal(s->result.rounded_recipients[0].user, BEN);
    assert_int_equal(s->result.rounded_at.lat, snapped(s, 777).lat);
    assert_int_not_equal(s->result.rounded_at.lat, 777);
    assert_int_equal(s->result.roster_count, 2); /* and she sees both exactly */
    assert_int_equal(s->result.roster_rounded_count, 0);

    assert_true(join_with(s, event(ADA, LOCATION_REJOIN, 777, NOW + 1), ROUNDING_THEIRS));
    assert_int_equal(s->result.recipient_count, 2);
    assert_int_equal(s->result.rounded_recipient_count, 0);
    assert_int_equal(s->result.roster_friends[0].lat, snapped(s, NEAR).lat);
    assert_int_equal(s->result.roster_rounded_count, 1);
    assert_int_equal(s->result.roster_rounded[0], BEN);
}

/* All that Ben may be told of her is the same for any two places of one cell, and differs between cells. */
TEST(places_of_one_cell_cannot_be_told_apart, struct stage *s) {
    struct grid grid = s->context.rounded;
    int32_t edge = (int32_t)(grid_height(&grid) * 1e7), told_at = 0, where = 0;
    bool told = false;
    for (int32_t ben = 600000; ben < 900000; ben += 1111) { /* the radius is at 723,600 */
        put(s, event(BEN, LOCATION_JOIN, ben, NOW));
        for (int i = 0; i < 3; i++) {
            int32_t at = edge / 10 + i * (edge / 10 * 4);
            put(s, event(ADA, LOCATION_LEAVE, FAR, NOW));
            struct location back = event(ADA, LOCATION_JOIN, at, NOW + ben);
            back.opted = 6 + ben * 3 + i;
            assert_true(join_with(s, back, ROUNDING_MINE));
            bool heard = s->result.rounded_recipient_count;
            if (i) {
                assert_int_equal(heard, told);
                assert_int_equal(s->result.rounded_at.lat, told_at);
            }
            told = heard;
            told_at = s->result.rounded_at.lat;
            struct location leave = event(ADA, LOCATION_LEAVE, FAR, NOW + ben);
            leave.opted = back.opted;
            put(s, leave);
        }
        where += told;
    }
    assert_true(where > 0 && where < 270); /* near for some of Ben's places, and for some not */
}

/* Each way against brute force, with and without a place before. */
TEST(each_way_is_judged_on_its_own) {
    uint64_t random = 5;
    int one_sided = 0;
    for (int round = 0; round < 5000; round++) {
        struct stage *s = stage();
        struct geo_point ben = {(int32_t)(hash_u64(random++) % 1600000), 0};
        int32_t from = (int32_t)(hash_u64(random++) % 1600000), to = (int32_t)(hash_u64(random++) % 1600000);
        uint8_t bits = (uint8_t)(1 + hash_u64(random++) % 3);
        bool had = hash_u64(random++) % 2, mine = bits & ROUNDING_MINE, theirs = bits & ROUNDING_THEIRS;
        put(s, event(BEN, LOCATION_JOIN, ben.lat, NOW));
        if (had) put(s, event(ADA, LOCATION_JOIN, from, NOW - 1));
        assert_true(join_with(s, event(ADA, LOCATION_REPORT, to, NOW), bits));

        struct geo_point told = mine ? snapped(s, to) : (struct geo_point){to, 0};
        struct geo_point was = mine ? snapped(s, from) : (struct geo_point){from, 0};
        struct geo_point seen = theirs ? snapped(s, ben.lat) : ben;
        bool hears =
            geo_distance(told, ben) <= GEO_RADIUS_DEFAULT_M || (had && geo_distance(was, ben) <= GEO_RADIUS_DEFAULT_M);
        bool sees = geo_distance((struct geo_point){to, 0}, seen) <= GEO_RADIUS_DEFAULT_M;
        bool saw = had && geo_distance((struct geo_point){from, 0}, seen) <= GEO_RADIUS_DEFAULT_M;
        assert_int_equal(s->result.recipient_count, hears && !mine);
        assert_int_equal(s->result.rounded_recipient_count, hears && mine);
        assert_int_equal(s->result.digest_count, sees);
        assert_int_equal(s->result.roster_count, sees && !saw);
        assert_int_equal(s->result.roster_rounded_count, sees && !saw && theirs);
        if (sees && !saw) assert_int_equal(s->result.roster_friends[0].lat, seen.lat);
        one_sided += sees != (geo_distance(told, ben) <= GEO_RADIUS_DEFAULT_M);
        end(s);
    }
    assert_true(one_sided > 20);
}

TEST(a_choice_is_told_to_whom_it_concerns, struct stage *s) {
    join_rounded(&s->context, ADA, BEN, true, &s->result);
    assert_int_equal(s->result.rounded_recipient_count, 0);
    put(s, event(ADA, LOCATION_JOIN, 777, NOW));
    join_rounded(&s->context, ADA, BEN, true, &s->result);
    assert_int_equal(s->result.rounded_recipient_count, 0); /* Ben's list is empty */
    put(s, event(BEN, LOCATION_JOIN, FAR, NOW));
    join_rounded(&s->context, ADA, BEN, true, &s->result);
    assert_int_equal(s->result.rounded_recipient_count, 1);
    assert_int_equal(s->result.rounded_at.lat, snapped(s, 777).lat);
    assert_int_equal(s->result.recipient_count, 0);
    join_rounded(&s->context, ADA, BEN, false, &s->result);
    assert_int_equal(s->result.recipient_count, 1);
    assert_int_equal(s->result.rounded_recipient_count, 0);
    join_befriended(&s->context, BEN, ADA, ROUNDING_THEIRS, &s->result);
    assert_int_equal(s->result.roster_friends[0].lat, snapped(s, 777).lat);
    assert_int_equal(s->result.roster_rounded_count, 1);
}
