/* The generated codecs against avro-c, byte for byte, with random records and with damaged ones; and each kind of malformed
 * value by hand. Inputs lie in memory of exactly their size, so that the address sanitizer sees a read beyond the end. */
#include "base/bytes.h"
#include "unit/kit/kit.h"
#include "unit/lib/event/samples.h"

/* Bytes in memory of exactly their size. */
static uint8_t *exact(const struct buffer *bytes) {
    uint8_t *copy = mem_alloc(bytes->size);
    if (bytes->size > 0) memcpy(copy, bytes->data, bytes->size);
    return copy;
}

static int recode_exact(struct codec *codec, const struct buffer *value, struct buffer *out) {
    FREED uint8_t *copy = exact(value);
    return sample_recode(codec, copy, value->size, out);
}

enum { READ_NO_MORE = 6 /* delivery batches without envelopes: a schema whose id stays taken */ };

static bool skips(const struct event_schema *schema, const struct buffer *value) {
    uint8_t *copy = exact(value), *end = copy + value->size;
    bool whole = schema->find_end(copy + EVENT_HEADER_SIZE, end) == end;
    free(copy);
    return whole;
}

static void assert_same(const struct buffer *a, const struct buffer *b) {
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->data, b->data, a->size);
}

static void round_trip(const struct event_schema *schema) {
    struct samples *samples = samples_new(schema, schema->id);
    struct codec *codec = kit_codec();
    FREED_BUFFER bytes = {.data = NULL}, value = {.data = NULL}, ours = {.data = NULL};
    for (int i = 0; i < 2000; i++) {
        samples_next(samples, &bytes);
        sample_value(&value, schema->id, bytes.data, bytes.size);
        assert_int_equal(recode_exact(codec, &value, &ours), 0);
        assert_same(&ours, &value);
        assert_true(skips(schema, &value));
        buffer_byte(&value, 0);
        assert_int_equal(recode_exact(codec, &value, &ours), -EBADMSG);
        for (value.size -= 2; value.size >= EVENT_HEADER_SIZE; value.size--) {
            assert_int_equal(recode_exact(codec, &value, &ours), -EBADMSG);
            assert_false(skips(schema, &value));
            if (value.size > 100) value.size -= value.size / 4; /* large ones at some lengths only */
        }
    }
    samples_free(samples);
}

TEST(test_random_records_are_avro_c_s_bytes) {
    for (size_t i = 0; i < EVENT_SCHEMAS; i++)
        if (event_schemas[i].id != READ_NO_MORE) round_trip(&event_schemas[i]);
}

static bool has_text(const struct event_schema *schema) { return strstr(schema->json, "\"string\"") != NULL; }

/* Damaged bytes are refused, or mean to us what they mean to avro-c. People may look at what is only out of range. */
static void damage(const struct event_schema *schema) {
    struct samples *samples = samples_new(schema, 1000 + schema->id);
    struct codec *codec = kit_codec();
    FREED_BUFFER bytes = {.data = NULL}, value = {.data = NULL}, ours = {.data = NULL}, theirs = {.data = NULL},
                 json = {.data = NULL};
    int taken = 0, refused = 0;
    for (int i = 0; i < 20000; i++) {
        samples_next(samples, &bytes);
        samples_mutate(samples, &bytes);
        sample_value(&value, schema->id, bytes.data, bytes.size);
        int rc = recode_exact(codec, &value, &ours);
        bool whole = skips(schema, &value);
        assert_true(whole || rc);
        buffer_clear(&json);
        int json_rc = event_to_json(codec, value.data, value.size, &json, NULL);
        if (rc != 0) {
            assert_int_equal(rc, -EBADMSG);
            assert_true(json_rc == -EBADMSG || (whole && json_rc == 0));
            assert_int_equal(json.size > 0, json_rc == 0);
            refused++;
            continue;
        }
        taken++;
        if (has_text(schema) && bytes.size > 0 && memchr(bytes.data, 0, bytes.size))
            continue; /* avro-c ends a string at a NUL */
        assert_true(samples_parse(samples, bytes.data, bytes.size, &theirs));
        assert_int_equal(ours.size, EVENT_HEADER_SIZE + theirs.size);
        assert_memory_equal(ours.data + EVENT_HEADER_SIZE, theirs.data, theirs.size);
    }
    assert_true(taken > 100 && refused > 100);
    samples_free(samples);
}

TEST(test_damaged_records_are_refused_or_mean_the_same_to_avro_c) {
    for (size_t i = 0; i < EVENT_SCHEMAS; i++)
        if (event_schemas[i].id != READ_NO_MORE) damage(&event_schemas[i]);
}

TEST(test_fields_by_name) {
    const struct location location = {.user = INT64_MAX,
                                      .lat = 399847021,
                                      .lng = -1163186017,
                                      .time = 1700000000123,
                                      .kind = LOCATION_REJOIN,
                                      .session = 5,
                                      .route = INT32_MAX,
                                      .opted = -1,
                                      .accuracy = -1};
    struct samples *samples = samples_new(event_schema_find(LOCATION_SCHEMA_ID), 0);
    FREED_BUFFER value = {.data = NULL}, again = {.data = NULL};
    avro_value_t field;
    int64_t number = 0;
    int32_t small = 0;
    int symbol = 0;
    event_encode_location(&value, &location);
    assert_true(samples_parse(samples, value.data + EVENT_HEADER_SIZE, value.size - EVENT_HEADER_SIZE, &again));
#define ASSERT_FIELD(NAME, TYPE, VARIABLE)                                                                             \
    assert_int_equal(avro_value_get_by_name(&samples->value, #NAME, &field, NULL), 0);                                 \
    assert_int_equal(avro_value_get_##TYPE(&field, &VARIABLE), 0);                                                     \
    assert_true(VARIABLE == (int64_t)location.NAME)
    ASSERT_FIELD(user, long, number);
    ASSERT_FIELD(lat, int, small);
    ASSERT_FIELD(lng, int, small);
    ASSERT_FIELD(time, long, number);
    ASSERT_FIELD(kind, enum, symbol);
    ASSERT_FIELD(session, long, number);
    ASSERT_FIELD(route, int, small);
    ASSERT_FIELD(opted, long, number);
    ASSERT_FIELD(accuracy, int, small);
    samples_free(samples);
}

/* What is wrong with values, by hand. */

static int decode_location(const char *bytes, size_t size, struct error *error) {
    struct codec *codec = kit_codec();
    FREED_BUFFER value = {.size = 0};
    struct location location = {.user = 42}, before = location;
    buffer_append(&value, bytes, size);
    FREED uint8_t *copy = exact(&value);
    int rc = event_decode_location(codec, copy, size, &location, error);
    if (rc != 0) assert_memory_equal(&location, &before, sizeof location);
    return rc;
}

#define DECODE_LOCATION(LITERAL, ERROR) decode_location(LITERAL, sizeof LITERAL - 1, ERROR)

TEST(test_wire_header) {
    assert_int_equal(DECODE_LOCATION("\0\0\0\0\1\2\2\2\2\2\2\2\2\2", &failure), 0);
    assert_fails(DECODE_LOCATION("", &failure), -EBADMSG, "0 bytes");
    assert_int_equal(DECODE_LOCATION("\0\0\0\1", &failure), -EBADMSG);
    assert_fails(DECODE_LOCATION("{\"user\": 1}", &failure), -EBADMSG, "not the Confluent wire format");
    assert_fails_saying(DECODE_LOCATION("\0\0\0\0\2\2\2\2\2\2", &failure), -ENOENT,
                        "schema id 2 is a friend-command, not a location");
    assert_int_equal(DECODE_LOCATION("\0\0\0\0\0\2\2\2\2\2", &failure), -ENOENT);
    assert_fails_saying(DECODE_LOCATION("\0\377\377\377\377\2\2\2\2\2", &failure), -ENOENT,
                        "unknown schema id 4294967295");
    assert_fails_saying(DECODE_LOCATION("\0\0\0\0\1", &failure), -EBADMSG, "malformed location of 5 bytes");
}

TEST(test_values_out_of_range) {
    /* lat 900000000 and -900000000, and beyond; an int does not reach 2^31 */
    assert_int_equal(DECODE_LOCATION("\0\0\0\0\1\2\200\244\247\332\6\2\2\2\2\2\2\2", NULL), 0);
    assert_int_equal(DECODE_LOCATION("\0\0\0\0\1\2\377\243\247\332\6\2\2\2\2\2\2\2", NULL), 0);
    assert_fails_saying(DECODE_LOCATION("\0\0\0\0\1\2\202\244\247\332\6\2\2\2\2\2\2\2", &failure), -EBADMSG,
                        "a location with a value that is out of range");
    assert_int_equal(DECODE_LOCATION("\0\0\0\0\1\2\201\244\247\332\6\2\2\2\2\2\2\2", NULL), -EBADMSG);
    assert_fails_saying(DECODE_LOCATION("\0\0\0\0\1\2\200\200\200\200\20\2\2\2\2\2\2\2", &failure), -EBADMSG,
                        "malformed location of 18 bytes");
    /* time -1, and 2^47 */
    assert_int_equal(DECODE_LOCATION("\0\0\0\0\1\2\2\2\1\2\2\2\2\2", NULL), -EBADMSG);
    assert_int_equal(DECODE_LOCATION("\0\0\0\0\1\2\2\2\376\377\377\377\377\377\77\2\2\2\2\2", NULL), 0);
    assert_int_equal(DECODE_LOCATION("\0\0\0\0\1\2\2\2\200\200\200\200\200\200\100\2\2\2\2\2", NULL), -EBADMSG);
    /* kind 5, and -1; the last is 4 */
    assert_int_equal(DECODE_LOCATION("\0\0\0\0\1\2\2\2\2\10\2\2\2\2", NULL), 0);
    assert_int_equal(DECODE_LOCATION("\0\0\0\0\1\2\2\2\2\12\2\2\2\2", NULL), -EBADMSG);
    assert_int_equal(DECODE_LOCATION("\0\0\0\0\1\2\2\2\2\1\2\2\2\2", NULL), -EBADMSG);
    /* user of 63 bits, below 0, of 65 bits, and of eleven bytes */
    assert_int_equal(DECODE_LOCATION("\0\0\0\0\1\376\377\377\377\377\377\377\377\377\1\2\2\2\2\2\2\2\2", NULL), 0);
    assert_int_equal(DECODE_LOCATION("\0\0\0\0\1\1\2\2\2\2\2\2\2\2", NULL), -EBADMSG);
    assert_int_equal(DECODE_LOCATION("\0\0\0\0\1\377\377\377\377\377\377\377\377\377\1\2\2\2\2\2\2\2\2", NULL),
                     -EBADMSG);
    assert_int_equal(DECODE_LOCATION("\0\0\0\0\1\377\377\377\377\377\377\377\377\377\2\2\2\2\2\2\2\2\2", NULL),
                     -EBADMSG);
    assert_int_equal(DECODE_LOCATION("\0\0\0\0\1\200\200\200\200\200\200\200\200\200\200\1\2\2\2\2\2\2\2\2", NULL),
                     -EBADMSG);
}

/* Numbers with which daemons calculate: until - now, number + 1, structure + 1. */
TEST(test_numbers_that_would_overflow_are_refused) {
    const struct sharing sharing = {.mode = SHARING_FRIENDS, .until = INT64_MIN};
    const struct user_name name = {.number = INT64_MAX};
    const struct comment_subject subject = {.structure = INT64_MAX};
    FREED_BUFFER value = {.data = NULL}, ours = {.data = NULL};
    struct codec *codec = kit_codec();
    event_encode_sharing(&value, &sharing);
    assert_int_equal(recode_exact(codec, &value, &ours), -EBADMSG);
    buffer_clear(&value);
    event_encode_user_name(&value, &name);
    assert_int_equal(recode_exact(codec, &value, &ours), -EBADMSG);
    buffer_clear(&value);
    event_encode_comment_subject(&value, &subject);
    assert_int_equal(recode_exact(codec, &value, &ours), -EBADMSG);
}

TEST(test_booleans_are_0_or_1) {
    struct codec *codec = kit_codec();
    struct friendship friendship;
    assert_int_equal(event_decode_friendship(codec, "\0\0\0\0\3\6\1\0\2", 9, &friendship, NULL), 0);
    assert_int_equal(friendship.state, FRIENDSHIP_FRIENDS);
    assert_true(friendship.blocked_by_me);
    assert_false(friendship.blocked_by_them);
    assert_int_equal(friendship.since, 1);
    assert_int_equal(event_decode_friendship(codec, "\0\0\0\0\3\6\2\0\2", 9, &friendship, NULL), -EBADMSG);
}

static int decode_profile(struct codec *codec, const char *bytes, size_t size, struct profile *profile) {
    FREED_BUFFER value = {.size = 0};
    sample_value(&value, 4 /* version 1 */, (const uint8_t *)bytes, size);
    FREED uint8_t *copy = exact(&value);
    return event_decode_profile(codec, copy, value.size, profile, NULL);
}

TEST(test_lengths_of_texts) {
    struct codec *codec = kit_codec();
    struct profile profile;
    assert_int_equal(decode_profile(codec, "\6Ann\0", 5, &profile), 0);
    assert_int_equal(profile.name.size, 3);
    assert_int_equal(profile.avatar_url.size, 0);
    assert_int_equal(decode_profile(codec, "\10Ann\0", 5, &profile), -EBADMSG); /* 4 + nothing */
    assert_int_equal(decode_profile(codec, "\0\2", 2, &profile), -EBADMSG);     /* 1 of 0 left */
    assert_int_equal(decode_profile(codec, "\5Ann\0", 5, &profile), -EBADMSG);  /* -3 */
    assert_int_equal(decode_profile(codec, "\376\377\377\377\377\377\377\377\377\1", 10, &profile),
                     -EBADMSG); /* 2^63-1 */
    assert_int_equal(decode_profile(codec, "\377\377\377\377\377\377\377\377\377\1", 10, &profile),
                     -EBADMSG); /* -2^63 */
}

TEST(test_empty_texts_need_no_data) {
    const struct profile profile = {.name = {.data = NULL, .size = 0}, .avatar_url = {.data = NULL, .size = 0}};
    FREED_BUFFER value = {.size = 0};
    event_encode_profile(&value, &profile);
    assert_int_equal(value.size, 9);
    assert_memory_equal(value.data, "\0\0\0\0\x60\0\0\0\0", 9);
}

static int decode_post_text(struct codec *codec, const char *bytes, size_t size, struct post_text *text) {
    FREED_BUFFER value = {.size = 0};
    sample_value(&value, POST_TEXT_SCHEMA_ID, (const uint8_t *)bytes, size);
    FREED uint8_t *copy = exact(&value);
    return event_decode_post_text(codec, copy, value.size, text, NULL);
}

TEST(test_arrays_of_texts) {
    struct codec *codec = kit_codec();
    struct post_text text;
    /* {"Hi", ["a", "", "bc"], 1, 0, -1, []}: in one block, and in two of which the first says how long it is */
    static const char one[] = "\4Hi\6\2a\0\4bc\0\2\0\1", two[] = "\4Hi\3\6\2a\0\2\4bc\0\2\0\1";
    const struct {
        const char *bytes;
        size_t size;
    } same[] = {{one, sizeof one}, {two, sizeof two}};
    for (size_t i = 0; i < 2; i++) {
        FREED_BUFFER value = {.data = NULL}, written = {.data = NULL};
        sample_value(&value, POST_TEXT_SCHEMA_ID, (const uint8_t *)same[i].bytes, same[i].size);
        assert_int_equal(event_decode_post_text(codec, value.data, value.size, &text, NULL), 0);
        assert_int_equal(text.text.size, 2);
        assert_int_equal(text.media.count, 3);
        assert_int_equal(text.media.items[0].size, 1);
        assert_memory_equal(text.media.items[0].data, "a", 1);
        assert_int_equal(text.media.items[1].size, 0);
        assert_int_equal(text.media.items[2].size, 2);
        assert_memory_equal(text.media.items[2].data, "bc", 2);
        event_encode_post_text(&written, &text);
        assert_int_equal(written.size, EVENT_HEADER_SIZE + sizeof one);
        assert_memory_equal(written.data + EVENT_HEADER_SIZE, one, sizeof one);
    }
    assert_int_equal(decode_post_text(codec, "\4Hi\0\2\0\1\0", 8, &text), 0);
    assert_int_equal(text.media.count, 0);
    assert_int_equal(decode_post_text(codec, "\4Hi\6\2a\0\0", 7, &text), -EBADMSG); /* two of three */
    assert_int_equal(decode_post_text(codec, "\4Hi\2\10a\0", 6, &text), -EBADMSG);  /* a text of four bytes */
    assert_int_equal(decode_post_text(codec, "\4Hi\376\377\377\377\17\2a\0", 11, &text), -EBADMSG); /* 2^31-1 */
}

/* The room that a record asks for is enough, however short or long its texts are. */
TEST(test_the_room_for_texts_is_enough) {
    FREED char *large = mem_zero(1, 40000);
    struct event_text items[40];
    for (size_t count = 0; count <= 40; count++) {
        for (size_t i = 0; i < count; i++) items[i] = (struct event_text){large, (i % 3) * 400 * count};
        struct post_text record = {.text = {large, count * 900}, .media = {items, count}};
        size_t most = post_text_size_max(&record);
        FREED uint8_t *bytes = mem_alloc(most);
        assert_true((size_t)(post_text_write(bytes, &record) - bytes) <= most);
    }
}

TEST(test_headers_name_the_newest_version) {
#define TEXT(name, NAME, text) text,
    static const char *const records[EVENT_RECORDS] = {EVENT_EACH(TEXT)};
    uint8_t header[EVENT_HEADER_SIZE];
    for (int i = 0; i < EVENT_RECORDS; i++) {
        const struct event_schema *newest = NULL;
        for (size_t k = 0; k < EVENT_SCHEMAS; k++)
            if (strcmp(event_schemas[k].record, records[i]) == 0) newest = &event_schemas[k];
        assert_non_null(newest);
        assert_ptr_equal(event_header_write(header, (enum event_record)i), header + EVENT_HEADER_SIZE);
        assert_int_equal(header[0], 0);
        assert_int_equal(bytes_get_be32(header + 1), newest->id);
    }
    for (size_t i = 0; i < EVENT_SCHEMAS; i++)
        assert_ptr_equal(event_schema_find(event_schemas[i].id), &event_schemas[i]);
    assert_null(event_schema_find(0));
    assert_null(event_schema_find(event_schemas[EVENT_SCHEMAS - 1].id + 1));
}
