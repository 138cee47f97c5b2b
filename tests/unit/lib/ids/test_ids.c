/* Ids of posts and comments: what they hold, that they rise and are unique, and how they are read. */
#include "ids/ids.h"
#include "unit/kit/kit.h"

enum { HISTORIES = 200, STEPS = 300 };
static const int64_t NOW_MS = INT64_C(1780000000000);

static uint64_t state_of_chance;
static uint64_t chance(uint64_t of) { return hash_u64(state_of_chance++) % of; }

/* The clock of a broker that goes on, stands still, jumps back and forth, and is sometimes of another age. */
static int64_t tell_time(int64_t before) {
    switch (chance(10)) {
    case 0: return before - (int64_t)chance(10000);
    case 1: return before + (int64_t)chance(100000);
    case 2: return (int64_t)chance(3) - 1;
    case 3: return IDS_EPOCH_MS + (int64_t)chance(3) - 1;
    case 4: return before + (int64_t)chance(3);
    default: return before;
    }
}

TEST(ids_of_a_partition_rise_whatever_the_clock_does) {
    for (uint64_t seed = 0; seed < HISTORIES; seed++) {
        state_of_chance = seed << 32;
        int32_t partition = (int32_t)chance(IDS_PARTITIONS_MAX);
        int64_t last = -1, last_id = 0, time = NOW_MS, offset = (int64_t)chance(10000);
        for (int i = 0; i < STEPS; i++) {
            time = tell_time(time);
            offset += 1 + (int64_t)chance(3);
            int64_t tick = ids_tick(time, offset, last), id = ids_make(tick, partition);
            if (tick <= last || id <= last_id)
                fail_msg("seed %" PRIu64 ", step %d: tick %" PRId64 " after %" PRId64, seed, i, tick, last);
            assert_int_equal(ids_tick_of(id), tick);
            assert_int_equal(ids_partition(id), partition);
            assert_int_equal(ids_time_ms(id), (tick >> IDS_FRACTION_BITS) + IDS_EPOCH_MS);
            last = tick;
            last_id = id;
        }
    }
}

TEST(an_id_has_the_time_and_the_low_bits_of_the_offset) {
    int64_t tick = ids_tick(IDS_EPOCH_MS + 5, 4096 * 9 + 3077, -1);
    assert_int_equal(tick, 5 << 12 | 3077);
    assert_int_equal(ids_make(tick, 3), INT64_C(5) << 22 | 3 << 12 | 3077);
    assert_int_equal(ids_time_ms(ids_make(tick, 3)), IDS_EPOCH_MS + 5);
    // Within the same millisecond the offset's low bits may go round: the last tick counts.
    assert_int_equal(ids_tick(IDS_EPOCH_MS + 5, 4096 * 10, tick), tick + 1);
    // More than 4,096 a millisecond run ahead of the clock, and it catches up.
    assert_int_equal(ids_tick(IDS_EPOCH_MS + 5, 0, 6 << 12 | 4095), 7 << 12);
    assert_int_equal(ids_tick(IDS_EPOCH_MS + 8, 1, 7 << 12), 8 << 12 | 1);
}

TEST(no_id_is_0) {
    static const int64_t TIMES[] = {INT64_MIN, -1, 0, 1, IDS_EPOCH_MS - 1, IDS_EPOCH_MS};
    for (size_t i = 0; i < ARRAY_SIZE(TIMES); i++) {
        assert_true(ids_make(ids_tick(TIMES[i], 0, -1), 0) > 0);
        assert_true(ids_time_ms(ids_make(ids_tick(TIMES[i], 4095, -1), 0)) == IDS_EPOCH_MS);
    }
    assert_true(ids_make(ids_tick(INT64_MAX, 4095, -1), IDS_PARTITIONS_MAX - 1) > 0); // 2094, for ever
}

TEST(ids_of_other_partitions_or_ticks_differ) {
    static const int64_t TICKS[] = {1, 2, 4095, 4096, 4097, 1 << 22, INT64_C(1) << 52, (INT64_C(1) << 53) - 1};
    static const int32_t PARTITIONS[] = {0, 1, 2, 511, 512, 1022, 1023};
    int64_t seen[ARRAY_SIZE(TICKS) * ARRAY_SIZE(PARTITIONS)];
    size_t count = 0;
    for (size_t t = 0; t < ARRAY_SIZE(TICKS); t++) {
        for (size_t p = 0; p < ARRAY_SIZE(PARTITIONS); p++) {
            int64_t id = ids_make(TICKS[t], PARTITIONS[p]);
            assert_true(id > 0);
            assert_int_equal(ids_tick_of(id), TICKS[t]);
            assert_int_equal(ids_partition(id), PARTITIONS[p]);
            for (size_t i = 0; i < count; i++) assert_true(seen[i] != id);
            seen[count++] = id;
        }
    }
}

/* ids_first_at(time) <= every id of that time < ids_first_at(time + 1) */
TEST(a_range_of_time_is_a_range_of_ids) {
    state_of_chance = 1;
    for (int i = 0; i < 10000; i++) {
        int64_t ms = (int64_t)(chance(UINT64_C(1) << 41) >> chance(41)), time = IDS_EPOCH_MS + ms;
        int64_t tick = ms << IDS_FRACTION_BITS | (int64_t)(chance(3) ? chance(4096) : 4095 * chance(2));
        int64_t id = ids_make(tick, (int32_t)(chance(2) ? chance(1024) : 1023 * chance(2)));
        if (ids_first_at(time) > id || ids_first_at(time + 1) <= id)
            fail_msg("time %" PRId64 ", id %" PRId64, time, id);
    }
    assert_int_equal(ids_first_at(IDS_EPOCH_MS), 0);
    assert_int_equal(ids_first_at(0), 0);
    assert_int_equal(ids_first_at(INT64_MIN), 0);
    assert_int_equal(ids_first_at(IDS_EPOCH_MS + 1), 1 << 22);
    assert_int_equal(ids_first_at(IDS_EPOCH_MS + (INT64_C(1) << 41)), INT64_MAX);
    assert_int_equal(ids_first_at(INT64_MAX), INT64_MAX);
}

TEST(ids_are_read_as_they_are_written) {
    static const char *const WRONG[] = {"",
                                        "0",
                                        "00",
                                        "01",
                                        "-1",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "1a",
                                        "a",
                                        "0x1",
                                        "1.0",
                                        "1e3",
                                        "9223372036854775808",
                                        "9999999999999999999",
                                        "10000000000000000000",
                                        "123456789012345678901234567890",
                                        "\xd9\xa1"};
    state_of_chance = 2;
    for (int i = 0; i < 10000; i++) {
        int64_t id = (int64_t)(hash_u64(state_of_chance++) >> 1 >> chance(63)), read = 0;
        char text[24];
        int size = snprintf(text, sizeof text, "%" PRId64, id);
        if (!id) continue;
        assert_true(ids_parse(text, (size_t)size, &read));
        assert_int_equal(read, id);
        assert_true(size < 2 || (ids_parse(text, (size_t)size - 1, &read) && read == id / 10)); // not beyond the size
    }
    int64_t read = 5;
    assert_true(ids_parse("9223372036854775807", 19, &read));
    assert_true(read == INT64_MAX);
    read = 5;
    for (size_t i = 0; i < ARRAY_SIZE(WRONG); i++) {
        if (ids_parse(WRONG[i], strlen(WRONG[i]), &read)) fail_msg("\"%s\" is no id", WRONG[i]);
        assert_int_equal(read, 5);
    }
    assert_false(ids_parse("1\0", 2, &read));
}
