/* The results of joins, as an edge hears them: the outbox is the real one, and its sender keeps the last batch. */
#include "event/delivery.h"
#include "router/telling.h"
#include "unit/kit/kit.h"

enum { ROUTES = 3 };

struct world {
    struct deliver *outbox;
    struct epochs *epochs;
    struct deliver_reader *reader;
    struct codec *codec;
    struct join_result result;
    struct join_answer answers[2];
    struct buffer sent[ROUTES];
};

static int keep(void *context, int32_t route, const void *bytes, size_t size, uint64_t epoch) {
    struct world *w = context;
    buffer_clear(&w->sent[route]);
    buffer_append(&w->sent[route], bytes, size);
    return 0;
}

SET_UP() {
    struct world *w = kit_zero(sizeof *w);
    w->epochs = kit_epochs();
    w->reader = deliver_reader_new();
    w->codec = kit_codec();
    w->outbox = deliver_new(&(struct deliver_options){.destinations = ROUTES,
                                                      .flush_bytes = 65536,
                                                      .flush_us = 5000,
                                                      .epochs = w->epochs,
                                                      .context = w,
                                                      .send = keep});
    join_result_init(&w->result);
    w->result.user = 1;
    w->result.answers = w->answers;
    w->result.answers[0] = (struct join_answer){.session = 6, .route = 0};
    w->result.answer_count = 1;
    w->result.at = (struct geo_point){11, -12};
    w->result.time = 13;
    return w;
}

TEAR_DOWN(struct world *w) {
    deliver_free(w->outbox);
    deliver_reader_free(w->reader);
    for (int i = 0; i < ROUTES; i++) buffer_free(&w->sent[i]);
}

static void open_route(struct world *w, int32_t route) {
    struct deliver_head head;
    deliver_flush(w->outbox);
    assert_int_equal(deliver_reader_start(w->reader, w->sent[route].data, w->sent[route].size, &head, NULL), 0);
    assert_int_equal(head.oldest_received, 9);
}

/* The next item of the open batch, which is of that kind and for so many, the first of whom is `user`. */
static struct nearby_item expect(struct world *w, enum nearby_item_kind kind, size_t count, int64_t user) {
    struct deliver_envelope envelope;
    struct nearby_item item;
    assert_int_equal(deliver_reader_next(w->reader, &envelope), 1);
    assert_int_equal(envelope.kind, DELIVERY_NEARBY);
    assert_int_equal(envelope.recipient_count, count);
    assert_int_equal(envelope.recipients[0], user);
    assert_int_equal(delivery_read_nearby(w->codec, envelope.payload, envelope.payload_size, &item), 0);
    assert_int_equal(item.kind, kind);
    return item;
}

static void expect_end(struct world *w) {
    struct deliver_envelope envelope;
    assert_int_equal(deliver_reader_next(w->reader, &envelope), 0);
}

TEST(test_what_a_join_found_in_order, struct world *w) {
    struct deliver_recipient recipients[] = {{0, 99}, {2, 98}, {0, 97}};
    struct roster_friend friend = {.user = 99, .lat = 1, .lng = 2, .time = 3};
    w->result.answers[1] = (struct join_answer){.session = 7, .route = 1};
    w->result.answers[0].self = true;
    w->result.answer_count = 2;
    w->result.roster = w->result.digest = true;
    w->result.digest_count = 4;
    w->result.digest_hash = UINT64_MAX;
    w->result.recipients = recipients;
    w->result.recipient_count = 3;
    w->result.roster_friends = &friend;
    w->result.roster_count = 1;
    assert_int_equal(telling_result(w->outbox, &w->result, 9, 1), 4);

    open_route(w, 0);
    struct move move = expect(w, NEARBY_ITEM_MOVE, 2, 99).move;
    assert_true(move.user == 1 && move.lat == 11 && move.lng == -12 && move.time == 13);
    struct self self = expect(w, NEARBY_ITEM_SELF, 1, 1).self;
    assert_true(self.session == 6 && self.lat == 11 && self.lng == -12 && self.time == 13);
    struct roster roster = expect(w, NEARBY_ITEM_ROSTER, 1, 1).roster;
    assert_true(roster.session == 6 && !roster.complete && roster.friends.count == 1);
    assert_memory_equal(roster.friends.items, &friend, sizeof friend);
    struct digest digest = expect(w, NEARBY_ITEM_DIGEST, 1, 1).digest;
    assert_true(digest.session == 6 && digest.time == 13 && digest.count == 4 && digest.hash == -1);
    expect_end(w);
    open_route(w, 1);
    assert_int_equal(expect(w, NEARBY_ITEM_ROSTER, 1, 1).roster.session, 7);
    assert_int_equal(expect(w, NEARBY_ITEM_DIGEST, 1, 1).digest.session, 7);
    expect_end(w);
    open_route(w, 2);
    expect(w, NEARBY_ITEM_MOVE, 1, 98);
    expect_end(w);
}

TEST(test_who_leaves, struct world *w) {
    struct deliver_recipient recipients[] = {{1, 99}, {1, 98}};
    w->result.left = true;
    w->result.answer_count = 0;
    w->result.recipients = recipients;
    w->result.recipient_count = 2;
    assert_int_equal(telling_result(w->outbox, &w->result, 9, 1), 2);
    open_route(w, 1);
    assert_int_equal(expect(w, NEARBY_ITEM_LEFT, 2, 99).left.user, 1);
    expect_end(w);
}

TEST(test_a_large_roster_goes_whole, struct world *w) {
    enum { FRIENDS = 5000 };
    FREED struct roster_friend *friends = mem_zero(FRIENDS, sizeof *friends);
    for (int i = 0; i < FRIENDS; i++)
        friends[i] = (struct roster_friend){
            .user = INT64_MAX - i, .lat = -900000000, .lng = -1800000000, .time = PRESENCE_TIME_MAX};
    w->result.roster = w->result.complete = true;
    w->result.roster_friends = friends;
    w->result.roster_count = FRIENDS;
    assert_int_equal(telling_result(w->outbox, &w->result, 9, 1), FRIENDS);
    open_route(w, 0);
    assert_true(w->sent[0].size < 200000);
    struct roster roster = expect(w, NEARBY_ITEM_ROSTER, 1, 1).roster;
    assert_true(roster.complete && roster.friends.count == FRIENDS);
    assert_true(roster.friends.items[FRIENDS - 1].user == INT64_MAX - (FRIENDS - 1));
    expect_end(w);
}

TEST(test_who_parts, struct world *w) {
    struct deliver_head head;
    telling_parted(w->outbox, (int32_t[]){2, 0}, 2, 5, 6, 1);
    deliver_flush(w->outbox);
    assert_int_equal(deliver_reader_start(w->reader, w->sent[2].data, w->sent[2].size, &head, NULL), 0);
    assert_int_equal(head.oldest_received, 0);
    assert_int_equal(expect(w, NEARBY_ITEM_PARTED, 1, 5).parted.friend, 6);
    expect_end(w);
    assert_int_equal(deliver_reader_start(w->reader, w->sent[0].data, w->sent[0].size, &head, NULL), 0);
    assert_int_equal(expect(w, NEARBY_ITEM_PARTED, 1, 5).parted.friend, 6);
    expect_end(w);
}
