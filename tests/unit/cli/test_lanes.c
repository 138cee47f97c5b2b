/* The order in which records of several partitions are merged. */
#include "cli/lanes.h"
#include "unit/kit/kit.h"

static void put(struct lanes *lanes, size_t lane, int64_t timestamp, const char *value) {
    struct kafka_record record = {
        .partition = (int32_t)lane,
        .timestamp = timestamp,
        .key = (const uint8_t *)"key",
        .key_size = 3,
        .value = (const uint8_t *)value,
        .value_size = value ? strlen(value) : 0,
    };
    lanes_put(lanes, lane, &record);
}

/* The next record is that one, of that lane. */
static void takes(struct lanes *lanes, size_t lane, const char *value) {
    size_t found = 99;
    const struct kafka_record *record = lanes_first(lanes, &found);
    assert_non_null(record);
    assert_int_equal(found, lane);
    assert_int_equal(record->value_size, strlen(value));
    assert_memory_equal(record->value, value, record->value_size);
    assert_memory_equal(record->key, "key", 3);
    lanes_next(lanes, found);
}

static void waits(const struct lanes *lanes) {
    size_t lane;
    assert_null(lanes_first(lanes, &lane));
}

TEST(records_come_by_time_as_soon_as_it_is_known) {
    struct lanes *lanes = lanes_new(3);
    waits(lanes);
    put(lanes, 0, 1, "a");
    put(lanes, 0, 4, "d");
    put(lanes, 1, 2, "b");
    waits(lanes); // lane 2 may have an earlier one
    put(lanes, 2, 3, "c");
    takes(lanes, 0, "a");
    takes(lanes, 1, "b");
    waits(lanes);
    lanes_end(lanes, 1);
    takes(lanes, 2, "c");
    waits(lanes);
    assert_false(lanes_over(lanes));
    lanes_end(lanes, 2);
    takes(lanes, 0, "d");
    lanes_end(lanes, 0);
    assert_true(lanes_over(lanes));
    waits(lanes);
    lanes_free(lanes);
}

TEST(a_lane_keeps_its_own_order) {
    struct lanes *lanes = lanes_new(2);
    put(lanes, 0, 5, "first");
    put(lanes, 0, 1, "second");
    put(lanes, 1, 3, "other");
    assert_int_equal(lanes_waiting(lanes, 0), 2);
    lanes_end(lanes, 0);
    lanes_end(lanes, 1);
    takes(lanes, 1, "other");
    takes(lanes, 0, "first");
    assert_int_equal(lanes_waiting(lanes, 0), 1);
    takes(lanes, 0, "second");
    assert_true(lanes_over(lanes));
    lanes_free(lanes);
}

TEST(equal_times_come_by_lane_and_tombstones_stay_tombstones) {
    struct lanes *lanes = lanes_new(2);
    size_t lane;
    put(lanes, 1, 7, "two");
    put(lanes, 0, 7, NULL);
    const struct kafka_record *record = lanes_first(lanes, &lane);
    assert_int_equal(lane, 0);
    assert_null(record->value);
    lanes_next(lanes, lane);
    lanes_end(lanes, 0);
    takes(lanes, 1, "two");
    put(lanes, 1, 8, "freed with the rest");
    lanes_free(lanes);
    lanes_free(NULL);
}
