/* Delivery batches as bytes: written and read by hand, and held against the schema by avro-c and by the generated find_end. */
#include "deliver/envelope.h"
#include "unit/kit/kit.h"
#include "unit/lib/event/samples.h"

static const int64_t users[] = {5, INT64_MAX, 0, 1, 4};
static const struct deliver_envelope envelopes[] = {
    {.kind = 1, .recipients = users, .recipient_count = 5, .payload = (const uint8_t *)"payload", .payload_size = 7},
    {.kind = INT32_MAX, .recipients = users, .recipient_count = 1, .payload = NULL, .payload_size = 0},
    {.kind = 0, .recipients = NULL, .recipient_count = 0, .payload = (const uint8_t *)"\0", .payload_size = 1},
};

static void append(struct buffer *out, const struct deliver_envelope *envelope) {
    size_t most = deliver_envelope_size_max(envelope->recipient_count, envelope->payload_size);
    uint8_t *start = buffer_reserve(out, most), *end = deliver_envelope_write(start, envelope);
    assert_true((size_t)(end - start) <= most);
    buffer_commit(out, (size_t)(end - start));
}

/* A batch as the outbox makes it: envelopes first, then the head in front of them, then the end. */
static void make_batch(struct buffer *out, const struct deliver_envelope *from, size_t count) {
    FREED_BUFFER items = {.size = 0};
    uint8_t head[DELIVER_HEAD_MAX], *end = head + sizeof head;
    for (size_t i = 0; i < count; i++) append(&items, &from[i]);
    uint8_t *start = deliver_head_write_before(end, 111, 222, count);
    assert_true(start >= head);
    buffer_clear(out);
    buffer_append(out, start, (size_t)(end - start));
    if (count > 0) buffer_append(out, items.data, items.size);
    buffer_byte(out, 0);
}

static void assert_envelope(const struct deliver_envelope *got, const struct deliver_envelope *wanted) {
    assert_int_equal(got->kind, wanted->kind);
    assert_int_equal(got->recipient_count, wanted->recipient_count);
    if (got->recipient_count > 0)
        assert_memory_equal(got->recipients, wanted->recipients, got->recipient_count * sizeof *got->recipients);
    assert_int_equal(got->payload_size, wanted->payload_size);
    if (got->payload_size > 0) assert_memory_equal(got->payload, wanted->payload, got->payload_size);
}

TEST(test_envelopes_come_back) {
    struct deliver_reader *reader = deliver_reader_new();
    struct deliver_envelope envelope;
    struct deliver_head head;
    FREED_BUFFER batch = {.size = 0};
    for (size_t count = 0; count <= ARRAY_SIZE(envelopes); count++) { // one reader for all
        make_batch(&batch, envelopes, count);
        assert_int_equal(deliver_schema_id(batch.data, batch.size), DELIVERY_BATCH_SCHEMA_ID);
        assert_int_equal(deliver_reader_start(reader, batch.data, batch.size, &head, NULL), 0);
        assert_int_equal(head.stream_time, 111);
        assert_int_equal(head.oldest_received, 222);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(deliver_reader_next(reader, &envelope), 1);
            assert_envelope(&envelope, &envelopes[i]);
        }
        assert_int_equal(deliver_reader_next(reader, &envelope), 0);
        assert_int_equal(deliver_reader_next(reader, &envelope), 0);
    }
    deliver_reader_free(reader);
}

TEST(test_avro_c_reads_what_is_written_by_hand) {
    const struct event_schema *schema = event_schema_find(DELIVER_SCHEMA_ID);
    assert_string_equal(schema->record, "delivery-batch");
    assert_int_equal(DELIVER_SCHEMA_ID, DELIVERY_BATCH_SCHEMA_ID);
    struct samples *samples = samples_new(schema, 0);
    FREED_BUFFER batch = {.data = NULL}, theirs = {.data = NULL};
    for (size_t count = 0; count <= ARRAY_SIZE(envelopes); count++) {
        make_batch(&batch, envelopes, count);
        const uint8_t *bare = batch.data + EVENT_HEADER_SIZE, *end = batch.data + batch.size;
        assert_ptr_equal(schema->find_end(bare, end), end);
        assert_true(samples_parse(samples, bare, (size_t)(end - bare), &theirs));
        assert_int_equal(theirs.size, end - bare);
        assert_memory_equal(theirs.data, bare, theirs.size);
    }
    samples_free(samples);
}

TEST(test_the_largest_head_fits) {
    uint8_t head[DELIVER_HEAD_MAX];
    uint8_t *start = deliver_head_write_before(head + sizeof head, INT64_MIN, INT64_MAX, INT64_MAX);
    assert_ptr_equal(start, head);
}

/* Reads a batch whose items' bytes are given, in memory of exactly their size: how many there were, or the error. Their kinds
 * are 1, 2, 3, ... */
static int read_items(const char *bytes, size_t size) {
    struct deliver_reader *reader = deliver_reader_new();
    struct deliver_head head;
    struct deliver_envelope envelope;
    FREED uint8_t *value = mem_alloc(7 + size);
    memcpy(value, "\0\0\0\0\11\2\4", 7);
    memcpy(value + 7, bytes, size);
    assert_int_equal(deliver_reader_start(reader, value, 7 + size, &head, NULL), 0);
    int count = 0, rc;
    while ((rc = deliver_reader_next(reader, &envelope)) == 1) assert_int_equal(envelope.kind, ++count);
    assert_int_equal(deliver_reader_next(reader, &envelope), rc);
    deliver_reader_free(reader);
    return rc == 0 ? count : rc;
}

#define READ_ITEMS(LITERAL) read_items(LITERAL, sizeof LITERAL - 1)

TEST(test_blocks) {
    assert_int_equal(READ_ITEMS("\4\2\0\0\4\0\0\2\6\0\0\0"), 3);           // two and one
    assert_int_equal(READ_ITEMS("\3\14\2\0\0\4\0\0\1\6\6\0\0\0"), 3);      // the same with their sizes
    assert_int_equal(READ_ITEMS("\2\2\2\20\2\22\1\2\24\0\4ab\0"), 1);      // recipients in three blocks
    assert_int_equal(READ_ITEMS("\4\2\0\0\4\0\0\2\6\0\0"), -EBADMSG);      // no end
    assert_int_equal(READ_ITEMS("\2\2\2\20\0\4ab"), -EBADMSG);             // no end
    assert_int_equal(READ_ITEMS("\2\2\2\20\0\6ab\0"), -EBADMSG);           // a payload of three bytes, no end
    assert_int_equal(READ_ITEMS("\2\2\2\20\0\10ab\0"), -EBADMSG);          // a payload of four bytes, three are left
    assert_int_equal(READ_ITEMS("\2\2\0\1\0"), -EBADMSG);                  // a payload of -1 bytes
    assert_int_equal(READ_ITEMS("\4\2\0\0\0"), -EBADMSG);                  // two are said, one is there
    assert_int_equal(READ_ITEMS("\2\2\0\0\0\0"), -EBADMSG);                // a byte left over
    assert_int_equal(READ_ITEMS("\2\200\200\200\200\20\0\0\0"), -EBADMSG); // kind 2^31
    assert_int_equal(READ_ITEMS("\3\15\2\0\0\0"), -EBADMSG);               // a block of -7 bytes
    assert_int_equal(READ_ITEMS("\3\20\2\0\0\0"), -EBADMSG);               // a block of 8 bytes, 4 are left
    assert_int_equal(READ_ITEMS("\2\2\376\377\377\377\17\2\2\2\0\0\0"), -EBADMSG);            // 2^31 - 1 recipients
    assert_int_equal(READ_ITEMS("\2\2\376\377\377\377\377\377\377\377\377\1\2"), -EBADMSG);   // 2^63 - 1 recipients
    assert_int_equal(READ_ITEMS("\2\2\2\200\200\200\200\200\200\200\200\200\2\0"), -EBADMSG); // a recipient of 65 bits
    assert_int_equal(READ_ITEMS("\377\377\377\377\377\377\377\377\377\1\0"), -EBADMSG);       // count -2^63
    assert_int_equal(READ_ITEMS("\376\377\377\377\377\377\377\377\377\1\2\0\0"), -EBADMSG);   // count 2^63 - 1
    assert_int_equal(READ_ITEMS(""), -EBADMSG);
}

TEST(test_many_recipients_after_few) {
    static int64_t many[100000];
    struct deliver_reader *reader = deliver_reader_new();
    struct deliver_head head;
    struct deliver_envelope sent[6], got;
    FREED_BUFFER batch = {.size = 0};
    for (int64_t i = 0; i < 100000; i++) many[i] = i * i * i;
    for (int i = 0; i < 6; i++)
        sent[i] = (struct deliver_envelope){.kind = i,
                                            .recipients = many,
                                            .recipient_count = i % 2 ? 3 : 100000,
                                            .payload = (const uint8_t *)"xyz",
                                            .payload_size = 3};
    make_batch(&batch, sent, 6);
    assert_int_equal(deliver_reader_start(reader, batch.data, batch.size, &head, NULL), 0);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(deliver_reader_next(reader, &got), 1);
        assert_envelope(&got, &sent[i]);
    }
    assert_int_equal(deliver_reader_next(reader, &got), 0);
    deliver_reader_free(reader);
}

TEST(test_what_is_no_batch_is_refused) {
    struct deliver_reader *reader = deliver_reader_new();
    struct deliver_head head;
    assert_fails_saying(deliver_reader_start(reader, "", 0, &head, &failure), -EBADMSG,
                        "not the Confluent wire format: 0 bytes");
    assert_int_equal(deliver_reader_start(reader, "\1\0\0\0\11\0\0\0", 8, &head, &failure), -EBADMSG);
    assert_fails_saying(deliver_reader_start(reader, "\0\0\0\0\6\0\0\0", 8, &head, &failure), -ENOENT,
                        "schema id 6 is not one of a delivery-batch that can be read");
    assert_fails_saying(deliver_reader_start(reader, "\0\0\0\0\11\0\200", 7, &head, &failure), -EBADMSG,
                        "malformed delivery-batch of 7 bytes");
    deliver_reader_free(reader);
}
