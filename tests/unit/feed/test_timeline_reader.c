/* Batches between feed processes of which some items cannot be read. */
#include "event/delivery.h"
#include "feed/timeline_reader.h"
#include "unit/kit/kit.h"

enum { ITEMS = 4 };

/* A batch of Gone 1, 2, 3 and 4. */
struct batch {
    uint8_t bytes[1024];
    uint8_t *at;
    const uint8_t *head;
};

static void put(struct batch *batch, int32_t kind, const void *payload, size_t size) {
    const int64_t reader = 7;
    const struct deliver_envelope envelope = {
        .kind = kind, .recipients = &reader, .recipient_count = 1, .payload = payload, .payload_size = size};
    batch->at = deliver_envelope_write(batch->at, &envelope);
}

/* broken: the item that cannot be read; 0: none. */
static void make(struct batch *batch, int64_t broken) {
    batch->at = batch->bytes + DELIVER_HEAD_MAX;
    put(batch, DELIVERY_TIMELINE + 1, "something else", 14);
    for (int64_t id = 1; id <= ITEMS; id++) {
        const struct timeline_item item = {.kind = TIMELINE_ITEM_GONE, .gone = {.author = 5, .id = id}};
        uint8_t payload[64];
        size_t size = (size_t)(timeline_item_write(payload, &item) - payload);
        if (id == broken) memset(payload, 0xff, size);
        put(batch, DELIVERY_TIMELINE, payload, size);
    }
    *batch->at++ = 0;
    batch->head = deliver_head_write_before(batch->bytes + DELIVER_HEAD_MAX, 1, 1, 1 + ITEMS);
}

struct seen {
    int64_t ids[ITEMS];
    size_t count, most; /* most: then a failure */
};

static int see(void *context, const struct kafka_record *record, const struct deliver_envelope *envelope,
               const struct timeline_item *item, struct error *error) {
    struct seen *seen = context;
    assert_true(record->offset == 9 && envelope->recipient_count == 1 && envelope->recipients[0] == 7);
    assert_int_equal(item->kind, TIMELINE_ITEM_GONE);
    if (seen->count == seen->most) return error_set(error, -EIO, "no more");
    seen->ids[seen->count++] = item->gone.id;
    return 0;
}

static int read_batch(const struct batch *batch, size_t size, struct seen *seen, const char **unread) {
    struct timeline_reader *reader = timeline_reader_new(NULL);
    const struct kafka_record record = {.offset = 9, .value = batch->head, .value_size = size};
    struct error error;
    int code = timeline_reader_each(reader, &record, see, seen, unread, &error);
    if (*unread == error.text) *unread = "the head";
    timeline_reader_free(reader);
    return code;
}

TEST(the_others_of_a_batch_count) {
    struct batch batch;
    const char *unread;
    for (int64_t broken = 0; broken <= ITEMS; broken++) {
        struct seen seen = {.most = ITEMS};
        make(&batch, broken);
        assert_int_equal(read_batch(&batch, (size_t)(batch.at - batch.head), &seen, &unread), 0);
        assert_int_equal(unread != NULL, broken > 0);
        assert_int_equal(seen.count, ITEMS - (broken > 0));
        for (size_t i = 0; i < seen.count; i++)
            assert_int_equal(seen.ids[i], (int64_t)i + 1 + (broken && (int64_t)i + 1 >= broken));
    }
}

TEST(a_batch_may_be_cut_short_anywhere) {
    struct batch batch;
    const char *unread;
    make(&batch, 0);
    for (size_t size = 0; size < (size_t)(batch.at - batch.head); size++) {
        struct seen seen = {.most = ITEMS};
        assert_int_equal(read_batch(&batch, size, &seen, &unread), 0);
        assert_non_null(unread);
        for (size_t i = 0; i < seen.count; i++) assert_int_equal(seen.ids[i], (int64_t)i + 1);
    }
}

TEST(a_failure_ends_the_reading) {
    struct batch batch;
    const char *unread;
    struct seen seen = {.most = 2};
    make(&batch, 0);
    assert_int_equal(read_batch(&batch, (size_t)(batch.at - batch.head), &seen, &unread), -EIO);
    assert_null(unread);
    assert_int_equal(seen.count, 2);
}
