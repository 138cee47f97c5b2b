/* Who is near a user who has no session: the same friends as on a session's list, page by page. */
#include "router/join.h"
#include "router/near_list.h"
#include "unit/kit/kit.h"

enum { NOW = 10000000, INACTIVE = 600000, CROWD = 400 };

static const int64_t USER = 1;

struct town {
    struct presence *presence;
    int64_t friends[CROWD];
    struct rounding some[CROWD];
    struct rounding_list roundings;
    struct near_question question;
    struct near_entry entries[CROWD];
};

static void go(struct town *town, int64_t user, int32_t lat, int32_t lng, int64_t time) {
    struct location event = {.user = user,
                             .kind = LOCATION_REPORT,
                             .lat = lat,
                             .lng = lng,
                             .time = time,
                             .route = PRESENCE_ROUTE_NONE,
                             .opted = 1};
    presence_apply(town->presence, &event, event.time, NULL, NULL);
}

static struct town *town_new(void) {
    static struct town town;
    town = (struct town){.presence = presence_new(600000)};
    for (int i = 0; i < CROWD; i++) town.friends[i] = 100 + i;
    town.question = (struct near_question){.presence = town.presence,
                                           .now = NOW,
                                           .inactive_ms = INACTIVE,
                                           .radius_m = GEO_RADIUS_DEFAULT_M,
                                           .user = USER,
                                           .friends = town.friends,
                                           .friend_count = CROWD,
                                           .roundings = &town.roundings,
                                           .rounded = grid_of(6),
                                           .after = {-1, -1}};
    return &town;
}

static size_t ask(struct town *town, struct near_cursor after) {
    town->question.after = after;
    return near_list(&town->question, town->entries);
}

/* The same numbers in each run. */
static uint32_t next_number(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 32);
}

static int32_t between(uint64_t *seed, int32_t reach) {
    return (int32_t)(next_number(seed) % (uint32_t)(2 * reach)) - reach;
}

/* The complete roster that the join would send to a session of the user at the same moment. */
static void compare_with_the_join(struct town *town, struct location report, size_t count) {
    struct join_context context = {.presence = town->presence,
                                   .now = NOW,
                                   .inactive_ms = INACTIVE,
                                   .radius_m = GEO_RADIUS_DEFAULT_M,
                                   .rounded = town->question.rounded,
                                   .warm = true};
    FREED_BY(join_result_free) struct join_result result;
    join_result_init(&result);
    report.kind = LOCATION_REJOIN;
    report.session = 10;
    report.route = 3;
    assert_true(join_event(&context, &report, report.time, &result));
    join_reserve(&result, CROWD);
    join_friends(&context, town->friends, CROWD, &town->roundings, &result);
    assert_true(result.complete);
    assert_int_equal(result.roster_count, count);
    for (size_t i = 0; i < count; i++) {
        size_t found = 0, rounded = 0;
        for (size_t k = 0; k < result.roster_rounded_count; k++)
            rounded += result.roster_rounded[k] == town->entries[i].user;
        assert_int_equal(rounded, town->entries[i].rounded);
        for (size_t k = 0; k < result.roster_count; k++) {
            const struct roster_friend *friend = &result.roster_friends[k];
            found += friend->user == town->entries[i].user && friend->lat == town->entries[i].at.lat &&
                     friend->lng == town->entries[i].at.lng && friend->time == town->entries[i].time;
        }
        assert_int_equal(found, 1);
    }
}

TEST(it_is_the_list_of_a_session) {
    uint64_t seed = 7;
    for (int round = 0; round < 40; round++) {
        struct town *town = town_new();
        struct location own = {
            .user = USER, .lat = between(&seed, 1000000), .lng = 1340000000, .time = NOW, .opted = 1};
        go(town, USER, own.lat, own.lng, NOW - 1);
        town->roundings = (struct rounding_list){.items = town->some};
        for (int i = 0; i < CROWD; i++) /* some are seen rounded, or see the user so */
            if (next_number(&seed) % 3 == 0)
                town->some[town->roundings.count++] =
                    (struct rounding){town->friends[i], (uint8_t)(1 + next_number(&seed) % 3)};
        for (int i = 0; i < CROWD - 50; i++) /* some have never reported, some long ago */
            go(town, town->friends[i], own.lat + between(&seed, 1000000), own.lng + between(&seed, 1000000),
               NOW - (int64_t)(next_number(&seed) % (INACTIVE + INACTIVE / 4)));
        for (int i = 0; i < 30; i++) { /* some have opted out */
            struct location leave = {.user = town->friends[i],
                                     .kind = LOCATION_LEAVE,
                                     .time = NOW,
                                     .route = PRESENCE_ROUTE_NONE,
                                     .opted = 2};
            presence_apply(town->presence, &leave, leave.time, NULL, NULL);
        }
        go(town, 99999, own.lat, own.lng, NOW); /* a stranger */
        go(town, USER, own.lat, own.lng, NOW);
        size_t count = ask(town, (struct near_cursor){-1, -1});
        assert_in_range(count, 1, CROWD - 80);
        for (size_t i = 1; i < count; i++) assert_true(town->entries[i - 1].distance_m <= town->entries[i].distance_m);
        compare_with_the_join(town, own, count);
        presence_free(town->presence);
    }
}

TEST(pages_make_the_whole) {
    struct town *town = town_new();
    go(town, USER, 0, 0, NOW);
    for (int i = 0; i < CROWD; i++) go(town, town->friends[i], (i / 3) * 100, 0, NOW); /* three at each distance */
    assert_int_equal(ask(town, (struct near_cursor){-1, -1}), CROWD);
    static struct near_entry whole[CROWD];
    memcpy(whole, town->entries, sizeof whole);
    for (size_t limit = 1; limit < 8; limit++) {
        struct near_cursor after = {-1, -1};
        size_t seen = 0;
        for (;;) {
            size_t left = ask(town, after), page = left < limit ? left : limit;
            assert_int_equal(left, CROWD - seen);
            if (!left) break;
            for (size_t i = 0; i < page; i++) assert_int_equal(town->entries[i].user, whole[seen + i].user);
            seen += page;
            char text[NEAR_CURSOR_SIZE];
            near_cursor_put((struct near_cursor){town->entries[page - 1].distance_m, town->entries[page - 1].user},
                            text);
            assert_true(near_cursor_read(text, &after));
        }
    }
    presence_free(town->presence);
}

TEST(who_is_not_active_sees_nobody) {
    struct town *town = town_new();
    go(town, town->friends[0], 0, 0, NOW);
    assert_int_equal(ask(town, (struct near_cursor){-1, -1}), 0); /* never reported */
    go(town, USER, 0, 0, NOW - INACTIVE);
    assert_int_equal(ask(town, (struct near_cursor){-1, -1}), 0);
    go(town, USER, 0, 0, NOW - INACTIVE + 1);
    assert_int_equal(ask(town, (struct near_cursor){-1, -1}), 1);
    struct location leave = {
        .user = USER, .kind = LOCATION_LEAVE, .time = NOW, .route = PRESENCE_ROUTE_NONE, .opted = 2};
    presence_apply(town->presence, &leave, leave.time, NULL, NULL);
    assert_int_equal(ask(town, (struct near_cursor){-1, -1}), 0);
    presence_free(town->presence);
}

TEST(cursors_are_read) {
    static const char *const BAD[] = {"",
                                      "_",
                                      "40c388000000000_7",
                                      "40c38800000000000_7",
                                      "40c3880000000000",
                                      "40c3880000000000_",
                                      "40c3880000000000_-7",
                                      "40c3880000000000_x",
                                      "c0c3880000000000_7", /* negative */
                                      "7ff0000000000000_7", /* infinite */
                                      "7ff8000000000000_7", /* no number */
                                      "40C3880000000000_7",
                                      "40c3880000000000_9223372036854775808"};
    struct near_cursor cursor;
    char text[NEAR_CURSOR_SIZE];
    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++)
        if (near_cursor_read(BAD[i], &cursor)) fail_msg("%s", BAD[i]);
    near_cursor_put((struct near_cursor){1234.5678, INT64_MAX}, text);
    assert_true(near_cursor_read(text, &cursor));
    assert_true(cursor.distance_m == 1234.5678 && cursor.user == INT64_MAX); // NOLINT: to the last bit
}
