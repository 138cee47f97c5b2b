/* Which of a user's sessions stays: case by case, and as two edges with clocks of their own would have it. */
#include "fanout/nearby/rival.h"
#include "unit/kit/kit.h"

TEST(the_higher_number_stays) {
    struct rival rival = {.number = 7};
    assert_int_equal(rival_beaten(&rival, 7), RIVAL_STAYS);
    assert_int_equal(rival_beaten(&rival, 6), RIVAL_STAYS);
    assert_int_equal(rival.number, 7);
}

TEST(a_new_session_bids_once_more_than_the_winner) {
    struct rival rival = {.number = 7};
    assert_int_equal(rival_beaten(&rival, 100), RIVAL_JOINS_AGAIN);
    assert_int_equal(rival.number, 108);
    assert_int_equal(rival_beaten(&rival, 109), RIVAL_LEAVES);
}

/* With one number, routers would take them for one session, and both would stay. */
TEST(two_that_outbid_one_winner_differ) {
    struct rival one = {.number = 7 << RIVAL_CHANCE_BITS | 5}, other = {.number = 7 << RIVAL_CHANCE_BITS | 6};
    int64_t winner = (int64_t)9 << RIVAL_CHANCE_BITS;
    assert_int_equal(rival_beaten(&one, winner), RIVAL_JOINS_AGAIN);
    assert_int_equal(rival_beaten(&other, winner), RIVAL_JOINS_AGAIN);
    assert_true(one.number > winner && other.number > winner && one.number != other.number);
}

TEST(one_that_was_answered_or_delayed_gives_way) {
    struct rival answered = {.number = 7, .answered = true}, delayed = {.number = 7, .delayed = true},
                 last = {.number = 7};
    assert_int_equal(rival_beaten(&answered, 8), RIVAL_LEAVES);
    assert_int_equal(rival_beaten(&delayed, 8), RIVAL_LEAVES);
    assert_int_equal(rival_beaten(&last, INT64_MAX), RIVAL_LEAVES); /* there is no number after it */
}
