/* The router's small ledgers: overlay, consents, excess, timeline, identity. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "router/consents.h"
#include "router/excess.h"
#include "router/identity.h"
#include "router/overlay.h"
#include "router/timeline.h"

/* ---- overlay ---- */

static struct friendship friends_since(int64_t since) {
    return (struct friendship){.state = FRIENDSHIP_FRIENDS, .since = since};
}

static void test_an_overlay_entry_lives_until_it_is_read_back(void **state) {
    struct overlay *overlay = overlay_new();
    struct friendship a = friends_since(1), b = {.state = FRIENDSHIP_NONE};
    overlay_put(overlay, 0, 1, 2, &a);
    overlay_put(overlay, 1, 5, 6, &a);
    overlay_read_back(overlay, 0, 1000); // the transaction is open: nothing of it can have been read
    assert_int_equal(overlay_count(overlay), 2);
    overlay_commit(overlay, (int64_t[]){11, 21});
    overlay_read_back(overlay, 0, 10);
    assert_non_null(overlay_find(overlay, 1, 2));
    overlay_put(overlay, 0, 1, 2, &b); // decided again before it was read back
    overlay_read_back(overlay, 0, 11);
    assert_int_equal(overlay_find(overlay, 1, 2)->state, FRIENDSHIP_NONE);
    overlay_commit(overlay, (int64_t[]){12, 21});
    overlay_read_back(overlay, 0, 12);
    assert_null(overlay_find(overlay, 1, 2));
    assert_non_null(overlay_find(overlay, 5, 6));
    overlay_read_back(overlay, 1, 21);
    assert_int_equal(overlay_count(overlay), 0);
    overlay_free(overlay);
}

static void test_an_overlay_counts_how_lists_grow(void **state) {
    struct overlay *overlay = overlay_new();
    struct friendship made = friends_since(1), none = {.state = FRIENDSHIP_NONE};
    int64_t ids[] = {10, 20};
    struct id_list list = {.items = ids, .count = 2, .capacity = 2};
    for (int64_t other = 100; other < 200; other++) overlay_put(overlay, 0, 1, other, &made);
    overlay_put(overlay, 0, 1, 10, &none);
    overlay_put(overlay, 0, 1, 20, &made); // already on the list
    overlay_put(overlay, 0, 2, 20, &made); // somebody else's
    assert_int_equal(overlay_waiting(overlay, 1), 102);
    assert_int_equal(overlay_growth(overlay, 1, &list), 99);
    assert_int_equal(overlay_growth(overlay, 3, &list), 0);
    overlay_commit(overlay, (int64_t[]){5});
    overlay_read_back(overlay, 0, 5);
    assert_int_equal(overlay_waiting(overlay, 1), 0);
    overlay_put(overlay, 0, 1, 2, &made);
    overlay_clear(overlay);
    assert_null(overlay_find(overlay, 1, 2));
    overlay_free(overlay);
}

static void test_an_overlay_of_many_is_right_about_each(void **state) {
    struct overlay *overlay = overlay_new();
    struct friendship none = {.state = FRIENDSHIP_NONE};
    enum { USERS = 500, OTHERS = 40, PARTS = 4 };
    int64_t ends[PARTS] = {0};
    // Each transaction writes a fifth of all pairs; what was written twice is as it was written last.
    for (int round = 0; round < 10; round++) {
        for (int64_t user = 0; user < USERS; user++) {
            for (int64_t other = round % 5; other < OTHERS; other += 5) {
                struct friendship half = friends_since(round + 1);
                overlay_put(overlay, (int32_t)(user % PARTS), user, 1000 + other, round == 9 ? &none : &half);
            }
        }
        for (int p = 0; p < PARTS; p++) ends[p] = 100 * (round + 1);
        overlay_commit(overlay, ends);
    }
    assert_int_equal(overlay_count(overlay), USERS * OTHERS);
    overlay_read_back(overlay, 1, 700); // rounds 0 to 6: of partition 1 those of 7, 8 and 9 are left, or came again
    for (int64_t user = 0; user < USERS; user++) {
        for (int64_t other = 0; other < OTHERS; other++) {
            const struct friendship *half = overlay_find(overlay, user, 1000 + other);
            if (user % PARTS == 1 && other % 5 < 2) {
                assert_null(half);
            } else if (other % 5 == 4) {
                assert_int_equal(half->state, FRIENDSHIP_NONE);
            } else {
                assert_int_equal(half->since, other % 5 + 6);
            }
        }
        assert_int_equal(overlay_waiting(overlay, user), user % PARTS == 1 ? OTHERS * 3 / 5 : OTHERS);
    }
    for (int32_t p = 0; p < PARTS; p++) overlay_read_back(overlay, p, 1000);
    assert_int_equal(overlay_count(overlay), 0);
    for (int64_t user = 0; user < USERS; user++) assert_int_equal(overlay_waiting(overlay, user), 0);
    overlay_free(overlay);
}

/* ---- consents ---- */

/* What a stand-by kept is told of from where the last owner had told it, and nothing before. */
static void test_a_standby_tells_when_it_takes_over(void **state) {
    struct consents *consents = consents_new(1);
    int64_t offset, told, from;
    consents_watch(consents, 0);
    assert_false(consents_record(consents, 0, 7, SHARING_OFF, 4));
    assert_false(consents_record(consents, 0, 8, SHARING_FRIENDS, 5));
    assert_false(consents_record(consents, 0, 9, SHARING_OFF, 6));
    assert_false(consents_committable(consents, 0, &told));
    assert_true(consents_refuses(consents, 0, 7, 3, &offset));
    assert_false(consents_refuses(consents, 0, 8, 3, &offset));

    assert_true(consents_resume(consents, 0, 5, &from)); // 4 was told; 5 and 6 are read again
    assert_int_equal(from, 5);
    assert_false(consents_record(consents, 0, 8, SHARING_FRIENDS, 5));
    assert_true(consents_record(consents, 0, 9, SHARING_OFF, 6));
    uint64_t ticket = consents_sent(consents, 0);
    assert_false(consents_committable(consents, 0, &told));
    assert_true(consents_refuses(consents, 0, 7, 3, &offset)); // kept

    consents_watch(consents, 0); // somebody else's again, before the LEAVE was acknowledged
    consents_acknowledge(consents, ticket, false);
    assert_false(consents_restart(consents, 0, &told));
    assert_false(consents_committable(consents, 0, &told));
    assert_false(consents_resume(consents, 0, 7, &from)); // and ours, everything told: nothing to be read again
    assert_false(consents_record(consents, 0, 10, SHARING_FRIENDS, 7));
    assert_true(consents_committable(consents, 0, &told));
    assert_int_equal(told, 8);

    consents_watch(consents, 0);
    assert_true(consents_resume(consents, 0, -1, &from)); // nobody ever told anything
    assert_int_equal(from, 0);
    consents_free(consents);
}

static void test_who_is_refused(void **state) {
    struct consents *consents = consents_new(2);
    int64_t offset;
    consents_attach(consents, 1, -1);
    assert_true(consents_refuses(consents, 1, 7, -1, &offset)); // no record is OFF
    assert_int_equal(offset, -1);
    assert_false(consents_refuses(consents, 1, 7, 0, &offset)); // checked against a record that has not come yet
    assert_false(consents_record(consents, 1, 7, SHARING_FRIENDS, 4));
    assert_false(consents_refuses(consents, 1, 7, -1, &offset));
    assert_true(consents_record(consents, 1, 7, SHARING_OFF, 9));
    assert_true(consents_refuses(consents, 1, 7, 4, &offset));
    assert_true(consents_refuses(consents, 1, 7, 9, &offset));
    assert_int_equal(offset, 9);
    assert_false(consents_refuses(consents, 1, 7, 12, &offset)); // opted in since: our copy is behind
    assert_int_equal(consents_count(consents), 1);
    consents_detach(consents, 1);
    assert_int_equal(consents_count(consents), 0);
    consents_free(consents);
}

static void test_opt_outs_are_told_once_and_lost_ones_again(void **state) {
    struct consents *consents = consents_new(1);
    int64_t told;
    consents_attach(consents, 0, 5);
    assert_false(consents_record(consents, 0, 1, SHARING_OFF, 4)); // told before
    assert_true(consents_record(consents, 0, 2, SHARING_OFF, 5));
    uint64_t a = consents_sent(consents, 0);
    assert_false(consents_record(consents, 0, 3, SHARING_FRIENDS, 6));
    assert_false(consents_committable(consents, 0, &told));
    consents_acknowledge(consents, a, true);
    assert_true(consents_committable(consents, 0, &told));
    assert_int_equal(told, 7);
    consents_committed(consents, 0, told);
    assert_false(consents_committable(consents, 0, &told));

    assert_true(consents_record(consents, 0, 2, SHARING_OFF, 8));
    uint64_t b = consents_sent(consents, 0);
    assert_true(consents_record(consents, 0, 3, SHARING_OFF, 9));
    uint64_t c = consents_sent(consents, 0);
    consents_acknowledge(consents, b, false);
    assert_false(consents_restart(consents, 0, &told)); // one is still under way
    consents_acknowledge(consents, c, true);
    assert_false(consents_committable(consents, 0, &told));
    assert_true(consents_restart(consents, 0, &told));
    assert_int_equal(told, 7);
    assert_true(consents_record(consents, 0, 2, SHARING_OFF, 8));

    // What comes back after the partition was given away and taken again says nothing.
    uint64_t d = consents_sent(consents, 0);
    consents_detach(consents, 0);
    consents_attach(consents, 0, 0);
    uint64_t e = consents_sent(consents, 0);
    consents_acknowledge(consents, d, false);
    consents_record(consents, 0, 2, SHARING_OFF, 8);
    assert_false(consents_committable(consents, 0, &told));
    consents_acknowledge(consents, e, true);
    assert_true(consents_committable(consents, 0, &told));
    consents_free(consents);
}

/* ---- excess ---- */

static void test_excess_is_asked_for_newest_first(void **state) {
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
static void test_very_much_excess(void **state) {
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

static void test_excess_is_noticed_again_when_somebody_else_asks(void **state) {
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

static bool accept(struct timeline *timeline, int32_t partition, enum location_kind kind, int64_t time) {
    struct location event = event_at(kind, time);
    return timeline_accept(timeline, partition, &event);
}

static void test_the_machines_clock(void **state) {
    struct timeline *timeline = timeline_new(false, 2, 60000, 1000);
    int64_t now = clock_wall_ms();
    assert_true(accept(timeline, 0, LOCATION_REPORT, 1));
    assert_true(accept(timeline, 0, LOCATION_REPORT, now + 50000));
    assert_false(accept(timeline, 0, LOCATION_JOIN, now + 120000));
    assert_false(accept(timeline, 0, LOCATION_REJOIN, now + 120000));
    struct location leave = event_at(LOCATION_LEAVE, now + 999999);
    assert_true(timeline_accept(timeline, 0, &leave));
    assert_true(leave.time <= timeline_now(timeline)); // or it would never be forgotten
    assert_true(timeline_now(timeline) >= now);
    timeline_free(timeline);
}

static void test_the_streams_clock(void **state) {
    struct timeline *timeline = timeline_new(true, 2, 60000, 1000);
    assert_int_equal(timeline_now(timeline), 0);
    assert_true(accept(timeline, 0, LOCATION_REPORT, 5000));
    assert_int_equal(timeline_now(timeline), 5000);
    assert_true(accept(timeline, 0, LOCATION_JOIN, 6000));
    assert_false(accept(timeline, 0, LOCATION_REPORT, 7001));
    assert_int_equal(timeline_now(timeline), 6000);
    assert_true(accept(timeline, 1, LOCATION_REPORT, 9000)); // that partition's first
    assert_int_equal(timeline_now(timeline), 9000);
    assert_false(accept(timeline, 0, LOCATION_REPORT, 7001)); // each partition by its own highest
    assert_true(accept(timeline, 0, LOCATION_REPORT, 100));
    assert_true(accept(timeline, 0, LOCATION_REJOIN, 6500)); // repeats a report, and moves no clock
    assert_false(accept(timeline, 0, LOCATION_REPORT, 7001));
    assert_true(accept(timeline, 0, LOCATION_QUIT, 999999));
    assert_int_equal(timeline_now(timeline), 9000);
    timeline_free(timeline);
}

/* ---- identity ---- */

static void test_an_identity_is_kept(void **state) {
    char folder[] = "/tmp/starling-identity-XXXXXX", file[64], command[96], *a, *b;
    struct error error;
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/data/router/identity", folder);
    assert_int_equal(identity_load("", file, &a, &error), 0);
    assert_int_equal(strlen(a), 32);
    assert_int_equal(identity_load("", file, &b, &error), 0);
    assert_string_equal(a, b);
    free(b);
    assert_int_equal(identity_load("router-1", file, &b, &error), 0);
    assert_string_equal(b, "router-1");
    free(b);
    // Half a name is none.
    FILE *stream = fopen(file, "w");
    assert_non_null(stream);
    fputs("0123", stream);
    fclose(stream);
    assert_int_equal(identity_load(NULL, file, &b, &error), 0);
    assert_string_not_equal(a, b);
    free(a);
    free(b);
    assert_true(identity_load("", "/proc/no/such", &b, &error) < 0);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_overlay_entry_lives_until_it_is_read_back),
        cmocka_unit_test(test_an_overlay_counts_how_lists_grow),
        cmocka_unit_test(test_an_overlay_of_many_is_right_about_each),
        cmocka_unit_test(test_a_standby_tells_when_it_takes_over),
        cmocka_unit_test(test_who_is_refused),
        cmocka_unit_test(test_opt_outs_are_told_once_and_lost_ones_again),
        cmocka_unit_test(test_excess_is_asked_for_newest_first),
        cmocka_unit_test(test_very_much_excess),
        cmocka_unit_test(test_excess_is_noticed_again_when_somebody_else_asks),
        cmocka_unit_test(test_the_machines_clock),
        cmocka_unit_test(test_the_streams_clock),
        cmocka_unit_test(test_an_identity_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
