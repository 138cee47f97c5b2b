/* The order in which records of several partitions are merged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cli/merging.h"

static void put(struct merging *merging, size_t lane, int64_t timestamp, const char *value) {
    struct kafka_record record = {
        .partition = (int32_t)lane,
        .timestamp = timestamp,
        .key = (const uint8_t *)"key",
        .key_size = 3,
        .value = (const uint8_t *)value,
        .value_size = value ? strlen(value) : 0,
    };
    merging_put(merging, lane, &record);
}

/* The next record is that one, of that lane. */
static void takes(struct merging *merging, size_t lane, const char *value) {
    size_t found = 99;
    const struct kafka_record *record = merging_first(merging, &found);
    assert_non_null(record);
    assert_int_equal(found, lane);
    assert_int_equal(record->value_size, strlen(value));
    assert_memory_equal(record->value, value, record->value_size);
    assert_memory_equal(record->key, "key", 3);
    merging_next(merging, found);
}

static void waits(const struct merging *merging) {
    size_t lane;
    assert_null(merging_first(merging, &lane));
}

static void records_come_by_time_as_soon_as_it_is_known(void **state) {
    struct merging *merging = merging_new(3);
    waits(merging);
    put(merging, 0, 1, "a");
    put(merging, 0, 4, "d");
    put(merging, 1, 2, "b");
    waits(merging); // lane 2 may have an earlier one
    put(merging, 2, 3, "c");
    takes(merging, 0, "a");
    takes(merging, 1, "b");
    waits(merging);
    merging_end(merging, 1);
    takes(merging, 2, "c");
    waits(merging);
    assert_false(merging_over(merging));
    merging_end(merging, 2);
    takes(merging, 0, "d");
    merging_end(merging, 0);
    assert_true(merging_over(merging));
    waits(merging);
    merging_free(merging);
}

static void a_lane_keeps_its_own_order(void **state) {
    struct merging *merging = merging_new(2);
    put(merging, 0, 5, "first");
    put(merging, 0, 1, "second");
    put(merging, 1, 3, "other");
    assert_int_equal(merging_waiting(merging, 0), 2);
    merging_end(merging, 0);
    merging_end(merging, 1);
    takes(merging, 1, "other");
    takes(merging, 0, "first");
    assert_int_equal(merging_waiting(merging, 0), 1);
    takes(merging, 0, "second");
    assert_true(merging_over(merging));
    merging_free(merging);
}

static void equal_times_come_by_lane_and_tombstones_stay_tombstones(void **state) {
    struct merging *merging = merging_new(2);
    size_t lane;
    put(merging, 1, 7, "two");
    put(merging, 0, 7, NULL);
    const struct kafka_record *record = merging_first(merging, &lane);
    assert_int_equal(lane, 0);
    assert_null(record->value);
    merging_next(merging, lane);
    merging_end(merging, 0);
    takes(merging, 1, "two");
    put(merging, 1, 8, "freed with the rest");
    merging_free(merging);
    merging_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_by_time_as_soon_as_it_is_known),
        cmocka_unit_test(a_lane_keeps_its_own_order),
        cmocka_unit_test(equal_times_come_by_lane_and_tombstones_stay_tombstones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
