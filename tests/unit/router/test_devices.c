/* The entries of users' further sessions: when they fade, and which one goes when there are too many. The test of presence compares what it
 * does with them with brute force. */
#include "router/devices.h"
#include "unit/kit/kit.h"

enum { USER = 7, INACTIVE = 600000 };

TEST(steps_come_round) {
    struct devices *devices = devices_new(INACTIVE);
    int64_t round = INT64_C(4096) * (DEVICES_STEP_MASK + 1);
    for (int64_t ms = round - INACTIVE; ms < round + INACTIVE; ms += 1000) {
        uint16_t heard = devices_step(devices, ms), near = devices_step(devices, ms + INACTIVE / 2);
        assert_true(heard <= DEVICES_STEP_MASK);
        assert_false(devices_faded(devices, heard, heard));
        assert_false(devices_faded(devices, heard, devices_step(devices, ms + INACTIVE - 5000)));
        assert_true(devices_faded(devices, heard, devices_step(devices, ms + INACTIVE + 10000)));
        assert_true(devices_faded(devices, heard, devices_step(devices, ms + (int64_t)50 * INACTIVE)));
        assert_false(
            devices_faded(devices, devices_step(devices, ms + INACTIVE), heard)); /* the clock of a broker is ahead */
        assert_int_equal(devices_later(heard, near), near);
        assert_int_equal(devices_later(near, heard), near);
    }
    devices_free(devices);
}

TEST(the_one_that_was_silent_for_longest_goes) {
    for (int silent = 0; silent < DEVICES_MAX + 1; silent++) {
        struct devices *devices = devices_new(INACTIVE);
        struct device_entry own = {.session = 100, .route = 1, .heard = silent ? 50 : 10}, list[DEVICES_MAX];
        for (int i = 1; i <= DEVICES_MAX; i++) {
            struct device_entry device = {
                .session = 100 + i, .route = 1, .heard = i == silent ? 10 : (uint16_t)(50 + i)};
            assert_true(devices_add(devices, USER, &device, &own));
        }
        size_t count = devices_list(devices, USER, list);
        assert_int_equal(count, DEVICES_MAX - 1);
        assert_int_not_equal(own.session, 100 + silent);
        for (size_t i = 0; i < count; i++) assert_int_not_equal(list[i].session, 100 + silent);
        devices_free(devices);
    }
}

/* Memory of entries that are gone is used again. */
TEST(entries_come_and_go) {
    struct devices *devices = devices_new(INACTIVE);
    struct device_entry own = {.session = 1, .route = 1, .heard = 1}, taken;
    size_t bytes = 0;
    for (int64_t round = 0; round < 1000; round++) {
        for (int64_t i = 2; i < 6; i++)
            assert_true(
                devices_add(devices, round, &(struct device_entry){.session = i, .route = 2, .heard = 1}, &own));
        assert_false(devices_renew(devices, round, &(struct device_entry){.session = 9, .route = 3, .heard = 2}));
        assert_true(devices_renew(devices, round, &(struct device_entry){.session = 3, .route = 3, .heard = 220}));
        assert_true(devices_remove(devices, round, 2));
        assert_true(devices_fade(devices, round, 160)); /* of 3, 4 and 5 one is younger */
        assert_false(devices_pop(devices, round, &taken));
        assert_true(taken.session == 3 && taken.route == 3 && taken.heard == 220);
        assert_true(devices_add(devices, round, &taken, &own));
        devices_forget(devices, round);
        assert_int_equal(devices_list(devices, round, &taken), 0);
        if (round < 2) bytes = devices_bytes(devices);
        assert_int_equal(devices_bytes(devices), bytes);
    }
    devices_free(devices);
}
