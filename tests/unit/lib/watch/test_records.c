/* Tests records.c and version.c. The bytes of watching: held to the codecs that are generated from schemas/, and to any bytes that
 * somebody may send. */
#include "base/bytes.h"
#include "unit/kit/kit.h"
#include "unit/lib/event/samples.h"
#include "watch/records.h"

enum { ROUNDS = 3000 };

static struct watch_version random_version(uint64_t *seed) {
    return (struct watch_version){.number = (int64_t)sample_random(seed) >> sample_below(seed, 64),
                                  .hash = sample_below(seed, 2) ? sample_random(seed) : 0};
}

static void assert_version(struct watch_version version, int64_t number, int64_t hash) {
    assert_int_equal(version.number, number);
    assert_int_equal(version.hash, (uint64_t)hash);
}

/* The bare record of a value; its header must be that of the schema. */
static const uint8_t *bare(const struct buffer *value, uint32_t id) {
    assert_true(value->size > EVENT_HEADER_SIZE);
    assert_int_equal(value->data[0], 0);
    assert_int_equal(bytes_get_be32(value->data + 1), id);
    return value->data + EVENT_HEADER_SIZE;
}

TEST(test_watch_records_are_the_schema_s) {
    assert_int_equal(WATCH_RECORD_ID, WATCH_SCHEMA_ID);
    for (int32_t route = 0; route <= WATCH_ROUTE_MAX; route += 13) {
        FREED_BUFFER value = {.size = 0};
        struct watch record;
        int32_t read;
        watch_value_encode(&value, route);
        assert_ptr_equal(watch_read(bare(&value, WATCH_SCHEMA_ID), value.data + value.size, &record, NULL),
                         value.data + value.size);
        assert_int_equal(record.route, route);
        assert_int_equal(watch_value_decode(value.data, value.size, &read), 0);
        assert_int_equal(read, route);
    }
}

static void roll_call_round(uint64_t *seed) {
    struct watch_ack acks[50], ack;
    struct watch_roll read, roll = {.route = (int32_t)sample_below(seed, WATCH_ROUTE_MAX + 1),
                                    .number = (int64_t)sample_below(seed, 1000),
                                    .count = (int64_t)sample_below(seed, 100000),
                                    .hash = sample_random(seed),
                                    .more = sample_below(seed, 2) > 0,
                                    .heard = sample_below(seed, 3) ? sample_below(seed, 50) : 0};
    for (size_t i = 0; i < roll.heard; i++)
        acks[i] = (struct watch_ack){
            .what_hash = sample_random(seed), .known = sample_below(seed, 2) > 0, .version = random_version(seed)};
    FREED_BUFFER value = {.size = 0};
    struct codec *codec = kit_codec();
    struct roll_call record;
    watch_roll_encode(&value, &roll, acks);
    const uint8_t *end = value.data + value.size;
    assert_ptr_equal(roll_call_read(bare(&value, ROLL_CALL_SCHEMA_ID), end, &record, codec), end);
    assert_int_equal(watch_roll_decode(value.data, value.size, &read), 0);
    assert_int_equal(record.route, read.route);
    assert_int_equal(record.number, read.number);
    assert_int_equal(record.count, read.count);
    assert_int_equal((uint64_t)record.hash, read.hash);
    assert_int_equal(record.more, read.more);
    assert_int_equal(read.heard, roll.heard);
    assert_int_equal(record.heard.count, roll.heard);
    for (size_t i = 0; i < roll.heard; i++) {
        assert_true(watch_roll_next(&read, &ack));
        assert_int_equal(ack.what_hash, acks[i].what_hash);
        assert_int_equal(ack.known, acks[i].known);
        assert_true(watch_version_same(ack.version, acks[i].version));
        assert_int_equal((uint64_t)record.heard.items[i].what, ack.what_hash);
        assert_int_equal(record.heard.items[i].known, ack.known);
        assert_version(ack.version, record.heard.items[i].version_number, record.heard.items[i].version_hash);
    }
    assert_false(watch_roll_next(&read, &ack));
    assert_false(watch_roll_next(&read, &ack));
}

TEST(test_roll_calls_are_the_schema_s) {
    uint64_t seed = 1;
    assert_int_equal(WATCH_ROLL_CALL_ID, ROLL_CALL_SCHEMA_ID);
    for (int i = 0; i < ROUNDS; i++) roll_call_round(&seed);
}

static void delivery_round(uint64_t *seed) {
    uint8_t what[WATCH_WHAT_MAX], content[300];
    memset(what, 'w', sizeof what);
    memset(content, 0xff, sizeof content);
    struct watch_delivery read, delivery = {.is = (enum watch_note_is)sample_below(seed, 3),
                                            .what = what,
                                            .what_size = 1 + sample_below(seed, WATCH_WHAT_MAX),
                                            .since = random_version(seed),
                                            .version = random_version(seed),
                                            .watcher = sample_random(seed),
                                            .partition = (int32_t)sample_below(seed, 1024),
                                            .content = content,
                                            .content_size = sample_below(seed, sizeof content)};
    FREED_BUFFER value = {.size = 0};
    struct watch_note record;
    watch_delivery_encode(&value, &delivery);
    const uint8_t *end = value.data + value.size;
    assert_ptr_equal(watch_note_read(bare(&value, WATCH_NOTE_SCHEMA_ID), end, &record, NULL), end);
    assert_int_equal(watch_delivery_decode(value.data, value.size, &read), 0);
    assert_int_equal(record.kind, delivery.is);
    assert_int_equal(read.is, delivery.is);
    assert_int_equal(read.what_size, delivery.what_size);
    assert_ptr_equal(read.what, record.what.data);
    assert_int_equal(record.what.size, delivery.what_size);
    assert_memory_equal(read.what, what, read.what_size);
    assert_version(delivery.since, record.since_number, record.since_hash);
    assert_version(delivery.version, record.version_number, record.version_hash);
    assert_true(watch_version_same(read.since, delivery.since));
    assert_true(watch_version_same(read.version, delivery.version));
    assert_int_equal((uint64_t)record.watcher, read.watcher);
    assert_int_equal(read.watcher, delivery.watcher);
    assert_int_equal(record.partition, read.partition);
    assert_int_equal(read.partition, delivery.partition);
    assert_int_equal(record.content.size, delivery.content_size);
    assert_ptr_equal(read.content, record.content.data);
    assert_int_equal(read.content_size, delivery.content_size);
}

TEST(test_deliveries_are_the_schema_s) {
    uint64_t seed = 2;
    assert_int_equal(WATCH_NOTE_ID, WATCH_NOTE_SCHEMA_ID);
    assert_int_equal(WATCH_NOTE_IS_TOLD, WATCH_NOTE_TOLD);
    assert_int_equal(WATCH_NOTE_IS_NAMED, WATCH_NOTE_NAMED);
    assert_int_equal(WATCH_NOTE_IS_AGAIN, WATCH_NOTE_AGAIN);
    for (int i = 0; i < ROUNDS; i++) delivery_round(&seed);
}

TEST(test_keys) {
    uint8_t key[WATCH_KEY_MAX];
    struct watch_key read;
    assert_int_equal(watch_key_encode(key, "feed:7", 6, 0x0102030405060708), 14);
    assert_memory_equal(key, "feed:7\1\2\3\4\5\6\7\10", 14);
    assert_int_equal(watch_key_decode(key, 14, &read), 0);
    assert_int_equal(read.what_size, 6);
    assert_memory_equal(read.what, "feed:7", 6);
    assert_int_equal(read.watcher, 0x0102030405060708);
    assert_int_equal(watch_key_encode(key, NULL, 0, 9), 8);
    assert_int_equal(watch_key_decode(key, 8, &read), 0);
    assert_int_equal(read.what_size, 0);
    assert_int_equal(watch_key_decode(key, 7, &read), -EBADMSG);
    assert_int_equal(watch_key_decode(key, WATCH_KEY_MAX + 1, &read), -EBADMSG);
}

TEST(test_hashes_never_change) {
    assert_int_equal(watch_hash("feed:7", 6), UINT64_C(0x2d34dc295b367aca));
    assert_int_equal(watch_hash("comments:post:123", 17), UINT64_C(0xdecf9de04c347745));
    assert_int_equal(watch_hash_share(watch_hash("feed:7", 6), 3), UINT64_C(0x8b7d27d2c7f3e674));
    assert_int_not_equal(watch_hash("a", 1), watch_hash("a\0", 2));
}

TEST(test_versions) {
    struct watch_version two = {.number = 2}, four = {.number = 4}, six = {.number = 6},
                         print = {.number = 4, .hash = 1}, other = {.number = 4, .hash = 2};
    assert_true(watch_version_follows(four, four, six));
    assert_true(watch_version_follows(four, two, six));
    assert_false(watch_version_follows(two, four, six));
    assert_false(watch_version_follows(six, four, six));
    assert_true(watch_version_follows(print, print, other));
    assert_false(watch_version_follows(other, print, six));
    assert_false(watch_version_follows(four, two, print));
    assert_false(watch_version_same(print, other));
}

/* ---- any bytes ---- */

/* Decodes bytes in memory of exactly their size, so that the address sanitizer sees a read beyond the end. Each decoder takes what the
 * generated reader takes, as far as it is within limits. */
static int decode(uint32_t id, const uint8_t *bytes, size_t size) {
    uint8_t *copy = mem_alloc(size), *end = copy + size;
    const struct event_schema *schema = event_schema_find(id);
    if (size > 0) memcpy(copy, bytes, size);
    struct watch_roll roll;
    struct watch_delivery delivery;
    struct watch_ack ack;
    int32_t route;
    int rc = id == WATCH_RECORD_ID      ? watch_value_decode(copy, size, &route)
             : id == WATCH_ROLL_CALL_ID ? watch_roll_decode(copy, size, &roll)
                                        : watch_delivery_decode(copy, size, &delivery);
    if (rc == 0 && id == WATCH_ROLL_CALL_ID) {
        size_t count = 0;
        while (watch_roll_next(&roll, &ack)) count++;
        assert_int_equal(count, roll.heard);
    }
    if (rc == 0) assert_true(schema->find_end(copy + EVENT_HEADER_SIZE, end) == end);
    assert_true(rc == 0 || rc == -EBADMSG);
    free(copy);
    return rc;
}

static void damage(uint32_t id) {
    struct samples *samples = samples_new(event_schema_find(id), id);
    FREED_BUFFER bytes = {.data = NULL}, value = {.data = NULL};
    int taken = 0, refused = 0;
    for (int i = 0; i < 20000; i++) {
        samples_next(samples, &bytes);
        if (i % 4 > 0) samples_mutate(samples, &bytes);
        sample_value(&value, id, bytes.data, bytes.size);
        if (i % 100 == 0) value.data[i % 5]++;
        int rc = decode(id, value.data, value.size);
        taken += rc == 0;
        refused += rc != 0;
        if (rc || i % 50) continue;
        for (size_t size = 0; size < value.size; size++) assert_int_equal(decode(id, value.data, size), -EBADMSG);
        buffer_byte(&value, 0);
        assert_int_equal(decode(id, value.data, value.size), -EBADMSG);
    }
    assert_true(taken > 100 && refused > 1000);
    samples_free(samples);
}

TEST(test_damaged_values_are_refused_or_mean_the_same) {
    damage(WATCH_RECORD_ID);
    damage(WATCH_ROLL_CALL_ID);
    damage(WATCH_NOTE_ID);
}

TEST(test_limits) {
    FREED_BUFFER value = {.size = 0};
    uint8_t what[WATCH_WHAT_MAX + 1] = {0};
    struct watch_delivery read, delivery = {.is = WATCH_NOTE_IS_NAMED, .what = what};
    int32_t route;
    for (size_t size = 0; size <= WATCH_WHAT_MAX + 1; size += size == 1 ? WATCH_WHAT_MAX - 1 : 1) {
        buffer_clear(&value);
        delivery.what_size = size;
        watch_delivery_encode(&value, &delivery);
        bool right = size >= 1 && size <= WATCH_WHAT_MAX;
        assert_int_equal(watch_delivery_decode(value.data, value.size, &read), right ? 0 : -EBADMSG);
    }
    buffer_clear(&value);
    watch_value_encode(&value, WATCH_ROUTE_MAX + 1);
    assert_int_equal(watch_value_decode(value.data, value.size, &route), -EBADMSG);
    buffer_clear(&value);
    watch_value_encode(&value, -1);
    assert_int_equal(watch_value_decode(value.data, value.size, &route), -EBADMSG);
}

TEST(a_version_is_a_text_and_back) {
    static const struct watch_version VERSIONS[] = {{.number = 0, .hash = 1},
                                                    {.number = INT64_MAX, .hash = UINT64_MAX},
                                                    {.number = 907, .hash = 0xfedcba9876543210}};
    static const char *const NONE[] = {"",
                                       "0",
                                       "0000000000000000000000000000000g",
                                       "0000000000000000000000000000000A",
                                       "000000000000000000000000000000001",
                                       "-000000000000000000000000000000a"};
    struct watch_version version;
    char text[WATCH_VERSION_TEXT];
    for (size_t i = 0; i < sizeof VERSIONS / sizeof VERSIONS[0]; i++) {
        watch_version_write(VERSIONS[i], text);
        assert_true(watch_version_read(text, strlen(text), &version));
        assert_true(watch_version_same(version, VERSIONS[i]));
    }
    assert_string_equal(text, "000000000000038bfedcba9876543210");
    for (size_t i = 0; i < sizeof NONE / sizeof NONE[0]; i++)
        assert_false(watch_version_read(NONE[i], strlen(NONE[i]), &version));
}
