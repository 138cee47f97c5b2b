/* DeliveryBatch: written in parts, read item by item. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "event_samples.h"

static const int64_t recipients[] = {5, INT64_MAX, 0};
static const struct roster_friend roster_friends[] = {{.user = 7, .lat = 1, .lng = -1, .time = 1000},
                                                      {.user = 8, .lat = INT32_MIN, .lng = INT32_MAX, .time = 0}};
static const struct delivery_item items[] = {
    {.kind = DELIVERY_ITEM_MOVE,
     .move = {.user = 1, .lat = 2, .lng = 3, .time = 4, .recipients = {.items = recipients, .count = 3}}},
    {.kind = DELIVERY_ITEM_ROSTER,
     .roster = {.recipient = 1, .session = 2, .complete = true, .friends = {.items = roster_friends, .count = 2}}},
    {.kind = DELIVERY_ITEM_ROSTER,
     .roster = {.recipient = 1, .session = 2, .complete = false, .friends = {.count = 0}}},
    {.kind = DELIVERY_ITEM_DIGEST, .digest = {.recipient = 1, .session = 2, .time = 3, .count = 4, .hash = INT64_MIN}},
    {.kind = DELIVERY_ITEM_SELF, .self = {.recipient = 1, .session = 2, .lat = 3, .lng = 4, .time = 5}},
    {.kind = DELIVERY_ITEM_LEFT, .left = {.user = 9, .recipients = {.items = recipients, .count = 1}}},
    {.kind = DELIVERY_ITEM_PARTED, .parted = {.recipient = 1, .friend = 2}},
    {.kind = DELIVERY_ITEM_SUPERSEDED, .superseded = {.user = 1, .session = 2}},
};
enum { ITEMS = sizeof items / sizeof items[0] };

static void append_item(struct buffer *out, const struct delivery_item *item) {
    uint8_t *start = buffer_reserve(out, delivery_item_size_max(item)), *end = delivery_item_write(start, item);
    assert_true((size_t)(end - start) <= delivery_item_size_max(item));
    buffer_commit(out, (size_t)(end - start));
}

/* A batch as a router makes it: items first, then the head in front of them, then the end. */
static void make_batch(struct buffer *out, const struct delivery_item *from, size_t count) {
    struct buffer outbox = {.data = NULL};
    buffer_commit(&outbox, (size_t)(buffer_reserve(&outbox, DELIVERY_HEAD_MAX) - outbox.data) + DELIVERY_HEAD_MAX);
    for (size_t i = 0; i < count; i++) append_item(&outbox, &from[i]);
    buffer_byte(&outbox, 0);
    uint8_t *start = delivery_head_write_before(outbox.data + DELIVERY_HEAD_MAX, 111, 222, count);
    assert_true(start >= outbox.data);
    buffer_append(out, start, outbox.size - (size_t)(start - outbox.data));
    buffer_free(&outbox);
}

static void test_every_kind_of_item_comes_back(void **state) {
    struct codec *codec = codec_new();
    struct buffer batch = {.data = NULL};
    struct delivery_reader reader;
    struct delivery_item item;
    make_batch(&batch, items, ITEMS);
    assert_int_equal(delivery_reader_start(&reader, codec, batch.data, batch.size, NULL), 0);
    assert_int_equal(reader.stream_time, 111);
    assert_int_equal(reader.oldest_received, 222);
    for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(delivery_reader_next(&reader, &item), 1);
        assert_int_equal(item.kind, items[i].kind);
        struct buffer expected = {.data = NULL}, got = {.data = NULL};
        append_item(&expected, &items[i]);
        append_item(&got, &item);
        assert_int_equal(got.size, expected.size);
        assert_memory_equal(got.data, expected.data, expected.size);
        buffer_free(&expected);
        buffer_free(&got);
        if (i == 0) assert_memory_equal(item.move.recipients.items, recipients, sizeof recipients);
        if (i == 1) assert_int_equal(item.roster.friends.items[1].lng, INT32_MAX);
    }
    assert_int_equal(delivery_reader_next(&reader, &item), 0);
    assert_int_equal(delivery_reader_next(&reader, &item), 0);
    buffer_free(&batch);
    codec_free(codec);
}

static void test_avro_c_reads_what_is_written_in_parts(void **state) {
    struct samples *samples = samples_new(event_schema_find(DELIVERY_BATCH_SCHEMA_ID), 0);
    for (size_t count = 0; count <= ITEMS; count++) {
        struct buffer batch = {.data = NULL}, theirs = {.data = NULL};
        make_batch(&batch, items, count);
        assert_true(samples_parse(samples, batch.data + EVENT_HEADER_SIZE, batch.size - EVENT_HEADER_SIZE, &theirs));
        assert_int_equal(theirs.size, batch.size - EVENT_HEADER_SIZE);
        assert_memory_equal(theirs.data, batch.data + EVENT_HEADER_SIZE, theirs.size);
        buffer_free(&batch);
        buffer_free(&theirs);
    }
    samples_free(samples);
}

static void test_recipients_apart_are_the_same_bytes(void **state) {
    const int64_t users[] = {INT64_MAX, 0, INT64_MIN};
    for (size_t count = 0; count <= 3; count++) {
        const struct event_longs told = {.items = users, .count = count};
        const struct delivery_item whole[] = {
            {.kind = DELIVERY_ITEM_MOVE, .move = {INT64_MIN, INT32_MIN, INT32_MAX, INT64_MAX, told}},
            {.kind = DELIVERY_ITEM_LEFT, .left = {INT64_MAX, told}},
        };
        for (int i = 0; i < 2; i++) {
            struct buffer expected = {.data = NULL};
            append_item(&expected, &whole[i]);
            uint8_t *lead = mem_alloc(DELIVERY_LEAD_MAX), *rest = mem_alloc(delivery_recipients_max(count));
            size_t lead_size = (size_t)(delivery_lead_write(lead, &whole[i]) - lead);
            size_t rest_size = (size_t)(delivery_recipients_write(rest, users, count) - rest);
            assert_int_equal(lead_size + rest_size, expected.size);
            assert_memory_equal(lead, expected.data, lead_size);
            assert_memory_equal(rest, expected.data + lead_size, rest_size);
            buffer_free(&expected);
            free(lead);
            free(rest);
        }
    }
}

static void test_an_empty_batch_has_no_items(void **state) {
    struct codec *codec = codec_new();
    struct buffer batch = {.data = NULL};
    struct delivery_reader reader;
    struct delivery_item item;
    make_batch(&batch, NULL, 0);
    assert_int_equal(delivery_reader_start(&reader, codec, batch.data, batch.size, NULL), 0);
    assert_int_equal(delivery_reader_next(&reader, &item), 0);
    buffer_free(&batch);
    codec_free(codec);
}

static void test_the_largest_head_fits(void **state) {
    uint8_t head[DELIVERY_HEAD_MAX];
    uint8_t *start = delivery_head_write_before(head + sizeof head, INT64_MIN, INT64_MAX, INT64_MAX);
    assert_ptr_equal(start, head);
}

/* Reads a batch whose items' bytes are given: how many items there were, or the error. */
static int read_items(const char *bytes, size_t size) {
    struct codec *codec = codec_new();
    struct delivery_reader reader;
    struct delivery_item item;
    uint8_t *value = mem_alloc(EVENT_HEADER_SIZE + 2 + size);
    event_header_write(value, EVENT_DELIVERY_BATCH);
    memcpy(value + EVENT_HEADER_SIZE, "\2\4", 2);
    memcpy(value + EVENT_HEADER_SIZE + 2, bytes, size);
    assert_int_equal(delivery_reader_start(&reader, codec, value, EVENT_HEADER_SIZE + 2 + size, NULL), 0);
    int count = 0, rc;
    while ((rc = delivery_reader_next(&reader, &item)) == 1) {
        assert_int_equal(item.kind, DELIVERY_ITEM_PARTED);
        assert_int_equal(item.parted.recipient, ++count);
    }
    assert_int_equal(delivery_reader_next(&reader, &item), rc);
    free(value);
    codec_free(codec);
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
}

static void test_recipients_in_blocks(void **state) {
    /* Move {1, 2, 3, 4} to 1, 2 | 3, with its size | 4, 5, 6 | 7 to 70 */
    struct buffer bytes = {.data = NULL};
    struct codec *codec = codec_new();
    struct move move;
    struct delivery_item item;
    buffer_append(&bytes, "\0\2\4\6\10\4\2\4\1\2\6\6\10\12\14\200\1", 17);
    for (int64_t user = 7; user <= 70; user++) {
        uint8_t *at = buffer_reserve(&bytes, VARINT_MAX);
        buffer_commit(&bytes, (size_t)(varint_put(at, zigzag(user)) - at));
    }
    buffer_byte(&bytes, 0);
    const uint8_t *end = bytes.data + bytes.size;
    assert_ptr_equal(delivery_item_read(bytes.data, end, &item, codec), end);
    move = item.move;
    assert_int_equal(move.recipients.count, 70);
    for (int i = 0; i < 70; i++) assert_int_equal(move.recipients.items[i], i + 1);
    buffer_free(&bytes);
    codec_free(codec);
}

/* Counts that the bytes cannot hold must not decide how much memory is taken. */
static void test_counts_are_not_believed(void **state) {
    struct codec *codec = codec_new();
    struct delivery_item item;
    static const char *const malformed[] = {
        "\0\2\2\2\2\376\377\377\377\377\377\377\377\377\1", /* Move to 2^63-1 recipients */
        "\0\2\2\2\2\6\2\2",                                 /* to three, of whom two are there */
        "\0\2\2\2\2\376\377\377\377\17\2\2\2\2",            /* to 2^31-1 */
        "\2\2\2\1\376\377\377\377\17\2\2\2\2",              /* Roster of 2^31-1 */
        "\2\2\2\1\4\2\2\2\2\2\2\2",                         /* of two in seven bytes, and each takes four */
    };
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        size_t size = strlen(malformed[i]) == 0 ? 1 + strlen(malformed[i] + 1) : strlen(malformed[i]);
        uint8_t *copy = mem_alloc(size);
        memcpy(copy, malformed[i], size);
        assert_null(delivery_item_read(copy, copy + size, &item, codec));
        free(copy);
    }
    codec_free(codec);
}

static void test_large_arrays_after_small_ones(void **state) {
    static int64_t many[100000];
    struct codec *codec = codec_new();
    struct buffer batch = {.data = NULL};
    struct delivery_reader reader;
    struct delivery_item item, sent[6];
    for (int64_t i = 0; i < 100000; i++) many[i] = i * i * i;
    for (int i = 0; i < 6; i++)
        sent[i] =
            (struct delivery_item){.kind = DELIVERY_ITEM_LEFT,
                                   .left = {.user = i, .recipients = {.items = many, .count = i % 2 ? 3 : 100000}}};
    make_batch(&batch, sent, 6);
    assert_int_equal(delivery_reader_start(&reader, codec, batch.data, batch.size, NULL), 0);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(delivery_reader_next(&reader, &item), 1);
        assert_int_equal(item.left.recipients.count, sent[i].left.recipients.count);
        assert_memory_equal(item.left.recipients.items, many, item.left.recipients.count * sizeof many[0]);
    }
    assert_int_equal(delivery_reader_next(&reader, &item), 0);
    buffer_free(&batch);
    codec_free(codec);
}

static void test_what_is_no_batch_is_refused(void **state) {
    struct codec *codec = codec_new();
    struct delivery_reader reader;
    struct error error;
    assert_int_equal(delivery_reader_start(&reader, codec, "\1\0\0\0\6\0\0\0", 8, &error), -EBADMSG);
    assert_int_equal(delivery_reader_start(&reader, codec, "\0\0\0\0\1\0\0\0", 8, &error), -ENOENT);
    assert_string_equal(error.text, "schema id 1 is a location, not a delivery-batch");
    assert_int_equal(delivery_reader_start(&reader, codec, "\0\0\0\0\6\0\200", 7, &error), -EBADMSG);
    assert_string_equal(error.text, "malformed delivery-batch of 7 bytes");
    codec_free(codec);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_of_item_comes_back),
        cmocka_unit_test(test_avro_c_reads_what_is_written_in_parts),
        cmocka_unit_test(test_recipients_apart_are_the_same_bytes),
        cmocka_unit_test(test_an_empty_batch_has_no_items),
        cmocka_unit_test(test_the_largest_head_fits),
        cmocka_unit_test(test_blocks_of_items),
        cmocka_unit_test(test_recipients_in_blocks),
        cmocka_unit_test(test_counts_are_not_believed),
        cmocka_unit_test(test_large_arrays_after_small_ones),
        cmocka_unit_test(test_what_is_no_batch_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
