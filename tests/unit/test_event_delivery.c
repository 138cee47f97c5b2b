/* nearby-items and timeline-items, and the DeliveryBatches of version 1 that held them before there were envelopes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "base/config.h"
#include "base/mem.h"
#include "event/delivery.h"
#include "event_samples.h"

static const struct roster_friend roster_friends[] = {{.user = 7, .lat = 1, .lng = -1, .time = 1000},
                                                      {.user = 8, .lat = -900000000, .lng = 1800000000, .time = 0}};
static const struct nearby_item items[] = {
    {.kind = NEARBY_ITEM_MOVE, .move = {.user = 1, .lat = 2, .lng = 3, .time = 4}},
    {.kind = NEARBY_ITEM_ROSTER,
     .roster = {.session = 2, .complete = true, .friends = {.items = roster_friends, .count = 2}}},
    {.kind = NEARBY_ITEM_ROSTER, .roster = {.session = 2, .complete = false, .friends = {.count = 0}}},
    {.kind = NEARBY_ITEM_DIGEST, .digest = {.session = 2, .time = 3, .count = 4, .hash = INT64_MIN}},
    {.kind = NEARBY_ITEM_SELF, .self = {.session = 2, .lat = 3, .lng = 4, .time = 5}},
    {.kind = NEARBY_ITEM_LEFT, .left = {.user = 9}},
    {.kind = NEARBY_ITEM_PARTED, .parted = {.friend = 2}},
    {.kind = NEARBY_ITEM_SUPERSEDED, .superseded = {.session = INT64_MAX}},
    {.kind = NEARBY_ITEM_ROUNDED_MOVE, .rounded_move = {.user = 1, .lat = 2, .lng = 3, .time = 4}},
    {.kind = NEARBY_ITEM_ROUNDED_ROSTER,
     .rounded_roster = {.session = 2,
                        .complete = true,
                        .friends = {.items = roster_friends, .count = 2},
                        .rounded = {.items = (const int64_t[]){8}, .count = 1}}},
};

static void append_item(struct buffer *out, const struct nearby_item *item) {
    uint8_t *start = buffer_reserve(out, nearby_item_size_max(item)), *end = nearby_item_write(start, item);
    assert_true((size_t)(end - start) <= nearby_item_size_max(item));
    buffer_commit(out, (size_t)(end - start));
}

static void test_every_kind_of_item_comes_back(void **state) {
    struct codec *codec = codec_new();
    struct buffer expected = {.data = NULL}, got = {.data = NULL};
    struct nearby_item item;
    for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
        buffer_clear(&expected);
        buffer_clear(&got);
        append_item(&expected, &items[i]);
        assert_int_equal(delivery_read_nearby(codec, expected.data, expected.size, &item), 0);
        assert_int_equal(item.kind, items[i].kind);
        append_item(&got, &item);
        assert_int_equal(got.size, expected.size);
        assert_memory_equal(got.data, expected.data, expected.size);
        if (i == 1) assert_int_equal(item.roster.friends.items[1].lng, 1800000000);
        for (size_t size = 0; size < expected.size; size++)
            assert_int_equal(delivery_read_nearby(codec, expected.data, size, &item), -EBADMSG);
        buffer_byte(&expected, 0);
        assert_int_equal(delivery_read_nearby(codec, expected.data, expected.size, &item), -EBADMSG);
    }
    buffer_free(&expected);
    buffer_free(&got);
    codec_free(codec);
}

static const int64_t longs[] = {INT64_MAX, 5, 0};
static const int64_t partitions[] = {INT32_MAX, 5, 0};
static const struct post_ref refs[] = {{.author = 8, .id = 907}, {.author = INT64_MAX, .id = 1}};
static const struct timeline_item timeline_items[] = {
    {.kind = TIMELINE_ITEM_PUSH, .push = {.author = 8, .id = 907}},
    {.kind = TIMELINE_ITEM_BACKLOG, .backlog = {.author = 8, .ids = {longs, 3}, .cut = 4}},
    {.kind = TIMELINE_ITEM_BACKLOG, .backlog = {.author = 8, .ids = {NULL, 0}, .cut = 0}},
    {.kind = TIMELINE_ITEM_BEGIN, .begin = {.wanted = {partitions, 3}}},
    {.kind = TIMELINE_ITEM_REQUEST, .request = {.reader = 7, .request = -1}},
    {.kind = TIMELINE_ITEM_ANSWER, .answer = {.request = 6, .partition = 1023, .posts = {refs, 2}, .cut = 5}},
    {.kind = TIMELINE_ITEM_HOT, .hot = {.id = INT64_MAX}},
    {.kind = TIMELINE_ITEM_GONE, .gone = {.author = 7, .id = 907}},
    {.kind = TIMELINE_ITEM_HOT_GONE, .hot_gone = {.id = 907}},
};

static void append_timeline(struct buffer *out, const struct timeline_item *item) {
    uint8_t *start = buffer_reserve(out, timeline_item_size_max(item)), *end = timeline_item_write(start, item);
    assert_true((size_t)(end - start) <= timeline_item_size_max(item));
    buffer_commit(out, (size_t)(end - start));
}

static void test_every_kind_of_timeline_item_comes_back(void **state) {
    struct codec *codec = codec_new();
    struct buffer expected = {.data = NULL}, got = {.data = NULL};
    struct timeline_item item;
    for (size_t i = 0; i < ARRAY_SIZE(timeline_items); i++) {
        buffer_clear(&expected);
        buffer_clear(&got);
        append_timeline(&expected, &timeline_items[i]);
        assert_int_equal(delivery_read_timeline(codec, expected.data, expected.size, &item), 0);
        assert_int_equal(item.kind, timeline_items[i].kind);
        append_timeline(&got, &item);
        assert_int_equal(got.size, expected.size);
        assert_memory_equal(got.data, expected.data, expected.size);
        if (item.kind == TIMELINE_ITEM_ANSWER) assert_true(item.answer.posts.items[1].author == INT64_MAX);
        for (size_t size = 0; size < expected.size; size++)
            assert_int_equal(delivery_read_timeline(codec, expected.data, size, &item), -EBADMSG);
        buffer_byte(&expected, 0);
        assert_int_equal(delivery_read_timeline(codec, expected.data, expected.size, &item), -EBADMSG);
    }
    assert_int_equal(delivery_read_timeline(codec, "\20\2", 2, &item), -EBADMSG); /* branch 8 */
    buffer_free(&expected);
    buffer_free(&got);
    codec_free(codec);
}

/* Counts that the bytes cannot hold must not decide how much memory is taken. */
static void test_counts_are_not_believed(void **state) {
    static const char *const malformed[] = {
        "\2\2\1\376\377\377\377\17\2\2\2\2", /* Roster of 2^31-1 */
        "\2\2\1\4\2\2\2\2\2\2\2",            /* of two in seven bytes, and each takes four */
        "\16\2",                             /* branch 7 */
        "\15\2",                             /* branch -7 */
    };
    struct codec *codec = codec_new();
    struct nearby_item item;
    for (size_t i = 0; i < ARRAY_SIZE(malformed); i++) {
        size_t size = strlen(malformed[i]);
        uint8_t *copy = mem_alloc(size);
        memcpy(copy, malformed[i], size);
        assert_int_equal(delivery_read_nearby(codec, copy, size, &item), -EBADMSG);
        free(copy);
    }
    codec_free(codec);
}

/* ---- version 1 ---- */

static int start_v1(struct delivery_v1 *reader, const void *value, size_t size) {
    int64_t stream_time = -1, oldest_received = -1;
    int rc = delivery_v1_start(reader, value, size, &stream_time, &oldest_received, NULL);
    assert_int_equal(stream_time, rc ? -1 : 1);
    assert_int_equal(oldest_received, rc ? -1 : 2);
    return rc;
}

/* The next item is that one, for so many, the first of whom is `user`: read by another codec, as the edge does. */
static void expect(struct delivery_v1 *reader, struct codec *codec, size_t count, int64_t user,
                   const struct nearby_item *wanted) {
    struct delivery_v1_item given;
    struct nearby_item item;
    struct buffer expected = {.data = NULL};
    append_item(&expected, wanted);
    assert_int_equal(delivery_v1_next(reader, &given), 1);
    assert_int_equal(given.payload.size, expected.size);
    assert_memory_equal(given.payload.data, expected.data, expected.size);
    assert_int_equal(delivery_read_nearby(codec, given.payload.data, given.payload.size, &item), 0);
    assert_int_equal(item.kind, wanted->kind);
    assert_int_equal(given.recipients.count, count); // still there
    assert_int_equal(given.recipients.items[0], user);
    assert_memory_equal(given.payload.data, expected.data, expected.size);
    buffer_free(&expected);
}

static void test_items_of_version_1_become_envelopes(void **state) {
    static const uint8_t BATCH[] = {0,  0,  0, 0,  6, 2,  4,                // stream_time 1, oldest_received 2
                                    6,                                      // three items
                                    0,  2,  4, 6,  8, 4,  20, 22, 2, 24, 0, // Move {1, 2, 3, 4} to 10 and 11 | 12
                                    2,  26, 4, 1,  2, 2,  4,  6,  8, 0,     // Roster to 13 {2, true, [{1, 2, 3, 4}]}
                                    4,  28, 4, 6,  8, 1,                    // Digest to 14 {2, 3, 4, -1}
                                    7,  34,                                 // four more, in 17 bytes
                                    6,  30, 4, 6,  8, 10,                   // Self to 15 {2, 3, 4, 5}
                                    8,  18, 2, 32, 0,                       // Left {9} to 16
                                    10, 34, 4,                              // Parted 17 from 2
                                    12, 36, 6,                              // Superseded 18 by 3
                                    0};
    static const struct roster_friend one = {.user = 1, .lat = 2, .lng = 3, .time = 4};
    const struct nearby_item wanted[] = {
        {.kind = NEARBY_ITEM_MOVE, .move = {.user = 1, .lat = 2, .lng = 3, .time = 4}},
        {.kind = NEARBY_ITEM_ROSTER, .roster = {.session = 2, .complete = true, .friends = {&one, 1}}},
        {.kind = NEARBY_ITEM_DIGEST, .digest = {.session = 2, .time = 3, .count = 4, .hash = -1}},
        {.kind = NEARBY_ITEM_SELF, .self = {.session = 2, .lat = 3, .lng = 4, .time = 5}},
        {.kind = NEARBY_ITEM_LEFT, .left = {.user = 9}},
        {.kind = NEARBY_ITEM_PARTED, .parted = {.friend = 2}},
        {.kind = NEARBY_ITEM_SUPERSEDED, .superseded = {.session = 3}},
    };
    static const int64_t first[] = {10, 13, 14, 15, 16, 17, 18};
    struct delivery_v1 *reader = delivery_v1_new();
    struct codec *codec = codec_new();
    struct delivery_v1_item given;
    for (int round = 0; round < 2; round++) {
        assert_int_equal(start_v1(reader, BATCH, sizeof BATCH), 0);
        for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) expect(reader, codec, i ? 1 : 3, first[i], &wanted[i]);
        assert_int_equal(delivery_v1_next(reader, &given), 0);
        assert_int_equal(delivery_v1_next(reader, &given), 0);
    }
    codec_free(codec);
    delivery_v1_free(reader);
}

/* Reads a batch of Parted whose items' bytes are given, in memory of exactly their size: how many items there were, or the
 * error. */
static int read_items(const char *bytes, size_t size) {
    struct delivery_v1 *reader = delivery_v1_new();
    struct delivery_v1_item item;
    uint8_t *value = mem_alloc(7 + size);
    memcpy(value, "\0\0\0\0\6\2\4", 7);
    memcpy(value + 7, bytes, size);
    assert_int_equal(start_v1(reader, value, 7 + size), 0);
    int count = 0, rc;
    while ((rc = delivery_v1_next(reader, &item)) == 1) assert_int_equal(item.recipients.items[0], ++count);
    assert_int_equal(delivery_v1_next(reader, &item), rc);
    free(value);
    delivery_v1_free(reader);
    return rc == 0 ? count : rc;
}

#define READ_ITEMS(LITERAL) read_items(LITERAL, sizeof LITERAL - 1)

static void test_blocks_of_items(void **state) {
    assert_int_equal(READ_ITEMS("\4\12\2\0\12\4\0\2\12\6\0\0"), 3);      /* two and one */
    assert_int_equal(READ_ITEMS("\3\14\12\2\0\12\4\0\1\6\12\6\0\0"), 3); /* the same with their sizes */
    assert_int_equal(READ_ITEMS("\4\12\2\0\12\4\0\2\12\6\0"), -EBADMSG); /* no end */
    assert_int_equal(READ_ITEMS("\4\12\2\0\12\4\0\2\12\6"), -EBADMSG);   /* cut within an item */
    assert_int_equal(READ_ITEMS("\4\12\2\0\0"), -EBADMSG);               /* two are said, one is there */
    assert_int_equal(READ_ITEMS("\2\12\2\0\0\0"), -EBADMSG);             /* a byte left over */
    assert_int_equal(READ_ITEMS("\2\16\2\0\0"), -EBADMSG);               /* branch 7 */
    assert_int_equal(READ_ITEMS("\2\15\2\0\0"), -EBADMSG);               /* branch -7 */
    assert_int_equal(READ_ITEMS("\3\15\12\2\0\12\4\0\0"), -EBADMSG);     /* a block of -7 bytes */
    assert_int_equal(READ_ITEMS("\3\20\12\2\0\12\4\0\0"), -EBADMSG);     /* a block of 8 bytes, 7 are left */
    assert_int_equal(READ_ITEMS("\377\377\377\377\377\377\377\377\377\1\0"), -EBADMSG);        /* count -2^63 */
    assert_int_equal(READ_ITEMS("\376\377\377\377\377\377\377\377\377\1\12\2\0\0"), -EBADMSG); /* count 2^63-1 */
    assert_int_equal(READ_ITEMS(""), -EBADMSG);
    assert_int_equal(READ_ITEMS("\2\0\2\2\2\2\376\377\377\377\377\377\377\377\377\1"),
                     -EBADMSG);                                   /* Move to 2^63-1 recipients */
    assert_int_equal(READ_ITEMS("\2\0\2\2\2\2\6\2\2"), -EBADMSG); /* to three, of whom two are there */
    assert_int_equal(READ_ITEMS("\2\0\2\2\2\2\376\377\377\377\17\2\2\2\2"), -EBADMSG); /* to 2^31-1 */
    assert_int_equal(READ_ITEMS("\2\2\2\2\1\376\377\377\377\17\2\2\2\2"), -EBADMSG);   /* Roster of 2^31-1 */
}

static void test_many_recipients_after_few(void **state) {
    struct buffer batch = {.data = NULL};
    struct delivery_v1 *reader = delivery_v1_new();
    struct delivery_v1_item item;
    buffer_append(&batch, "\0\0\0\0\6\2\4\4\10\22\2\4\0\10\22", 15); // Left {9} to 2; Left {9} to ...
    for (int user = 0; user < 20000; user++) buffer_append(&batch, user % 2 ? "\1\2\14" : "\2\12", user % 2 ? 3 : 2);
    buffer_append(&batch, "\0\0", 2);
    assert_int_equal(start_v1(reader, batch.data, batch.size), 0);
    assert_int_equal(delivery_v1_next(reader, &item), 1);
    assert_int_equal(item.recipients.count, 1);
    assert_int_equal(delivery_v1_next(reader, &item), 1);
    assert_int_equal(item.recipients.count, 20000); // each in a block of its own
    for (int user = 0; user < 20000; user++) assert_int_equal(item.recipients.items[user], user % 2 ? 6 : 5);
    assert_int_equal(delivery_v1_next(reader, &item), 0);
    buffer_free(&batch);
    delivery_v1_free(reader);
}

static void test_what_is_no_batch_is_refused(void **state) {
    struct delivery_v1 *reader = delivery_v1_new();
    struct error error;
    int64_t a, b;
    assert_int_equal(DELIVERY_BATCH_V1_SCHEMA_ID, 6);
    assert_string_equal(event_schema_find(DELIVERY_BATCH_V1_SCHEMA_ID)->record, "delivery-batch");
    assert_int_equal(delivery_v1_start(reader, "\1\0\0\0\6\0\0\0", 8, &a, &b, &error), -EBADMSG);
    assert_int_equal(delivery_v1_start(reader, "\0\0\0\0\1\0\0\0", 8, &a, &b, &error), -ENOENT);
    assert_string_equal(error.text, "schema id 1 is a location, not a delivery-batch 1");
    assert_int_equal(delivery_v1_start(reader, "\0\0\0\0\6\0\200", 7, &a, &b, &error), -EBADMSG);
    assert_string_equal(error.text, "malformed delivery-batch of 7 bytes");
    delivery_v1_free(reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_of_item_comes_back),
        cmocka_unit_test(test_every_kind_of_timeline_item_comes_back),
        cmocka_unit_test(test_counts_are_not_believed),
        cmocka_unit_test(test_items_of_version_1_become_envelopes),
        cmocka_unit_test(test_blocks_of_items),
        cmocka_unit_test(test_many_recipients_after_few),
        cmocka_unit_test(test_what_is_no_batch_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
