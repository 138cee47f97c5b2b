/* Opt-outs, and the end of sharing by itself. */
#include "router/consents.h"
#include "unit/kit/kit.h"

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

TEST(an_opt_out_that_is_followed_by_a_consent_is_remembered) {
    struct consents *consents = consents_new(1, KEEP);
    size_t budget = 9;
    consents_attach(consents, 0);
    assert_int_equal(consents_off(consents, 0, 7), -1);
    assert_int_equal(consents_returned(consents, 0, 7), -1);
    record(consents, 0, 7, SHARING_FRIENDS, 4);
    assert_int_equal(consents_off(consents, 0, 7), -1);
    record(consents, 0, 7, SHARING_OFF, 9);
    assert_int_equal(consents_off(consents, 0, 7), 9);
    consents_note_return(consents, 0, 7, 9);
    record(consents, 0, 7, SHARING_FRIENDS, 10);
    assert_int_equal(consents_off(consents, 0, 7), -1);
    assert_int_equal(consents_returned(consents, 0, 7), 9);
    // An end by itself is none, before it is read or after.
    share_until(consents, 8, 50, 11, 60);
    share_until(consents, 9, 50, 12, 40);
    assert_int_equal(consents_mode(consents, 0, 8, 60), SHARING_OFF);
    consents_end_due(consents, 60, &budget, &(struct looks){.fate = CONSENTS_DONE}, look);
    assert_int_equal(consents_mode(consents, 0, 9, 60), SHARING_OFF);
    assert_int_equal(consents_off(consents, 0, 8), -1);
    assert_int_equal(consents_off(consents, 0, 9), -1);
    consents_attach(consents, 0);
    assert_int_equal(consents_returned(consents, 0, 7), -1);
    consents_free(consents);
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
