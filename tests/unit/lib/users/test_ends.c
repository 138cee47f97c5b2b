/* Ends come soonest first, each user's newest one only: held against a plain table. */
#include "unit/kit/kit.h"
#include "users/ends.h"

TEST(a_user_has_one_end) {
    struct ends *ends = ends_new();
    int64_t user, time;
    assert_true(ends_soonest(ends) == INT64_MAX);
    ends_set(ends, 7, 100);
    ends_set(ends, 9, 50);
    ends_set(ends, 7, 200);
    ends_set(ends, 8, 60);
    ends_set(ends, 8, 0);
    assert_int_equal(ends_of(ends, 7), 200);
    assert_int_equal(ends_of(ends, 8), 0);
    assert_int_equal(ends_soonest(ends), 50);
    assert_false(ends_take(ends, 49, &user, &time));
    assert_true(ends_take(ends, 120, &user, &time));
    assert_int_equal(user, 9);
    assert_int_equal(time, 50);
    assert_false(ends_take(ends, 120, &user, &time));
    assert_int_equal(ends_count(ends), 1);
    assert_true(ends_take(ends, 200, &user, &time));
    assert_int_equal(user, 7);
    assert_false(ends_take(ends, INT64_MAX, &user, &time));
    ends_free(ends);
    ends_free(NULL);
}

TEST(random_ends_come_in_their_order) {
    enum { USERS = 50, STEPS = 100000 };
    struct ends *ends = ends_new();
    int64_t table[USERS] = {0}, now = 1, taken = 0;
    for (uint64_t step = 0; step < STEPS; step++) {
        uint64_t chance = hash_u64(step);
        int64_t user = (int64_t)(chance % USERS), time;
        if (chance >> 32 & 7) {
            table[user] = chance >> 40 & 3 ? now + 1 + (int64_t)(chance >> 44 & 1023) : 0;
            ends_set(ends, user, table[user]);
            continue;
        }
        now += (int64_t)(chance >> 44 & 63);
        int64_t last = 0;
        while (ends_take(ends, now, &user, &time)) {
            assert_true(time == table[user] && time <= now && time >= last);
            last = time;
            table[user] = 0;
            taken++;
        }
        size_t count = 0;
        for (int i = 0; i < USERS; i++) {
            assert_int_equal(ends_of(ends, i), table[i]);
            assert_true(!table[i] || (table[i] > now && ends_soonest(ends) <= table[i]));
            count += table[i] != 0;
        }
        assert_int_equal(ends_count(ends), count);
    }
    assert_true(taken > STEPS / 100);
    ends_free(ends);
}
