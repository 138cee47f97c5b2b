/* The outbox with a sender of the test's own: what is sent decodes to what was put, in order; ages, sizes, a full sender,
 * epochs and their acknowledgements. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/config.h"
#include "base/hash.h"
#include "base/mem.h"
#include "router/outbox.h"

enum { ROUTES = 5, SENT_MAX = 4096, FLUSH_BYTES = 2000, FLUSH_US = 5000 };

struct sent {
    int32_t route;
    uint64_t epoch;
    uint8_t *bytes;
    size_t size;
};

struct world {
    struct outbox *outbox;
    struct codec *codec;
    struct sent sent[SENT_MAX];
    size_t count;
    int refuse; /* code to answer; 0: take */
};

static int take(void *context, int32_t route, const void *bytes, size_t size, uint64_t epoch) {
    struct world *w = context;
    if (w->refuse) return w->refuse;
    assert_true(w->count < SENT_MAX);
    struct sent *s = &w->sent[w->count++];
    *s = (struct sent){.route = route, .epoch = epoch, .bytes = mem_alloc(size), .size = size};
    memcpy(s->bytes, bytes, size);
    return 0;
}

static int setup(void **state) {
    struct world *w = mem_zero(1, sizeof *w);
    w->codec = codec_new();
    w->outbox = outbox_new(&(struct outbox_options){
        .routes = ROUTES, .flush_bytes = FLUSH_BYTES, .flush_us = FLUSH_US, .context = w, .send = take});
    *state = w;
    return 0;
}

static void forget_sent(struct world *w) {
    for (size_t i = 0; i < w->count; i++) free(w->sent[i].bytes);
    w->count = 0;
}

static int teardown(void **state) {
    struct world *w = *state;
    outbox_free(w->outbox);
    codec_free(w->codec);
    forget_sent(w);
    free(w);
    return 0;
}

static struct delivery_item parted(int64_t recipient, int64_t friend) {
    return (struct delivery_item){.kind = DELIVERY_ITEM_PARTED, .parted = {.recipient = recipient, .friend = friend}};
}

static void put(struct world *w, int32_t route, int64_t number, int64_t received, int64_t now_us) {
    struct delivery_item item = parted(number, number + 1);
    outbox_put(w->outbox, route, &item, received, now_us);
}

/* Opens a sent batch. */
static struct delivery_reader open_batch(struct world *w, size_t index) {
    struct delivery_reader reader;
    struct error error;
    assert_true(index < w->count);
    assert_int_equal(delivery_reader_start(&reader, w->codec, w->sent[index].bytes, w->sent[index].size, &error), 0);
    return reader;
}

static void expect_parted(struct delivery_reader *reader, int64_t number) {
    struct delivery_item item;
    assert_int_equal(delivery_reader_next(reader, &item), 1);
    assert_int_equal(item.kind, DELIVERY_ITEM_PARTED);
    assert_int_equal(item.parted.recipient, number);
}

static void expect_end(struct delivery_reader *reader) {
    struct delivery_item item;
    assert_int_equal(delivery_reader_next(reader, &item), 0);
}

static void test_a_batch_a_route_in_order(void **state) {
    struct world *w = *state;
    outbox_set_stream_time(w->outbox, 777);
    put(w, 3, 100, 50, 1);
    put(w, 1, 200, 0, 2);
    put(w, 3, 300, 40, 3);
    put(w, ROUTES, 1, 1, 1); // no such route
    assert_int_equal(w->count, 0);
    outbox_flush(w->outbox);
    assert_int_equal(w->count, 2);
    assert_int_equal(w->sent[0].route, 3);
    struct delivery_reader reader = open_batch(w, 0);
    assert_int_equal(reader.stream_time, 777);
    assert_int_equal(reader.oldest_received, 40);
    expect_parted(&reader, 100);
    expect_parted(&reader, 300);
    expect_end(&reader);
    reader = open_batch(w, 1);
    assert_int_equal(w->sent[1].route, 1);
    assert_int_equal(reader.oldest_received, 0);
    expect_parted(&reader, 200);
    expect_end(&reader);
    outbox_flush(w->outbox);
    assert_int_equal(w->count, 2);
}

static void test_age_and_size(void **state) {
    struct world *w = *state;
    put(w, 0, 1, 0, 1000);
    put(w, 1, 2, 0, 4000);
    outbox_flush_old(w->outbox, 1000 + FLUSH_US - 1);
    assert_int_equal(w->count, 0);
    outbox_flush_old(w->outbox, 1000 + FLUSH_US);
    assert_int_equal(w->count, 1);
    assert_int_equal(w->sent[0].route, 0);
    outbox_flush_old(w->outbox, 4000 + FLUSH_US);
    assert_int_equal(w->count, 2);

    // A route that is sent again and again because it is full does not keep the others waiting.
    forget_sent(w);
    put(w, 2, 1, 0, 10000);
    put(w, 4, 2, 0, 10001);
    for (int i = 0; i < 1000; i++) put(w, 2, i, 0, 10000 + i * 10);
    assert_true(w->count >= 2);
    size_t full = w->count;
    for (size_t i = 0; i < full; i++) {
        assert_int_equal(w->sent[i].route, 2);
        assert_true(w->sent[i].size <= FLUSH_BYTES + DELIVERY_HEAD_MAX + 1);
    }
    outbox_flush_old(w->outbox, 10001 + FLUSH_US);
    assert_int_equal(w->count, full + 1);
    assert_int_equal(w->sent[full].route, 4);
}

static void test_age_may_change(void **state) {
    struct world *w = *state;
    put(w, 0, 1, 0, 1000);
    outbox_set_flush_us(w->outbox, 10 * FLUSH_US);
    outbox_flush_old(w->outbox, 1000 + FLUSH_US);
    assert_int_equal(w->count, 0);
    put(w, 1, 2, 0, 1000 + FLUSH_US);
    outbox_set_flush_us(w->outbox, FLUSH_US);
    outbox_flush_old(w->outbox, 1000 + FLUSH_US);
    assert_int_equal(w->count, 1);
    assert_int_equal(w->sent[0].route, 0);
}

static void test_recipients_are_gathered_by_route(void **state) {
    struct world *w = *state;
    struct join_recipient recipients[] = {{2, 10}, {0, 11}, {2, 12},     {PRESENCE_ROUTE_NONE, 13},
                                          {0, 14}, {2, 15}, {ROUTES, 16}};
    struct delivery_item item = {.kind = DELIVERY_ITEM_MOVE, .move = {.user = 7, .lat = 1, .lng = -2, .time = 3}}, got;
    for (int round = 0; round < 2; round++) {
        forget_sent(w);
        outbox_put_recipients(w->outbox, &item, recipients, ARRAY_SIZE(recipients), 5, 1);
        outbox_flush(w->outbox);
        assert_int_equal(w->count, 2);
        struct delivery_reader reader = open_batch(w, 0);
        assert_int_equal(w->sent[0].route, 2);
        assert_int_equal(delivery_reader_next(&reader, &got), 1);
        assert_int_equal(got.kind, DELIVERY_ITEM_MOVE);
        assert_int_equal(got.move.user, 7);
        assert_int_equal(got.move.lng, -2);
        assert_int_equal(got.move.recipients.count, 3);
        assert_int_equal(got.move.recipients.items[0], 10);
        assert_int_equal(got.move.recipients.items[1], 12);
        assert_int_equal(got.move.recipients.items[2], 15);
        expect_end(&reader);
        reader = open_batch(w, 1);
        assert_int_equal(delivery_reader_next(&reader, &got), 1);
        assert_int_equal(got.move.recipients.count, 2);
        assert_int_equal(got.move.recipients.items[1], 14);
        expect_end(&reader);
    }
}

static void test_a_large_roster_goes_whole(void **state) {
    struct world *w = *state;
    enum { FRIENDS = 5000 };
    struct roster_friend *friends = mem_zero(FRIENDS, sizeof *friends);
    for (int i = 0; i < FRIENDS; i++)
        friends[i] = (struct roster_friend){
            .user = INT64_MAX - i, .lat = -900000000, .lng = -1800000000, .time = PRESENCE_TIME_MAX};
    struct join_result result;
    join_result_init(&result);
    result.beaten_route = result.older_route = PRESENCE_ROUTE_NONE;
    result.user = 1;
    result.route = 0;
    result.session = 5;
    result.roster = result.complete = true;
    result.roster_friends = friends;
    result.roster_count = FRIENDS;
    put(w, 0, 1, 0, 1);
    assert_int_equal(outbox_put_result(w->outbox, &result, 9, 1), FRIENDS);
    put(w, 0, 2, 0, 1);
    outbox_flush(w->outbox);
    assert_int_equal(w->count, 3);
    assert_true(w->sent[1].size < 200000);
    struct delivery_item item;
    struct delivery_reader reader = open_batch(w, 1);
    assert_int_equal(delivery_reader_next(&reader, &item), 1);
    assert_int_equal(item.kind, DELIVERY_ITEM_ROSTER);
    assert_int_equal(item.roster.friends.count, FRIENDS);
    assert_true(item.roster.friends.items[FRIENDS - 1].user == INT64_MAX - (FRIENDS - 1));
    expect_end(&reader);
    free(friends);
}

static void test_what_a_join_found_in_order(void **state) {
    struct world *w = *state;
    struct join_recipient recipient = {0, 99};
    struct join_result result;
    join_result_init(&result);
    result.beaten_route = PRESENCE_ROUTE_NONE;
    result.older_route = 0;
    result.user = 1;
    result.session = 6;
    result.route = 0;
    result.self = result.digest = true;
    result.digest_hash = UINT64_MAX;
    result.recipients = &recipient;
    result.recipient_count = 1;
    outbox_put_result(w->outbox, &result, 9, 1);
    outbox_flush(w->outbox);
    assert_int_equal(w->count, 1);
    const enum delivery_item_kind wanted[] = {DELIVERY_ITEM_SUPERSEDED, DELIVERY_ITEM_MOVE, DELIVERY_ITEM_SELF,
                                              DELIVERY_ITEM_DIGEST};
    struct delivery_item item;
    struct delivery_reader reader = open_batch(w, 0);
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        assert_int_equal(delivery_reader_next(&reader, &item), 1);
        assert_int_equal(item.kind, wanted[i]);
    }
    assert_true((uint64_t)item.digest.hash == UINT64_MAX);
    expect_end(&reader);
}

static void test_a_beat_reaches_every_route(void **state) {
    struct world *w = *state;
    put(w, 1, 5, 0, 1);
    outbox_set_stream_time(w->outbox, 42);
    outbox_beat(w->outbox);
    assert_int_equal(w->count, ROUTES + 1);
    for (size_t i = 1; i < w->count; i++) {
        struct delivery_reader reader = open_batch(w, i);
        assert_int_equal(w->sent[i].route, (int)i - 1);
        assert_int_equal(reader.stream_time, 42);
        expect_end(&reader);
    }
}

static void test_a_full_sender_keeps_the_order(void **state) {
    struct world *w = *state;
    w->refuse = -EAGAIN;
    for (int i = 0; i < 100; i++) {
        put(w, i % 2, i, 0, 1);
        if (i % 10 == 9) outbox_flush(w->outbox);
    }
    assert_true(outbox_blocked(w->outbox));
    assert_false(outbox_retry(w->outbox));
    assert_true(outbox_bytes(w->outbox) > 0);
    w->refuse = 0;
    assert_true(outbox_retry(w->outbox));
    assert_false(outbox_blocked(w->outbox));
    assert_int_equal(w->count, 20);
    for (int route = 0; route < 2; route++) {
        int next = route;
        for (size_t i = 0; i < w->count; i++) {
            if (w->sent[i].route != route) continue;
            struct delivery_reader reader = open_batch(w, i);
            for (int k = 0; k < 5; k++, next += 2) expect_parted(&reader, next);
            expect_end(&reader);
        }
        assert_int_equal(next, 100 + route);
    }
}

static void test_epochs_settle_in_order(void **state) {
    struct world *w = *state;
    assert_int_equal(outbox_epoch(w->outbox), 1);
    put(w, 0, 1, 0, 1);
    assert_true(outbox_close_epoch(w->outbox)); // flushes
    assert_int_equal(w->sent[0].epoch, 1);
    put(w, 1, 2, 0, 1);
    assert_true(outbox_close_epoch(w->outbox));
    assert_true(outbox_close_epoch(w->outbox)); // an empty one
    assert_int_equal(outbox_settled(w->outbox), 1);
    outbox_acknowledge(w->outbox, 2);
    assert_int_equal(outbox_settled(w->outbox), 1);
    outbox_acknowledge(w->outbox, 1);
    assert_int_equal(outbox_settled(w->outbox), 4);
    assert_int_equal(outbox_epoch(w->outbox), 4);
}

static void test_what_waits_is_not_settled(void **state) {
    struct world *w = *state;
    w->refuse = -EAGAIN;
    put(w, 0, 1, 0, 1);
    assert_true(outbox_close_epoch(w->outbox));
    assert_int_equal(outbox_settled(w->outbox), 1);
    w->refuse = 0;
    assert_true(outbox_retry(w->outbox));
    assert_int_equal(outbox_settled(w->outbox), 1);
    outbox_acknowledge(w->outbox, 1);
    assert_int_equal(outbox_settled(w->outbox), 2);
    // What the sender will never take does not hold the epochs up.
    w->refuse = -EINVAL;
    put(w, 0, 1, 0, 1);
    assert_true(outbox_close_epoch(w->outbox));
    assert_int_equal(outbox_settled(w->outbox), 3);
}

static void test_forgetting(void **state) {
    struct world *w = *state;
    put(w, 0, 1, 0, 1);
    outbox_flush(w->outbox);
    outbox_forget(w->outbox);
    assert_int_equal(outbox_settled(w->outbox), outbox_epoch(w->outbox));
    outbox_acknowledge(w->outbox, 1); // of what is forgotten
    put(w, 0, 2, 0, 1);
    outbox_flush(w->outbox);
    uint64_t epoch = w->sent[w->count - 1].epoch;
    assert_true(outbox_close_epoch(w->outbox));
    assert_int_equal(outbox_settled(w->outbox), epoch);
    outbox_acknowledge(w->outbox, epoch);
    assert_int_equal(outbox_settled(w->outbox), epoch + 1);
}

static void test_too_many_epochs(void **state) {
    struct world *w = *state;
    for (int i = 0; i < OUTBOX_EPOCHS * 3; i++) {
        put(w, 0, i, 0, 1);
        outbox_close_epoch(w->outbox);
    }
    uint64_t open = outbox_epoch(w->outbox);
    assert_true(open <= OUTBOX_EPOCHS);
    outbox_flush(w->outbox);
    for (size_t i = 0; i < w->count; i++) outbox_acknowledge(w->outbox, w->sent[i].epoch);
    assert_int_equal(outbox_settled(w->outbox), open);
    assert_true(outbox_close_epoch(w->outbox));
    assert_int_equal(outbox_settled(w->outbox), open + 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_batch_a_route_in_order),
        TEST(test_age_and_size),
        TEST(test_age_may_change),
        TEST(test_recipients_are_gathered_by_route),
        TEST(test_a_large_roster_goes_whole),
        TEST(test_what_a_join_found_in_order),
        TEST(test_a_beat_reaches_every_route),
        TEST(test_a_full_sender_keeps_the_order),
        TEST(test_epochs_settle_in_order),
        TEST(test_what_waits_is_not_settled),
        TEST(test_forgetting),
        TEST(test_too_many_epochs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
