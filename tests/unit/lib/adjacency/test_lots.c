/* When friendships that were read are applied: a few at once, many by time or when there are enough of them. */
#include "adjacency/lots.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 16 };

static void add(struct lots *lots, int32_t partition, size_t count, int64_t now_us) {
    for (size_t i = 0; i < count; i++) lots_add(lots, partition, now_us);
}

SET_UP() { return lots_new(PARTITIONS); }
TEAR_DOWN(struct lots *lots) { lots_free(lots); }

TEST(test_a_few_are_due_at_once, struct lots *lots) {
    lots_added(lots, 0);
    assert_int_equal(lots_due(lots, 0), -1);
    assert_int_equal(lots_wait_ms(lots, 0), -1);
    add(lots, 3, LOTS_MANY / 2, 10);
    add(lots, 5, LOTS_MANY / 2 - 1, 20);
    lots_added(lots, 20);
    assert_false(lots_may_wait(lots)); // both in this turn
    assert_int_equal(lots_wait_ms(lots, 20), 0);
    assert_int_equal(lots_due(lots, 20), 3);
    lots_remove(lots, 3);
    assert_int_equal(lots_due(lots, 20), 5);
    lots_remove(lots, 5);
    assert_int_equal(lots_due(lots, 20), -1);
}

/* Where nothing else waits for the loop, a full lot waits for more. */
TEST(test_the_size_of_a_full_lot, struct lots *lots) {
    add(lots, 3, LOTS_FULL, 1000);
    lots_added(lots, 1000);
    assert_int_equal(lots_due(lots, 1000), 3);
    lots_set_full(lots, LOTS_MOST);
    assert_int_equal(lots_due(lots, 1000), -1);
    assert_int_equal(lots_due(lots, LOTS_HOLD_US + 1000), 3);
}

TEST(test_many_wait_and_so_does_what_comes_behind_them, struct lots *lots) {
    add(lots, 3, LOTS_MANY, 1000);
    lots_added(lots, 1000);
    assert_true(lots_waits(lots, 3));
    assert_false(lots_waits(lots, 4));
    assert_true(lots_may_wait(lots));
    assert_int_equal(lots_due(lots, 1000), -1);
    assert_int_equal(lots_wait_ms(lots, 1000), LOTS_HOLD_US / 1000);
    add(lots, 4, 1, 2000);
    lots_added(lots, 2000);
    assert_int_equal(lots_due(lots, LOTS_HOLD_US + 999), -1);
    assert_int_equal(lots_wait_ms(lots, LOTS_HOLD_US + 999), 1);
    assert_int_equal(lots_due(lots, LOTS_HOLD_US + 1000), 3); // by the first of its records, however many followed
    lots_remove(lots, 3);
    assert_int_equal(lots_due(lots, LOTS_HOLD_US + 1000), -1);
    assert_int_equal(lots_due(lots, LOTS_HOLD_US + 2000), 4);
    lots_remove(lots, 4);
    assert_int_equal(lots_wait_ms(lots, LOTS_HOLD_US + 2000), -1);
    add(lots, 4, 1, LOTS_HOLD_US * 2); // bulk is over
    lots_added(lots, LOTS_HOLD_US * 2);
    assert_int_equal(lots_due(lots, LOTS_HOLD_US * 2), 4);
}

TEST(test_the_partition_that_has_waited_longest_comes_first, struct lots *lots) {
    add(lots, 9, 10, 1000);
    add(lots, 2, LOTS_FULL, 2000);
    lots_added(lots, 2000);
    assert_int_equal(lots_due(lots, 2000), 2); // alone is due
    assert_int_equal(lots_due(lots, LOTS_HOLD_US + 1000), 9);
    lots_remove(lots, 9);
    assert_int_equal(lots_due(lots, LOTS_HOLD_US + 1000), 2);
}

TEST(test_memory_is_bounded, struct lots *lots) {
    for (int32_t p = 0; p < PARTITIONS; p++) add(lots, p, p == 7 ? LOTS_MOST : 100, 1000 + p);
    lots_added(lots, 2000);
    assert_false(lots_may_wait(lots));
    assert_int_equal(lots_due(lots, 2000), 7);
    lots_remove(lots, 7);
    assert_true(lots_may_wait(lots));
    assert_int_equal(lots_due(lots, 2000), -1);
}

/* A trickle behind bulk, of which there is always something that waits, is no bulk itself: it is soon applied at once. */
TEST(test_a_trickle_behind_bulk_does_not_wait_for_ever, struct lots *lots) {
    int64_t now = 1000;
    int waited = 0;
    add(lots, 0, LOTS_MANY, now);
    lots_added(lots, now);
    for (int i = 0; i < 1000; i++) { // a hundred a second, for ten seconds
        int32_t due;
        now += 10000;
        add(lots, i % PARTITIONS, 1, now);
        lots_added(lots, now);
        while ((due = lots_due(lots, now)) >= 0) lots_remove(lots, due);
        waited += lots_wait_ms(lots, now) >= 0;
    }
    assert_in_range(waited, 1, 2 * LOTS_HOLD_US / 10000);
}

/* As long as so many come, however few at once, they are bulk. */
TEST(test_much_in_small_pieces_stays_bulk, struct lots *lots) {
    int64_t now = 1000;
    int applied = 0;
    add(lots, 0, LOTS_MANY, now);
    lots_added(lots, now);
    for (int i = 0; i < 1000; i++) { // ten thousand a second
        int32_t due;
        now += 10000;
        for (int32_t p = 0; p < 4; p++) add(lots, p, 25, now);
        lots_added(lots, now);
        while ((due = lots_due(lots, now)) >= 0) {
            lots_remove(lots, due);
            applied++;
        }
    }
    assert_in_range(applied, 4 * 15, 4 * 22); // not a thousand times each
}

/* Records that are taken away before those of a turn are complete are not counted as having waited. */
TEST(test_one_that_goes_away_is_forgotten, struct lots *lots) {
    add(lots, 1, LOTS_MANY, 1000);
    lots_remove(lots, 1);
    lots_remove(lots, 2); // of which there is nothing
    add(lots, 1, 1, 2000);
    lots_added(lots, 2000);
    assert_int_equal(lots_due(lots, 2000), 1);
}

/* Everything is applied within the time, whatever comes, and no more waits than may. */
TEST(test_nothing_waits_for_longer, struct lots *lots) {
    int64_t since[PARTITIONS], now = 1;
    size_t count[PARTITIONS] = {0};
    uint64_t random = 5;
    for (int round = 0; round < 20000; round++) {
        uint64_t r = hash_u64(random++);
        size_t many = r % 3 ? r >> 8 & 7 : r >> 8 & 4095, total = 0;
        for (size_t i = 0; i < many; i++) {
            int32_t p = (int32_t)(hash_u64(random++) % PARTITIONS);
            if (!count[p]++) since[p] = now;
            lots_add(lots, p, now);
        }
        lots_added(lots, now);
        int32_t due;
        while ((due = lots_due(lots, now)) >= 0) {
            assert_true(count[due] > 0);
            count[due] = 0;
            lots_remove(lots, due);
        }
        int64_t next = INT64_MAX;
        for (int32_t p = 0; p < PARTITIONS; p++) {
            total += count[p];
            assert_int_equal(lots_waits(lots, p), count[p] > 0);
            assert_true(count[p] < LOTS_FULL);
            if (count[p] && since[p] + LOTS_HOLD_US < next) next = since[p] + LOTS_HOLD_US;
        }
        assert_true(total <= LOTS_MOST);
        assert_true(next > now);
        assert_int_equal(lots_wait_ms(lots, now), total ? (next - now + 999) / 1000 : -1);
        now += (int64_t)(r >> 40 & 0xfffff) >> (r >> 20 & 15);
    }
}
