/* Admission: a storm is let in at the rate, and those who are sent away come back one by one. */
#include "fanout/admission.h"
#include "unit/kit/kit.h"

enum { PHONES = 10000, RATE = 500 };

static uint32_t random_next(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Every phone knocks at 0, and again whenever it was told to. */
TEST(a_storm_becomes_a_ramp) {
    static int64_t knocks[PHONES];
    static int in_second[120];
    struct admission admission;
    uint32_t seed = 1;
    int in = 0;
    int64_t now = 0, last = 0;
    admission_init(&admission, RATE, 0);
    for (int i = 0; i < PHONES; i++) knocks[i] = 0;
    for (; in < PHONES; now++) {
        assert_true(now < 60000);
        for (int i = 0; i < PHONES; i++) {
            if (knocks[i] != now) continue;
            if (admission_take(&admission, now)) {
                in++;
                in_second[now / 1000]++;
                last = now;
            } else {
                int64_t delay = admission_delay(&admission, now, 200, random_next(&seed));
                assert_true(delay >= 200 && delay <= ADMISSION_DELAY_MAX_MS);
                knocks[i] = now + delay;
            }
        }
    }
    for (int second = 0; second < 120; second++) assert_true(in_second[second] <= RATE * (second ? 1 : 2) + 2);
    /* Hardly longer than it has to be. */
    assert_true(last >= PHONES / RATE * 1000 - 2000 && last <= PHONES / RATE * 1000 * 3 / 2);
}

TEST(a_quiet_door_lets_everybody_in) {
    struct admission admission;
    admission_init(&admission, RATE, 1000);
    for (int i = 0; i < 5000; i++) assert_true(admission_take(&admission, 1000 + i * 2));
    for (int i = 0; i < RATE; i++) assert_true(admission_take(&admission, 100000)); /* a second's worth at once */
    assert_false(admission_take(&admission, 100000));
    assert_true(admission_take(&admission, 100003));
}

TEST(delays_are_distinct_and_end) {
    struct admission admission;
    admission_init(&admission, 10, 0);
    int64_t before = 0;
    for (int i = 0; i < 1150; i++) {
        int64_t delay = admission_delay(&admission, 0, 5000, 0);
        assert_true(delay >= 5000 && (i == 0 || delay == before + 100));
        before = delay;
    }
    assert_int_equal(before, 5000 + 1149 * 100);
    admission_delay(&admission, 0, 5000, 0);
    assert_true(admission_delay(&admission, 0, 5000, 0) <= ADMISSION_DELAY_MAX_MS);
    assert_true(admission_delay(&admission, 0, 5000, 0) < 6000); /* from the beginning again */
}

TEST(without_a_rate_there_is_only_a_spread) {
    struct admission admission;
    uint32_t seed = 7;
    admission_init(&admission, 0, 0);
    for (int i = 0; i < 1000; i++) {
        assert_true(admission_take(&admission, 0));
        int64_t delay = admission_delay(&admission, 0, 300, random_next(&seed));
        assert_true(delay >= 300 && delay < 1300);
    }
}
