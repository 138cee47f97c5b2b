/* The router's small ledgers: consents, excess, timeline. */
#include "router/consents.h"
#include "router/excess.h"
#include "router/report_clock.h"
#include "unit/kit/kit.h"

/* ---- consents ---- */

enum { KEEP = 1000 }; /* ms */

/* A record without an end. */
static void record(struct consents *consents, int32_t partition, int64_t user, enum sharing_mode mode, int64_t offset) {
    consents_record(consents, partition, user, &(struct sharing){.mode = mode}, offset, 0);
}

/* One that ends. */
static void share_until(struct consents *consents, int64_t user, int64_t until, int64_t offset, int64_t now) {
    const struct sharing sharing = {.mode = SHARING_FRIENDS, .until = until};
    consents_record(consents, 0, user, &sharing, offset, now);
}

TEST(test_who_is_refused) {
    struct consents *consents = consents_new(2, KEEP);
    int64_t offset;
    consents_attach(consents, 1);
    assert_true(consents_refuses(consents, 1, 7, -1, 0, &offset)); // no record is OFF
    assert_int_equal(offset, -1);
    assert_false(consents_refuses(consents, 1, 7, 0, 0, &offset)); // checked against a record that has not come yet
    record(consents, 1, 7, SHARING_FRIENDS, 4);
    assert_false(consents_refuses(consents, 1, 7, -1, 0, &offset));
    record(consents, 1, 7, SHARING_OFF, 9);
    assert_true(consents_refuses(consents, 1, 7, 4, 0, &offset));
    assert_true(consents_refuses(consents, 1, 7, 9, 0, &offset));
    assert_int_equal(offset, 9);
    assert_false(consents_refuses(consents, 1, 7, 12, 0, &offset)); // opted in since: our copy is behind
    assert_int_equal(consents_count(consents), 1);
    consents_detach(consents, 1);
    assert_int_equal(consents_count(consents), 0);
    consents_free(consents);
}

struct looks {
    int count, sent; /* sent: LEAVEs of those were out already */
    struct consents_end last;
    enum consents_fate fate;
};

static enum consents_fate look(void *context, int32_t partition, const struct consents_end *end, bool sent) {
    struct looks *looks = context;
    assert_int_equal(partition, 0);
    looks->count++;
    looks->sent += sent;
    looks->last = *end;
    return looks->fate;
}

static struct looks end_due(struct consents *consents, int64_t now, size_t budget, enum consents_fate fate) {
    struct looks looks = {.fate = fate};
    consents_end_due(consents, now, &budget, &looks, look);
    return looks;
}

/* A round, in steps. */
static struct looks go_round(struct consents *consents, int64_t now, size_t step, enum consents_fate fate) {
    struct looks looks = {.fate = fate};
    size_t budget;
    consents_begin_round(consents);
    do {
        budget = step;
        consents_go_round(consents, now, &budget, &looks, look);
    } while (!budget);
    return looks;
}

static int looks_at(struct consents *consents, int64_t now, bool again) {
    return go_round(consents, now, 1, again ? CONSENTS_WAIT : CONSENTS_DONE).count;
}

TEST(test_sharing_ends_by_itself) {
    struct consents *consents = consents_new(2, KEEP);
    int64_t offset;
    consents_attach(consents, 0);
    assert_true(consents_soonest(consents) == INT64_MAX);
    share_until(consents, 7, 5000, 3, 100);
    share_until(consents, 8, 6000, 4, 100);
    share_until(consents, 8, 7000, 5, 100); // for longer
    share_until(consents, 9, 5500, 6, 100);
    record(consents, 0, 9, SHARING_PUBLIC, 7); // without an end now
    assert_true(consents_soonest(consents) <= 5000);
    assert_int_equal(end_due(consents, 4999, 9, CONSENTS_WAIT).count, 0);
    assert_false(consents_refuses(consents, 0, 7, 3, 4999, &offset));
    assert_true(consents_refuses(consents, 0, 7, 3, 5000, &offset)); // as if the record had said OFF
    assert_int_equal(offset, 3);
    struct looks looks = end_due(consents, 5900, 9, CONSENTS_WAIT);
    assert_int_equal(looks.count, 1);
    assert_int_equal(looks.last.user, 7);
    assert_int_equal(looks.last.offset, 3);
    assert_int_equal(looks.last.time, 5000);
    assert_true(consents_refuses(consents, 0, 7, 3, 5900, &offset));
    assert_int_equal(offset, 3);
    assert_false(consents_refuses(consents, 0, 7, 8, 5900, &offset)); // in again, by a record that has not come yet
    assert_int_equal(consents_mode(consents, 0, 7, 5900), SHARING_OFF);
    assert_int_equal(end_due(consents, 5900, 9, CONSENTS_WAIT).count, 0);
    assert_true(consents_soonest(consents) > 5900 && consents_soonest(consents) <= 6000);
    assert_int_equal(consents_mode(consents, 0, 8, 5900), SHARING_FRIENDS);
    assert_int_equal(consents_mode(consents, 0, 9, 5900), SHARING_PUBLIC);
    consents_free(consents);
}

/* All of them are OFF at once; how many are worked off in a call is the caller's choice. */
TEST(test_ends_that_fall_together) {
    enum { USERS = 100 };
    struct consents *consents = consents_new(1, KEEP);
    int64_t offset;
    consents_attach(consents, 0);
    for (int64_t i = 0; i < USERS; i++) share_until(consents, i, 5000, i, 100);
    assert_int_equal(end_due(consents, 5000, 30, CONSENTS_SENT).count, 30);
    for (int64_t i = 0; i < USERS; i++) assert_true(consents_refuses(consents, 0, i, i, 5000, &offset));
    assert_int_equal(end_due(consents, 5001, 30, CONSENTS_SENT).count, 30);
    assert_int_equal(end_due(consents, 5002, 50, CONSENTS_SENT).count, USERS - 60);
    assert_int_equal(end_due(consents, 5003, 50, CONSENTS_SENT).count, 0);
    // They were sent, and count so until one of them is lost.
    assert_int_equal(go_round(consents, 5100, 7, CONSENTS_WAIT).count, USERS);
    assert_int_equal(go_round(consents, 5100, 7, CONSENTS_WAIT).sent, USERS);
    uint64_t ticket = consents_sent_end(consents, 0);
    consents_acknowledge(consents, ticket, true);
    assert_int_equal(go_round(consents, 5200, 7, CONSENTS_WAIT).sent, USERS);
    consents_acknowledge(consents, ticket, false);
    consents_acknowledge(consents, ticket, false);
    assert_int_equal(go_round(consents, 5200, 7, CONSENTS_SENT).sent, 0);
    assert_int_equal(go_round(consents, 5200, 7, CONSENTS_DONE).sent, USERS);
    assert_int_equal(go_round(consents, 5200, 7, CONSENTS_DONE).count, 0);
    assert_false(consents_acknowledge(consents, 1, false)); // opt-outs have nothing to do with that
    consents_free(consents);
}

/* An end is looked at until the caller says that it is done, by the next owner too, and not for ever. */
TEST(test_ends_are_kept_for_a_while) {
    struct consents *consents = consents_new(1, KEEP);
    consents_attach(consents, 0);
    share_until(consents, 7, 5000, 3, 100);
    assert_int_equal(end_due(consents, 5000, 1, CONSENTS_WAIT).count, 1);
    share_until(consents, 8, 5200, 4, 5300); // had ended before it was read
    assert_int_equal(consents_mode(consents, 0, 8, 5300), SHARING_OFF);
    share_until(consents, 9, 200, 5, 5300); // long before: nobody can have a report of then
    assert_int_equal(looks_at(consents, 5300, true), 2);
    assert_int_equal(looks_at(consents, 5400, true), 2);
    assert_int_equal(looks_at(consents, 6000, true), 1); // of user 8
    assert_int_equal(looks_at(consents, 6100, false), 1);
    assert_int_equal(looks_at(consents, 6100, false), 0);
    consents_detach(consents, 0);
    consents_attach(consents, 0);
    assert_int_equal(looks_at(consents, 6100, true), 0);
    share_until(consents, 8, 5200, 4, 6100); // a new owner reads them all, and needs to look at late ones only
    assert_int_equal(looks_at(consents, 6100, true), 1);
    for (int64_t i = 0; i < 100; i++) share_until(consents, 8, 5250 + i, 5 + i, 6100); // the newest counts
    assert_int_equal(looks_at(consents, 6100, true), 1);
    consents_free(consents);
}

/* ---- excess ---- */

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

/* A partition goes to somebody else, who asks; when it comes back what was too many still is, until it is seen to be gone. */
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

/* ---- timeline ---- */

static struct location event_at(enum location_kind kind, int64_t time) {
    return (struct location){.kind = kind, .time = time, .user = 1, .route = -1, .opted = 0};
}

static bool accepts(struct report_clock *timeline, int32_t partition, enum location_kind kind, int64_t time) {
    struct location event = event_at(kind, time);
    return report_clock_accept(timeline, partition, &event);
}

TEST(test_the_machines_clock) {
    struct report_clock *timeline = report_clock_new(false, 2, 60000, 1000);
    int64_t now = clock_wall_ms();
    assert_true(accepts(timeline, 0, LOCATION_REPORT, 1));
    assert_true(accepts(timeline, 0, LOCATION_REPORT, now + 50000));
    assert_false(accepts(timeline, 0, LOCATION_JOIN, now + 120000));
    assert_false(accepts(timeline, 0, LOCATION_REJOIN, now + 120000));
    struct location leave = event_at(LOCATION_LEAVE, now + 999999);
    assert_true(report_clock_accept(timeline, 0, &leave));
    assert_true(leave.time <= report_clock_now(timeline)); // or it would never be forgotten
    assert_true(report_clock_now(timeline) >= now);
    report_clock_free(timeline);
}

TEST(test_the_streams_clock) {
    struct report_clock *timeline = report_clock_new(true, 2, 60000, 1000);
    assert_int_equal(report_clock_now(timeline), 0);
    assert_true(accepts(timeline, 0, LOCATION_REPORT, 5000));
    assert_int_equal(report_clock_now(timeline), 5000);
    assert_true(accepts(timeline, 0, LOCATION_JOIN, 6000));
    assert_false(accepts(timeline, 0, LOCATION_REPORT, 7001));
    assert_int_equal(report_clock_now(timeline), 6000);
    assert_true(accepts(timeline, 1, LOCATION_REPORT, 9000)); // that partition's first
    assert_int_equal(report_clock_now(timeline), 9000);
    assert_false(accepts(timeline, 0, LOCATION_REPORT, 7001)); // each partition by its own highest
    assert_true(accepts(timeline, 0, LOCATION_REPORT, 100));
    assert_true(accepts(timeline, 0, LOCATION_REJOIN, 6500)); // repeats a report, and moves no clock
    assert_false(accepts(timeline, 0, LOCATION_REPORT, 7001));
    assert_true(accepts(timeline, 0, LOCATION_QUIT, 999999));
    assert_int_equal(report_clock_now(timeline), 9000);
    report_clock_free(timeline);
}
