/* Items come out in the order of their times, and due_keep leaves the rest in that order: held against a plain table. */
#include "base/due.h"
#include "unit/kit/kit.h"

TEST(an_item_comes_when_its_time_has_come) {
    struct due due = {.items = NULL};
    struct due_item item;
    assert_true(due_soonest(&due) == INT64_MAX);
    assert_false(due_take(&due, INT64_MAX, &item));
    due_put(&due, (struct due_item){.at = 100, .what = 7});
    due_put(&due, (struct due_item){.at = 50, .what = UINT64_MAX});
    assert_int_equal(due_soonest(&due), 50);
    assert_false(due_take(&due, 49, &item));
    assert_true(due_take(&due, 50, &item));
    assert_int_equal(item.at, 50);
    assert_true(item.what == UINT64_MAX);
    assert_false(due_take(&due, 50, &item));
    due_free(&due);
    assert_int_equal(due.count, 0);
    due_free(&due);
}

enum { ITEMS = 64 };
#define ABSENT INT64_MAX

static bool even_place(void *context, const struct due_item *item) {
    int64_t *table = context;
    if (item->what % 2 == 0) return true;
    table[item->what] = ABSENT;
    return false;
}

TEST(random_items_come_in_their_order) {
    struct due due = {.items = NULL};
    int64_t table[ITEMS], now = 0;
    for (int i = 0; i < ITEMS; i++) table[i] = ABSENT;
    size_t taken = 0, left_out = 0;
    for (uint64_t step = 0; step < 100000; step++) {
        uint64_t chance = hash_u64(step), what = chance % ITEMS;
        if (table[what] == ABSENT) {
            table[what] = now + (int64_t)(chance >> 32 & 255);
            due_put(&due, (struct due_item){.at = table[what], .what = what});
        }
        if (chance >> 40 & 31) continue;
        if (chance >> 48 & 1) {
            size_t before = due.count;
            due_keep(&due, even_place, table);
            left_out += before - due.count;
        }
        now += (int64_t)(chance >> 49 & 63);
        int64_t last = INT64_MIN;
        for (struct due_item item; due_take(&due, now, &item); taken++) {
            assert_true(item.at == table[item.what] && item.at <= now && item.at >= last);
            last = item.at;
            table[item.what] = ABSENT;
        }
        int64_t soonest = INT64_MAX;
        for (int i = 0; i < ITEMS; i++) soonest = table[i] < soonest ? table[i] : soonest;
        assert_true(soonest > now && due_soonest(&due) == soonest);
    }
    assert_true(taken > 1000 && left_out > 1000);
    due_free(&due);
}
