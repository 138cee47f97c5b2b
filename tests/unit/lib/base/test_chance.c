/* Random numbers: not the same in two processes that start together, spread evenly, and one state gives one sequence. */
#include "base/chance.h"
#include "unit/kit/kit.h"

TEST(two_begin_differently) {
    struct chance one = chance_new(), other = chance_new();
    int same = 0;
    for (int i = 0; i < 100; i++) same += chance_next(&one) % 1000 == chance_next(&other) % 1000;
    assert_true(same < 10);
}

TEST(it_is_spread_evenly) {
    enum { SLOTS = 100, EACH = 1000 };
    struct chance chance = {.state = 7};
    int counts[SLOTS] = {0};
    for (int i = 0; i < SLOTS * EACH; i++) counts[chance_next(&chance) % SLOTS]++;
    for (int i = 0; i < SLOTS; i++) assert_in_range(counts[i], EACH * 8 / 10, EACH * 12 / 10);
}

TEST(a_state_gives_a_sequence) {
    struct chance one = {.state = 1}, again = one;
    for (int i = 0; i < 10; i++) assert_int_equal(chance_next(&one), chance_next(&again));
}
