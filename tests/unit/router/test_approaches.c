/* Which users are notified that a friend has come near: by joins of real presence. */
#include "router/approaches.h"
#include "router/rounding.h"
#include "unit/kit/kit.h"

enum { ADA = 1, BEN = 2, CLEO = 3, NOW = 10000000, INACTIVE = 600000, PAUSE = 100000, NEAR = 0, FAR = 2000000 };

struct stage {
    struct presence *presence;
    struct join_context context;
    struct join_result result;
    struct approaches *approaches;
    struct rounding_list roundings; /* of the user whose event is joined */
    int64_t muted;                  /* the user whose approaches are not wanted; 0: none */
    struct approach told[8];
    size_t count;
};

SET_UP() {
    static struct stage s;
    s = (struct stage){.presence = presence_new(600000), .approaches = approaches_new(PAUSE)};
    s.context = (struct join_context){.presence = s.presence,
                                      .now = NOW,
                                      .inactive_ms = INACTIVE,
                                      .radius_m = GEO_RADIUS_DEFAULT_M,
                                      .rounded = grid_of(6),
                                      .warm = true,
                                      .digests = true};
    join_result_init(&s.result);
    return &s;
}

TEAR_DOWN(struct stage *s) {
    approaches_free(s->approaches);
    rounding_list_free(&s->roundings);
    join_result_free(&s->result);
    presence_free(s->presence);
}

/* By a session, or over HTTP. */
static struct location by_socket(int64_t user, int32_t lat, int64_t time) {
    return (struct location){
        .user = user, .kind = LOCATION_REPORT, .lat = lat, .time = time, .session = 10, .route = 1, .opted = 5};
}

static struct location by_http(int64_t user, int32_t lat, int64_t time) {
    return (struct location){
        .user = user, .kind = LOCATION_REPORT, .lat = lat, .time = time, .route = PRESENCE_ROUTE_NONE, .opted = 5};
}

static void put(struct stage *s, struct location e) { presence_apply(s->presence, &e, e.time, NULL, NULL); }

static bool wanted(void *context, int64_t user, int64_t friend) {
    const struct stage *s = context;
    return user != s->muted;
}

static void tell(void *context, const struct approach *approach) {
    struct stage *s = context;
    assert_true(s->count < sizeof s->told / sizeof *s->told);
    s->told[s->count++] = *approach;
}

/* The event of one whose friends are the two others, at its own time. Returns how many are notified. */
static size_t join(struct stage *s, struct location e) {
    int64_t friends[2];
    size_t count = 0;
    for (int64_t user = ADA; user <= CLEO; user++)
        if (user != e.user) friends[count++] = user;
    s->count = 0;
    s->context.now = e.time > NOW ? e.time : NOW;
    if (!join_event(&s->context, &e, e.time, &s->result)) return 0;
    join_reserve(&s->result, 2);
    join_friends(&s->context, friends, 2, &s->roundings, &s->result);
    approaches_take(s->approaches, &s->result, s->context.now, s, wanted, tell);
    return s->count;
}

static void assert_told(const struct stage *s, size_t at, int64_t user, int64_t friend) {
    assert_int_equal(s->told[at].user, user);
    assert_int_equal(s->told[at].friend, friend);
}

TEST(who_has_no_session_is_notified_and_who_has_one_is_not, struct stage *s) {
    put(s, by_http(BEN, NEAR, NOW - 9));
    put(s, by_socket(CLEO, NEAR, NOW - 9));
    put(s, by_socket(ADA, FAR, NOW - 1));
    assert_int_equal(join(s, by_socket(ADA, 1000, NOW)), 1);
    assert_told(s, 0, BEN, ADA);
    assert_true(s->told[0].distance_m > 11 && s->told[0].distance_m < 12);
    assert_int_equal(s->told[0].time, NOW);
    assert_int_equal(join(s, by_socket(ADA, NEAR, NOW + 1)), 0); /* she was near */
}

TEST(one_who_comes_without_a_session_is_notified_too, struct stage *s) {
    put(s, by_http(BEN, NEAR, NOW - 9));
    put(s, by_socket(CLEO, NEAR, NOW - 9));
    put(s, by_http(ADA, FAR, NOW - 1));
    assert_int_equal(join(s, by_http(ADA, NEAR, NOW)), 3);
    assert_told(s, 0, BEN, ADA);
    assert_told(s, 1, ADA, BEN);
    assert_told(s, 2, ADA, CLEO);
}

TEST(a_session_that_was_closed_is_none, struct stage *s) {
    put(s, by_socket(BEN, NEAR, NOW - 9));
    struct location quit = by_socket(BEN, NEAR, NOW - 5);
    quit.kind = LOCATION_QUIT;
    put(s, quit);
    assert_int_equal(join(s, by_socket(ADA, NEAR, NOW)), 1);
    assert_told(s, 0, BEN, ADA);
}

TEST(nobody_is_notified_of_what_is_old, struct stage *s) {
    put(s, by_http(BEN, NEAR, NOW - INACTIVE)); /* not active: nobody knows where he is */
    assert_int_equal(join(s, by_socket(ADA, NEAR, NOW)), 0);
    put(s, by_http(CLEO, NEAR, NOW - 1));
    assert_int_equal(join(s, by_socket(ADA, NEAR, NOW)), 0); /* read again after a crash */
}

TEST(a_router_that_is_not_warm_cannot_tell_who_is_new, struct stage *s) {
    put(s, by_http(BEN, NEAR, NOW - 9));
    s->context.warm = false;
    assert_int_equal(join(s, by_socket(ADA, NEAR, NOW)), 0);
    assert_int_equal(join(s, by_socket(ADA, FAR, NOW + 1)), 0);
    assert_int_equal(join(s, by_socket(ADA, NEAR, NOW + 2)), 1); /* it has seen her far away */
}

TEST(a_pair_is_told_once_in_a_pause, struct stage *s) {
    int64_t last = 0;
    for (int64_t t = NOW; t < NOW + 5 * PAUSE; t += PAUSE / 10) {
        put(s, by_http(BEN, NEAR, t - 2));
        put(s, by_http(CLEO, NEAR, t - 2));
        join(s, by_socket(ADA, FAR, t - 1));
        size_t told = join(s, by_socket(ADA, NEAR, t));
        assert_int_equal(told, !last || t - last >= PAUSE ? 2 : 0);
        if (told) last = t;
        assert_in_range(approaches_count(s->approaches), 2, 4); /* what is old is forgotten */
    }
}

TEST(a_pair_that_is_not_wanted_begins_no_pause, struct stage *s) {
    put(s, by_http(BEN, NEAR, NOW - 9));
    s->muted = BEN;
    assert_int_equal(join(s, by_socket(ADA, NEAR, NOW)), 0);
    s->muted = 0;
    join(s, by_socket(ADA, FAR, NOW + 1));
    assert_int_equal(join(s, by_socket(ADA, NEAR, NOW + 2)), 1);
}

TEST(a_distance_to_a_rounded_place_tells_only_the_cell, struct stage *s) {
    rounding_list_add(&s->roundings, BEN, ROUNDING_MINE); /* Ben sees Ada rounded; Cleo sees her as she is */
    double rounded = 0, exact = 0;
    for (int32_t lat = 100; lat <= 20100; lat += 20000) { /* both in one cell */
        put(s, by_http(BEN, NEAR, NOW + lat - 1));
        put(s, by_http(CLEO, NEAR, NOW + lat - 1));
        approaches_free(s->approaches);
        s->approaches = approaches_new(PAUSE);
        join(s, by_socket(ADA, FAR, NOW + lat));
        assert_int_equal(join(s, by_socket(ADA, lat, NOW + lat + 1)), 2);
        assert_told(s, 0, BEN, ADA);
        assert_told(s, 1, CLEO, ADA);
        if (rounded > 0) {
            assert_true(s->told[0].distance_m == rounded);
            assert_true(s->told[1].distance_m > exact + 200);
        }
        rounded = s->told[0].distance_m;
        exact = s->told[1].distance_m;
    }
}
