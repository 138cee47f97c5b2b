/* Friendships beyond the cap: which are asked to end, in which order, and until when the router remembers them. */
#include "router/excess.h"
#include "unit/kit/kit.h"

TEST(test_excess_is_asked_for_newest_first) {
    struct excess *excess = excess_new();
    struct excess_item item, first;
    excess_notice(excess, 0, 1, 50, 500, 20);
    excess_notice(excess, 0, 1, 60, 600, 30);
    excess_notice(excess, 0, 1, 60, 600, 30); // read again
    excess_notice(excess, 1, 9, 70, 700, 1);
    assert_int_equal(excess_count(excess), 3);
    assert_int_equal(excess_hold(excess, 0), 20);
    assert_true(excess_next(excess, 0, &first));
    assert_int_equal(first.other, 60);
    excess_sent(excess, first.ticket);
    assert_int_equal(excess_on_the_way(excess, 1), 1);
    assert_true(excess_next(excess, 0, &item));
    assert_int_equal(item.other, 50);
    excess_drop(excess, item.ticket);
    assert_false(excess_next(excess, 0, &item));
    assert_int_equal(excess_hold(excess, 0), 30); // until it is acknowledged
    excess_acknowledge(excess, first.ticket, false, 0);
    assert_true(excess_next(excess, 0, &item)); // lost: once more
    excess_sent(excess, item.ticket);
    excess_acknowledge(excess, item.ticket, true, 1000);
    assert_true(excess_hold(excess, 0) == INT64_MAX);
    assert_int_equal(excess_on_the_way(excess, 1), 1); // but the friend is still on the list
    excess_parted(excess, 1, 60);
    assert_int_equal(excess_on_the_way(excess, 1), 0);
    assert_true(excess_next(excess, 1, &item));
    excess_sent(excess, item.ticket);
    excess_acknowledge(excess, item.ticket, true, 1000);
    excess_expire(excess, 60999);
    assert_int_equal(excess_count(excess), 1);
    excess_expire(excess, 61000);
    assert_int_equal(excess_count(excess), 0);
    excess_notice(excess, 1, 9, 70, 700, 1);
    excess_detach(excess, 1);
    assert_int_equal(excess_count(excess), 0);
    excess_free(excess);
}

/* A hundred thousand friendships too many, of few users and of many: each is asked for, the newest of a user first, and the whole
 * takes no longer than sorting them. */
TEST(test_very_much_excess) {
    enum { MANY = 100000 };
    for (int64_t users = 1; users <= MANY; users *= 100) {
        struct excess *excess = excess_new();
        struct excess_item item, before = {.user = -1};
        for (int64_t i = 0; i < MANY; i++) excess_notice(excess, 3, i % users, i, i + 1, (i * 7919) % MANY);
        for (int64_t i = 0; i < MANY; i++) excess_notice(excess, 3, i % users, i, i + 1, 0); // read again
        assert_int_equal(excess_count(excess), MANY);
        size_t asked = 0;
        for (; excess_next(excess, 3, &item); asked++) {
            int64_t offset = (item.other * 7919) % MANY;
            if (item.user == before.user)
                assert_true(offset < (before.other * 7919) % MANY);
            else
                assert_true(item.user > before.user);
            assert_int_equal(excess_on_the_way(excess, item.user),
                             item.user == before.user ? asked % (MANY / users) : 0);
            excess_sent(excess, item.ticket);
            before = item;
        }
        assert_int_equal(asked, MANY);
        assert_int_equal(excess_hold(excess, 3), 0);
        for (uint64_t ticket = 1; ticket <= MANY; ticket++) excess_acknowledge(excess, ticket, ticket % 2, 5);
        for (int64_t i = 0; i < MANY; i += 2) excess_parted(excess, i % users, i);
        assert_int_equal(excess_count(excess), MANY / 2);
        for (asked = 0; excess_next(excess, 3, &item); asked++) excess_drop(excess, item.ticket);
        assert_int_equal(asked, MANY / 2); // those that were lost on the way
        excess_free(excess);
    }
}

/* A partition goes to somebody else, who asks; when it comes back what was too many still is, until it is seen to be gone. */
TEST(test_excess_is_noticed_again_when_somebody_else_asks) {
    struct excess *excess = excess_new();
    struct excess_item item;
    excess_notice(excess, 0, 1, 50, 500, 20);
    excess_notice(excess, 1, 2, 60, 600, 30);
    assert_true(excess_next(excess, 0, &item));
    excess_sent(excess, item.ticket);
    excess_renotice(excess, 0);
    assert_int_equal(excess_on_the_way(excess, 1), 0);
    excess_acknowledge(excess, item.ticket, true, 1000); // of what it sent itself, before
    excess_expire(excess, 1000000);
    assert_int_equal(excess_count(excess), 2);
    assert_int_equal(excess_hold(excess, 0), 20);
    assert_true(excess_next(excess, 0, &item));
    excess_parted(excess, 1, 50);
    assert_false(excess_next(excess, 0, &item));
    excess_free(excess);
}
