/* Who can see a user: the active friends, in pages, as long as the user is active. */
#include "router/audience.h"
#include "unit/kit/kit.h"

enum { ADA = 1, NOW = 10000000, INACTIVE = 600000, NEAR = 0, FAR = 2000000, MANY = 1000 };

static void be(struct presence *presence, int64_t user, enum location_kind kind, int32_t lat, int64_t time) {
    struct location event = {.user = user,
                             .kind = kind,
                             .lat = lat,
                             .time = time,
                             .session = 10,
                             .route = (int32_t)(user % 100),
                             .opted = 5};
    presence_apply(presence, &event, event.time, NULL, NULL);
}

static struct audience_context context_of(const struct presence *presence) {
    return (struct audience_context){.presence = presence,
                                     .now = NOW,
                                     .inactive_ms = INACTIVE,
                                     .radius_m = GEO_RADIUS_DEFAULT_M,
                                     .rounded = grid_of(6)};
}

static struct audience_friends friends_of(const int64_t *friends, size_t count) {
    static const struct rounding_list nobody;
    return (struct audience_friends){.items = friends, .count = count, .roundings = &nobody};
}

TEST(active_friends_see_the_user_wherever_they_are) {
    struct presence *presence = presence_new(600000);
    struct audience_context context = context_of(presence);
    const int64_t friends[] = {2, 3, 4, 5, 6};
    const struct audience_friends all = friends_of(friends, 5);
    struct audience_entry entries[5];
    bool more;
    be(presence, ADA, LOCATION_JOIN, NEAR, NOW);
    be(presence, 2, LOCATION_JOIN, NEAR, NOW);
    be(presence, 3, LOCATION_JOIN, FAR, NOW);
    be(presence, 4, LOCATION_JOIN, NEAR, NOW - INACTIVE); /* silent for too long */
    be(presence, 5, LOCATION_JOIN, NEAR, NOW);
    be(presence, 5, LOCATION_LEAVE, NEAR, NOW); /* opted out; 6 is unknown */
    assert_true(audience_visible(&context, ADA));
    assert_int_equal(audience_page(&context, ADA, &all, -1, entries, 5, &more), 2);
    assert_false(more);
    assert_int_equal(entries[0].friend, 2);
    assert_true(entries[0].near);
    assert_int_equal(entries[1].friend, 3);
    assert_false(entries[1].near);
    presence_free(presence);
}

TEST(nobody_sees_who_is_unknown_silent_or_opted_out) {
    struct presence *presence = presence_new(600000);
    struct audience_context context = context_of(presence);
    assert_false(audience_visible(&context, ADA));
    be(presence, ADA, LOCATION_JOIN, NEAR, NOW - INACTIVE);
    assert_false(audience_visible(&context, ADA));
    be(presence, ADA, LOCATION_REPORT, NEAR, NOW);
    assert_true(audience_visible(&context, ADA));
    be(presence, ADA, LOCATION_LEAVE, NEAR, NOW);
    assert_false(audience_visible(&context, ADA));
    presence_free(presence);
}

/* Every third friend is active: pages of any size name each once, and the last one says that it is. */
TEST(pages_name_each_once) {
    static const size_t LIMITS[] = {1, 7, 100, 334, 1000};
    struct presence *presence = presence_new(600000);
    struct audience_context context = context_of(presence);
    static int64_t friends[MANY];
    static struct audience_entry entries[MANY];
    const struct audience_friends all = friends_of(friends, MANY);
    be(presence, ADA, LOCATION_JOIN, NEAR, NOW);
    for (int i = 0; i < MANY; i++) {
        friends[i] = 10 + i;
        if (i % 3 == 0) be(presence, friends[i], LOCATION_JOIN, i % 2 ? NEAR : FAR, NOW);
    }
    for (size_t l = 0; l < sizeof LIMITS / sizeof *LIMITS; l++) {
        int64_t after = -1;
        int expected = 0;
        bool more = true;
        while (more) {
            size_t count = audience_page(&context, ADA, &all, after, entries, LIMITS[l], &more);
            assert_true(count > 0);
            for (size_t i = 0; i < count; i++, expected += 3) {
                assert_int_equal(entries[i].friend, friends[expected]);
                assert_int_equal(entries[i].near, expected % 2);
            }
            after = entries[count - 1].friend;
        }
        assert_int_equal(expected, MANY + 2);
    }
    bool more = true;
    assert_int_equal(audience_page(&context, ADA, &all, friends[MANY - 1], entries, 10, &more), 0);
    assert_false(more);
    presence_free(presence);
}

/* Wherever the user goes: the answer about a friend who is seen rounded is the same for all places of the friend's in one cell. */
TEST(a_rounded_friend_s_place_cannot_be_found_out) {
    const int64_t friend = 2;
    const int32_t places[] = {1000, 30000, 54000}; /* of a cell 54,931 high */
    struct rounding rounding = {friend, ROUNDING_THEIRS};
    struct rounding_list roundings = {.items = &rounding, .count = 1};
    struct audience_friends all = {.items = &friend, .count = 1, .roundings = &roundings};
    bool more;
    int near = 0, differ = 0;
    for (int32_t user = 600000; user < 900000; user += 1000) {
        bool said[3], exact[3];
        for (int i = 0; i < 3; i++) {
            struct presence *presence = presence_new(600000);
            struct audience_context context = context_of(presence);
            struct audience_entry entry;
            be(presence, ADA, LOCATION_JOIN, user, NOW);
            be(presence, friend, LOCATION_JOIN, places[i], NOW);
            rounding.bits = ROUNDING_THEIRS;
            assert_int_equal(audience_page(&context, ADA, &all, -1, &entry, 1, &more), 1);
            said[i] = entry.near;
            rounding.bits = ROUNDING_NONE;
            assert_int_equal(audience_page(&context, ADA, &all, -1, &entry, 1, &more), 1);
            exact[i] = entry.near;
            presence_free(presence);
        }
        assert_true(said[0] == said[1] && said[1] == said[2]);
        near += said[0];
        differ += exact[0] != exact[2];
    }
    assert_true(near > 0 && near < 300 && differ > 0);
}
