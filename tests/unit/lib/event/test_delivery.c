/* nearby-items and timeline-items, and the DeliveryBatches of version 1 that held them before there were envelopes. */
#include "event/delivery.h"
#include "unit/kit/kit.h"
#include "unit/lib/event/samples.h"

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
    {.kind = NEARBY_ITEM_DETAILED_MOVE,
     .detailed_move = {.user = 1, .lat = 2, .lng = 3, .time = 4, .accuracy = 5, .battery = 6, .activity = -1}},
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

SET_UP() { return codec_new(); }
TEAR_DOWN(struct codec *codec) { codec_free(codec); }

TEST(test_every_kind_of_item_comes_back, struct codec *codec) {
    FREED_BUFFER expected = {.data = NULL}, got = {.data = NULL};
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

TEST(test_every_kind_of_timeline_item_comes_back, struct codec *codec) {
    FREED_BUFFER expected = {.data = NULL}, got = {.data = NULL};
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
}

/* Counts that the bytes cannot hold must not decide how much memory is taken. */
TEST(test_counts_are_not_believed) {
    static const char *const malformed[] = {
        "\2\2\1\376\377\377\377\17\2\2\2\2", /* Roster of 2^31-1 */
        "\2\2\1\4\2\2\2\2\2\2\2",            /* of two in seven bytes, and each takes four */
        "\16\2",                             /* branch 7 */
        "\15\2",                             /* branch -7 */
    };
    struct codec *codec = kit_codec();
    struct nearby_item item;
    for (size_t i = 0; i < ARRAY_SIZE(malformed); i++) {
        size_t size = strlen(malformed[i]);
        FREED uint8_t *copy = mem_alloc(size);
        memcpy(copy, malformed[i], size);
        assert_int_equal(delivery_read_nearby(codec, copy, size, &item), -EBADMSG);
    }
}
