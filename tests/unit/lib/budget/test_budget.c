/* Tests held.c, network.c, rates.c and tally.c. Budgets: token buckets and what is held, by key; and the keys of networks. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "budget/held.h"
#include "budget/network.h"
#include "budget/rates.h"
#include "unit/kit/kit.h"

/* ---- rates ---- */

static struct metrics *metrics;

SET_UP() { return metrics = metrics_new(); }

TEAR_DOWN(struct metrics *made) { metrics_free(made); }

static struct rates *new_rates(int64_t per_second, int64_t burst) {
    return rates_new(&(struct rates_options){
        .metrics = metrics, .what = "requests", .by = "user", .per_second = per_second, .burst = burst});
}

static bool shows(const char *line) {
    FREED_BUFFER text = {.size = 0};
    metrics_render(metrics, &text);
    return strstr(buffer_cstring(&text), line) != NULL;
}

TEST(a_burst_and_then_one_a_second) {
    struct rates *rates = new_rates(1, 60);
    for (int i = 0; i < 60; i++) assert_int_equal(rates_take(rates, 7, 1, 5000), 0);
    assert_int_equal(rates_take(rates, 7, 1, 5000), 1);
    assert_int_equal(rates_take(rates, 8, 1, 5000), 0); /* another user */
    assert_int_equal(rates_take(rates, 7, 1, 5999), 1);
    assert_int_equal(rates_take(rates, 7, 1, 6000), 0);
    assert_int_equal(rates_take(rates, 7, 1, 6001), 1);
    assert_int_equal(rates_take(rates, 7, 1, 9000), 0); /* three have come back */
    assert_int_equal(rates_take(rates, 7, 1, 9000), 0);
    assert_int_equal(rates_take(rates, 7, 1, 9000), 0);
    assert_int_equal(rates_take(rates, 7, 1, 9000), 1);
    rates_free(rates);
}

/* Against a bucket that is filled drop by drop. */
TEST(a_rate_is_that_of_a_bucket) {
    enum { RATE = 4, BURST = 9 };
    struct rates *rates = new_rates(RATE, BURST);
    int64_t now = 1000, drops_ms = (int64_t)BURST * 1000;
    unsigned random = 1;
    for (int i = 0; i < 20000; i++) {
        random = random * 1103515245 + 12345;
        int64_t passed = (random >> 16) % 500;
        now += passed;
        drops_ms += passed * RATE;
        if (drops_ms > (int64_t)BURST * 1000) drops_ms = (int64_t)BURST * 1000;
        bool may = drops_ms >= 1000;
        int wait_s = rates_take(rates, 3, 1, now);
        assert_int_equal(wait_s == 0, may);
        if (may) drops_ms -= 1000;
    }
    rates_free(rates);
}

TEST(who_has_rested_takes_no_memory) {
    struct rates *rates = new_rates(1, 2);
    for (int64_t user = 0; user < 200000; user++) assert_int_equal(rates_take(rates, user, 1, user), 0);
    assert_true(rates_known(rates) < 5000); /* about 1000 users write within a second */
    rates_free(rates);
}

TEST(no_rate_is_no_limit) {
    struct rates *rates = new_rates(0, 1);
    for (int i = 0; i < 1000; i++) assert_int_equal(rates_take(rates, 7, 1, 5), 0);
    assert_int_equal(rates_known(rates), 0);
    rates_free(rates);
}

/* An attacker from more addresses than there is room for does not take memory, and does not touch those who are known. */
TEST(newcomers_to_a_full_table_share) {
    struct rates *rates = new_rates(1, 100);
    for (uint64_t key = 0; key < RATES_MAX; key++)
        for (int i = 0; i < 3; i++) assert_int_equal(rates_take(rates, key, 1, 1000), 0);
    assert_int_equal(rates_known(rates), RATES_MAX);
    int passed = 0;
    for (uint64_t key = RATES_MAX; key < RATES_MAX + 1000; key++) passed += rates_take(rates, key, 1, 1000) == 0;
    assert_int_equal(passed, 100);
    assert_int_equal(rates_known(rates), RATES_MAX);
    assert_int_equal(rates_take(rates, 5, 1, 1000), 0);
    assert_int_equal(rates_take(rates, RATES_MAX, 1, 1000 + 4001), 0); /* all of them have rested */
    assert_int_equal(rates_known(rates), 1);
    rates_free(rates);
}

/* What costs more than the burst is not refused for ever, but is paid off before anything else. */
TEST(an_amount_beyond_the_burst_is_paid_off) {
    struct rates *rates = new_rates(10, 20);
    assert_int_equal(rates_take(rates, 7, 100, 1000), 0);
    assert_int_equal(rates_take(rates, 7, 1, 1000), 9); /* -80: 8.1 s until there is 1 */
    assert_int_equal(rates_take(rates, 7, 1, 9000), 1);
    assert_int_equal(rates_take(rates, 7, 1, 9100), 0);
    assert_int_equal(rates_take(rates, 8, 1, 1000), 0);
    assert_int_equal(rates_take(rates, 8, 100, 1000), 1); /* not rested */
    assert_int_equal(rates_take(rates, 8, INT64_MAX, 20000), 0);
    assert_true(rates_take(rates, 8, 1, 20000) > 1000000);
    rates_free(rates);
}

/* A cost that is known only afterwards makes the key wait, but never for longer than two bursts take. */
TEST(a_charge_is_bounded) {
    struct rates *rates = new_rates(10, 20);
    rates_charge(rates, 7, 15, 1000);
    assert_int_equal(rates_take(rates, 7, 5, 1000), 0);
    assert_int_equal(rates_take(rates, 7, 1, 1000), 1);
    for (int i = 0; i < 10; i++) rates_charge(rates, 7, INT64_MAX, 1000);
    assert_int_equal(rates_take(rates, 7, 20, 1000), 4);
    assert_int_equal(rates_take(rates, 7, 20, 5000), 0);
    rates_free(rates);
}

/* Millions of small units, as bytes are. */
TEST(bytes_have_rates) {
    struct rates *rates = new_rates(1000000000, 2000000000);
    assert_int_equal(rates_take(rates, 7, 2000000000, 1000), 0);
    assert_int_equal(rates_take(rates, 7, 1000000, 1000), 1);
    assert_int_equal(rates_take(rates, 7, 1000000, 1001), 0);
    rates_free(rates);
}

TEST(rates_are_shown) {
    struct rates *rates = new_rates(3, 4);
    for (int i = 0; i < 6; i++) rates_take(rates, 7, 1, 1000);
    assert_true(shows("starling_budget_limit{what=\"requests\",by=\"user\"} 4\n"));
    assert_true(shows("starling_budget_per_second{what=\"requests\",by=\"user\"} 3\n"));
    assert_true(shows("starling_budget_refused_total{what=\"requests\",by=\"user\"} 2\n"));
    rates_free(rates);
}

/* ---- what is held ---- */

static struct held *new_held(int64_t each, int64_t in_all) {
    return held_new(&(struct held_options){
        .metrics = metrics, .what = "connections", .by = "network", .each = each, .in_all = in_all});
}

/* Random takes and gives against plain sums. */
TEST(what_is_held_is_bounded) {
    enum { KEYS = 20, EACH = 50, ALL = 400 };
    struct held *held = new_held(EACH, ALL);
    int64_t by[KEYS] = {0}, all = 0;
    unsigned random = 7;
    for (int i = 0; i < 50000; i++) {
        random = random * 1103515245 + 12345;
        unsigned key = (random >> 16) % KEYS;
        random = random * 1103515245 + 12345;
        int64_t amount = (random >> 16) % 30;
        if (random >> 31) {
            bool may = by[key] + amount <= EACH && all + amount <= ALL;
            assert_int_equal(held_take(held, key, amount), may);
            if (may) by[key] += amount, all += amount;
        } else if (by[key] >= amount) {
            held_give(held, key, amount);
            by[key] -= amount, all -= amount;
        }
        assert_int_equal(held_by(held, key), by[key]);
        assert_int_equal(held_in_all(held), all);
    }
    held_free(held);
}

/* Many callers who take all that they can get leave as much for the next one as each of them has. */
TEST(room_is_left_for_who_comes_last) {
    enum { EACH = 80, ALL = 1280, CALLERS = 31 };
    struct held *held = held_new(&(struct held_options){
        .metrics = metrics, .what = "bytes", .by = "caller", .each = EACH, .in_all = ALL, .leaves_room = true});
    for (bool more = true; more;) {
        more = false;
        for (uint64_t key = 1; key <= CALLERS; key++) more |= held_take(held, key, 1);
    }
    for (uint64_t key = 1; key <= CALLERS; key++) assert_int_equal(held_by(held, key), ALL / (CALLERS + 1));
    assert_true(held_take(held, CALLERS + 1, ALL / (CALLERS + 1)));
    assert_false(held_take(held, CALLERS + 2, 1));
    held_free(held);
}

TEST(no_limit_is_no_limit) {
    struct held *held = new_held(0, 0);
    assert_true(held_take(held, 1, INT64_MAX / 2));
    assert_int_equal(held_by(held, 1), INT64_MAX / 2);
    held_free(held);
}

TEST(what_is_held_is_shown) {
    struct held *held = new_held(2, 3);
    assert_true(held_take(held, 1, 2));
    assert_false(held_take(held, 1, 1));
    assert_true(held_take(held, 2, 1));
    assert_false(held_take(held, 2, 1));
    assert_false(held_take(held, 3, 1));
    assert_true(shows("starling_budget_limit{what=\"connections\",by=\"network\"} 2\n"));
    assert_true(shows("starling_budget_limit{what=\"connections\",by=\"process\"} 3\n"));
    assert_true(shows("starling_budget_used{what=\"connections\"} 3\n"));
    assert_true(shows("starling_budget_refused_total{what=\"connections\",by=\"network\"} 1\n"));
    assert_true(shows("starling_budget_refused_total{what=\"connections\",by=\"process\"} 2\n"));
    held_free(held);
}

/* ---- networks ---- */

static uint64_t key(const char *text, uint64_t (*of)(const struct sockaddr *socket)) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.v6 = {.sin6_family = strchr(text, ':') ? AF_INET6 : AF_INET}};
    void *at = strchr(text, ':') ? (void *)&address.v6.sin6_addr : (void *)&address.v4.sin_addr;
    assert_int_equal(inet_pton(address.any.sa_family, text, at), 1);
    return of(&address.any);
}

TEST(networks_are_told_apart) {
    assert_int_equal(key("192.0.2.7", network_of), key("192.0.2.200", network_of));
    assert_true(key("192.0.2.7", network_of) != key("192.0.3.7", network_of));
    assert_true(key("192.0.2.7", network_address) != key("192.0.2.8", network_address));
    assert_int_equal(key("::ffff:192.0.2.7", network_address), key("192.0.2.7", network_address));
    assert_int_equal(key("::ffff:192.0.2.7", network_of), key("192.0.2.9", network_of));
    assert_int_equal(key("2001:db8:1:2::1", network_of), key("2001:db8:1:2:ffff::9", network_address));
    assert_true(key("2001:db8:1:2::1", network_of) != key("2001:db8:1:3::1", network_of));
}
