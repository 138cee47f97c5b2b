/* Tests batches.c, conf.c, consumer.c, positions.c, queries.c, reading.c and wake.c. Reading without a group: positions, seeking,
 * pausing, holding, ends, times, lost offsets. */
#include "event/topics.h"
#include "unit/kit/kit.h"
#include "world.h"

static void fill(struct world *world, const struct topic *topic, int32_t partition, int from, int to) {
    struct kafka_producer *producer = world_producer(world, NULL);
    for (int i = from; i < to; i++) {
        char value[16];
        snprintf(value, sizeof value, "%d", i);
        world_send(world, producer, topic, partition, value);
    }
    world_flush(world, producer);
    kafka_producer_free(producer, 0);
}

static void assert_values(const struct reader *reader, size_t first, int from, int to) {
    for (int i = from; i < to; i++) {
        char value[16];
        snprintf(value, sizeof value, "%d", i);
        assert_string_equal(reader->seen[first + (size_t)(i - from)].value, value);
    }
}

SET_UP() { return world_create(true); }

TEST(test_reads_in_order_and_knows_the_position, struct world *world) {
    struct reader reader = {.world = NULL};
    fill(world, &TOPIC_LOCATIONS, 1, 0, 100);
    reader_open(&reader, world, NULL, NULL);
    assert_int_equal(kafka_consumer_position(reader.consumer, &TOPIC_LOCATIONS, 1), KAFKA_OFFSET_NONE);
    assert_int_equal(kafka_consumer_lag(reader.consumer, &TOPIC_LOCATIONS, 1), -1);
    reader_read(&reader, &TOPIC_LOCATIONS, 1, 10);
    assert_int_equal(kafka_consumer_position(reader.consumer, &TOPIC_LOCATIONS, 1), 10);
    reader_until(&reader, 90);
    assert_values(&reader, 0, 10, 100);
    assert_int_equal(kafka_consumer_position(reader.consumer, &TOPIC_LOCATIONS, 1), 100);
    assert_int_equal(kafka_consumer_lag(reader.consumer, &TOPIC_LOCATIONS, 1), 0);
    assert_true(reader.drained > 0);
    // LogAppendTime is what locations have.
    assert_true(reader.seen[0].timestamp > clock_wall_ms() - 60000 && reader.seen[0].timestamp <= clock_wall_ms());
    assert_string_equal(reader.seen[0].key, "k");
    fill(world, &TOPIC_LOCATIONS, 1, 100, 105);
    reader_until(&reader, 95);
    assert_values(&reader, 90, 100, 105);
    reader_close(&reader);
}

static bool at_start(void *context) {
    return kafka_consumer_position(((struct reader *)context)->consumer, &TOPIC_PROFILES, 0) == 0;
}

TEST(test_position_of_an_empty_partition_becomes_known, struct world *world) {
    struct reader reader = {.world = NULL};
    reader_open(&reader, world, NULL, NULL);
    reader_read(&reader, &TOPIC_PROFILES, 0, KAFKA_OFFSET_BEGINNING);
    world_until(world, at_start, &reader, "the position is known");
    assert_int_equal(reader.count, 0);
    assert_true(reader.drained > 0);
    reader_close(&reader);
}

TEST(test_more_and_less_disturb_nobody, struct world *world) {
    struct reader reader = {.world = NULL};
    fill(world, &TOPIC_LOCATIONS, 0, 0, 500);
    fill(world, &TOPIC_SHARING, 3, 0, 20);
    reader_open(&reader, world, NULL, NULL);
    reader_read(&reader, &TOPIC_LOCATIONS, 0, KAFKA_OFFSET_BEGINNING);
    struct kafka_position more = {&TOPIC_SHARING, 3, 5};
    // In the middle of it, again and again: nothing is lost and nothing comes twice.
    for (int i = 0; i < 10; i++) {
        assert_int_equal(kafka_consumer_read_more(reader.consumer, &more, 1, NULL), 0);
        assert_int_equal(kafka_consumer_read_more(reader.consumer, &more, 1, NULL), -EINVAL);
        world_run(world, 3);
        assert_int_equal(kafka_consumer_read_less(reader.consumer, &more, 1, NULL), 0);
        int64_t reached = kafka_consumer_position(reader.consumer, &TOPIC_SHARING, 3);
        if (reached >= 0) more.offset = reached;
        world_run(world, 3);
    }
    assert_int_equal(kafka_consumer_read_more(reader.consumer, &more, 1, NULL), 0);
    reader_until(&reader, 515);
    int64_t locations = 0, sharing = 5;
    for (size_t i = 0; i < reader.count; i++) {
        int64_t *next = reader.seen[i].topic == &TOPIC_LOCATIONS ? &locations : &sharing;
        assert_int_equal(reader.seen[i].offset, (*next)++);
    }
    reader_close(&reader);
}

/* librdkafka alone aborts when it is given a third list while it still stops a partition of the first. */
TEST(test_changes_in_quick_succession, struct world *world) {
    struct reader reader = {.world = NULL};
    fill(world, &TOPIC_LOCATIONS, 0, 0, 50);
    reader_open(&reader, world, NULL, NULL);
    struct kafka_position all[3 * PARTITIONS];
    for (int32_t p = 0; p < PARTITIONS; p++) {
        all[3 * p] = (struct kafka_position){&TOPIC_LOCATIONS, p, 0};
        all[3 * p + 1] = (struct kafka_position){&TOPIC_SHARING, p, 0};
        all[3 * p + 2] = (struct kafka_position){&TOPIC_PROFILES, p, KAFKA_OFFSET_BEGINNING};
    }
    for (int i = 0; i < 500; i++) {
        assert_int_equal(kafka_consumer_read(reader.consumer, all, (size_t)(3 * PARTITIONS - i % 2), NULL), 0);
        if (i % 50 == 0) world_run(world, 10);
    }
    reader.count = 0;
    assert_int_equal(kafka_consumer_read(reader.consumer, all, 3 * PARTITIONS, NULL), 0);
    reader_until(&reader, 50);
    assert_values(&reader, 0, 0, 50);
    reader_close(&reader);
}

TEST(test_refuses_what_cannot_be_read, struct world *world) {
    struct reader reader = {.world = NULL};
    reader_open(&reader, world, NULL, NULL);
    struct kafka_position twice[] = {{&TOPIC_SHARING, 1, 0}, {&TOPIC_SHARING, 2, 0}, {&TOPIC_SHARING, 1, 0}};
    assert_fails(kafka_consumer_read(reader.consumer, twice, 3, &failure), -EINVAL, "sharing/1");
    struct kafka_position nowhere = {&TOPIC_SHARING, 1, KAFKA_OFFSET_NONE};
    assert_int_equal(kafka_consumer_read(reader.consumer, &nowhere, 1, &failure), -EINVAL);
    struct kafka_position no_partition = {&TOPIC_SHARING, -1, 0}, no_topic = {NULL, 0, 0};
    assert_int_equal(kafka_consumer_read(reader.consumer, &no_partition, 1, NULL), -EINVAL);
    assert_int_equal(kafka_consumer_read(reader.consumer, &no_topic, 1, NULL), -EINVAL);
    assert_int_equal(kafka_consumer_seek(reader.consumer, &twice[0], NULL), -ENOENT);
    assert_int_equal(kafka_consumer_pause(reader.consumer, &TOPIC_SHARING, 1), -ENOENT);
    reader_close(&reader);
}

static bool at_thirty(void *context) {
    return kafka_consumer_position(((struct reader *)context)->consumer, &TOPIC_LOCATIONS, 0) == 30;
}

TEST(test_seeks, struct world *world) {
    struct reader reader = {.world = NULL};
    fill(world, &TOPIC_LOCATIONS, 0, 0, 30);
    reader_open(&reader, world, NULL, NULL);
    reader_read(&reader, &TOPIC_LOCATIONS, 0, 20);
    // At once, while fetching is only being started: librdkafka alone would deliver nothing for ever.
    struct kafka_position back = {&TOPIC_LOCATIONS, 0, 25};
    assert_int_equal(kafka_consumer_seek(reader.consumer, &back, NULL), 0);
    reader_until(&reader, 5);
    assert_values(&reader, 0, 25, 30);
    back.offset = 3;
    assert_int_equal(kafka_consumer_seek(reader.consumer, &back, NULL), 0);
    assert_int_equal(kafka_consumer_position(reader.consumer, &TOPIC_LOCATIONS, 0), 3);
    reader_until(&reader, 32);
    assert_values(&reader, 5, 3, 30);
    back.offset = KAFKA_OFFSET_BEGINNING;
    assert_int_equal(kafka_consumer_seek(reader.consumer, &back, NULL), 0);
    reader_until(&reader, 62);
    assert_values(&reader, 32, 0, 30);
    back.offset = KAFKA_OFFSET_END;
    assert_int_equal(kafka_consumer_seek(reader.consumer, &back, NULL), 0);
    assert_int_not_equal(kafka_consumer_position(reader.consumer, &TOPIC_LOCATIONS, 0), 30); // the broker is asked
    world_until(world, at_thirty, &reader, "the end is known");
    fill(world, &TOPIC_LOCATIONS, 0, 30, 31);
    reader_until(&reader, 63);
    assert_values(&reader, 62, 30, 31);
    reader_close(&reader);
}

static void seek_back_once(struct reader *reader) {
    const struct seen *last = &reader->seen[reader->count - 1];
    if (last->offset < 15 || reader->context) return;
    reader->context = reader;
    struct kafka_position back = {&TOPIC_LOCATIONS, 0, 2};
    assert_int_equal(kafka_consumer_seek(reader->consumer, &back, NULL), 0);
}

TEST(test_seeks_from_within_records, struct world *world) {
    struct reader reader = {.on_records = seek_back_once};
    fill(world, &TOPIC_LOCATIONS, 0, 0, 100);
    reader_open(&reader, world, NULL, NULL);
    reader_read(&reader, &TOPIC_LOCATIONS, 0, 0);
    // Batches of 7: the one that ends at 20 is the first to reach 15; then 2 to 99.
    reader_until(&reader, 21 + 98);
    assert_values(&reader, 0, 0, 21);
    assert_values(&reader, 21, 2, 100);
    reader_close(&reader);
}

TEST(test_pauses_one_partition, struct world *world) {
    struct reader reader = {.world = NULL};
    reader_open(&reader, world, NULL, NULL);
    struct kafka_position both[] = {{&TOPIC_LOCATIONS, 0, 0}, {&TOPIC_LOCATIONS, 1, 0}};
    assert_int_equal(kafka_consumer_read(reader.consumer, both, 2, NULL), 0);
    fill(world, &TOPIC_LOCATIONS, 0, 0, 10);
    reader_until(&reader, 10);
    assert_int_equal(kafka_consumer_pause(reader.consumer, &TOPIC_LOCATIONS, 0), 0);
    fill(world, &TOPIC_LOCATIONS, 0, 10, 20);
    fill(world, &TOPIC_LOCATIONS, 1, 0, 10);
    reader_until(&reader, 20);
    // Reading more must not wake it.
    struct kafka_position more = {&TOPIC_LOCATIONS, 2, 0};
    assert_int_equal(kafka_consumer_read_more(reader.consumer, &more, 1, NULL), 0);
    world_run(world, 300);
    assert_int_equal(reader_count(&reader, &TOPIC_LOCATIONS, 0), 10);
    assert_int_equal(reader_count(&reader, &TOPIC_LOCATIONS, 1), 10);
    assert_int_equal(kafka_consumer_resume(reader.consumer, &TOPIC_LOCATIONS, 0), 0);
    reader_until(&reader, 30);
    assert_values(&reader, 20, 10, 20);
    reader_close(&reader);
}

/* librdkafka keeps a partition paused that is assigned anew: the router that had to begin again with its commands while there
 * were too many of them to read on never read one more. */
TEST(test_reading_again_ends_a_pause, struct world *world) {
    struct reader reader = {.world = NULL};
    struct kafka_position from = {&TOPIC_LOCATIONS, 0, 5};
    fill(world, &TOPIC_LOCATIONS, 0, 0, 10);
    reader_open(&reader, world, NULL, NULL);
    reader_read(&reader, &TOPIC_LOCATIONS, 0, 0);
    reader_until(&reader, 10);
    assert_int_equal(kafka_consumer_pause(reader.consumer, &TOPIC_LOCATIONS, 0), 0);
    assert_int_equal(kafka_consumer_read_less(reader.consumer, &from, 1, NULL), 0);
    assert_int_equal(kafka_consumer_read_more(reader.consumer, &from, 1, NULL), 0);
    reader_until(&reader, 15);
    assert_int_equal(kafka_consumer_pause(reader.consumer, &TOPIC_LOCATIONS, 0), 0);
    assert_int_equal(kafka_consumer_read(reader.consumer, &from, 1, NULL), 0);
    reader_until(&reader, 20);
    assert_values(&reader, 10, 5, 10);
    assert_values(&reader, 15, 5, 10);
    reader_close(&reader);
}

static void hold_first(struct reader *reader) {
    if (reader->context) return;
    reader->context = reader;
    kafka_consumer_hold(reader->consumer, true);
}

/* Shorter than the second after which it must poll all the same, and longer. */
static void hold_for(struct world *world, int ms) {
    FREED_BY(reader_close) struct reader reader = {.on_records = hold_first};
    reader_open(&reader, world, NULL, NULL);
    reader_read(&reader, &TOPIC_LOCATIONS, 0, 0);
    reader_until(&reader, 7);
    world_run(world, ms);
    assert_int_equal(reader.count, 7);
    assert_int_equal(kafka_consumer_position(reader.consumer, &TOPIC_LOCATIONS, 0), 7);
    assert_int_equal(kafka_consumer_lag(reader.consumer, &TOPIC_LOCATIONS, 0), 93);
    kafka_consumer_hold(reader.consumer, false);
    reader_until(&reader, 100);
    assert_values(&reader, 0, 0, 100);
}

TEST(test_holds, struct world *world) {
    fill(world, &TOPIC_LOCATIONS, 0, 0, 100);
    hold_for(world, 100);
    hold_for(world, 2500);
}

TEST(test_holds_while_reading_elsewhere, struct world *world) {
    fill(world, &TOPIC_LOCATIONS, 0, 0, 20);
    fill(world, &TOPIC_LOCATIONS, 1, 0, 20);
    FREED_BY(reader_close) struct reader reader = {.world = NULL};
    reader_open(&reader, world, NULL, NULL);
    kafka_consumer_hold(reader.consumer, true);
    world_run(world, 1500);
    struct kafka_position both[] = {{&TOPIC_LOCATIONS, 0, 0}, {&TOPIC_LOCATIONS, 1, 0}};
    assert_int_equal(kafka_consumer_read(reader.consumer, both, 2, NULL), 0);
    assert_int_equal(kafka_consumer_pause(reader.consumer, &TOPIC_LOCATIONS, 1), 0);
    world_run(world, 1500);
    assert_int_equal(reader.count, 0);
    kafka_consumer_hold(reader.consumer, false);
    reader_until(&reader, 20);
    world_run(world, 200);
    assert_int_equal(reader_count(&reader, &TOPIC_LOCATIONS, 1), 0); // paused by its owner, still
    assert_int_equal(kafka_consumer_resume(reader.consumer, &TOPIC_LOCATIONS, 1), 0);
    reader_until(&reader, 40);
}

TEST(test_lost_offset_is_told, struct world *world) {
    fill(world, &TOPIC_LOCATIONS, 2, 0, 5);
    FREED_BY(reader_close) struct reader reader = {.world = NULL};
    reader_open(&reader, world, NULL, NULL);
    reader_read(&reader, &TOPIC_LOCATIONS, 2, 1000000);
    reader_until(&reader, 5);
    assert_int_equal(reader.offsets_lost, 1);
    assert_values(&reader, 0, 0, 5);
}

TEST(test_ends_and_times, struct world *world) {
    struct reader reader = {.world = NULL};
    reader_open(&reader, world, NULL, NULL);
    int64_t low, high;
    fill(world, &TOPIC_LOCATIONS, 0, 0, 3);
    world_run(world, 20);
    int64_t between = clock_wall_ms();
    world_run(world, 20);
    fill(world, &TOPIC_LOCATIONS, 0, 3, 5);
    if (kafka_consumer_watermarks(reader.consumer, &TOPIC_LOCATIONS, 0, &low, &high, PATIENCE_MS, &failure))
        fail_msg("%s", failure.text);
    assert_int_equal(low, 0);
    assert_int_equal(high, 5);
    assert_int_equal(
        kafka_consumer_watermarks(reader.consumer, &TOPIC_LOCATIONS, 99, &low, &high, PATIENCE_MS, &failure), -ENOENT);

    struct kafka_position at[] = {{&TOPIC_LOCATIONS, 0, 0}, {&TOPIC_LOCATIONS, 1, 0}};
    if (kafka_consumer_offsets_at(reader.consumer, at, 2, between, PATIENCE_MS, &failure)) fail_msg("%s", failure.text);
    assert_int_equal(at[0].offset, 3);
    assert_int_equal(at[1].offset, 0);
    if (kafka_consumer_offsets_at(reader.consumer, at, 2, 0, PATIENCE_MS, &failure)) fail_msg("%s", failure.text);
    assert_int_equal(at[0].offset, 0);
    if (kafka_consumer_offsets_at(reader.consumer, at, 2, clock_wall_ms() + 60000, PATIENCE_MS, &failure))
        fail_msg("%s", failure.text);
    assert_int_equal(at[0].offset, 5);
    assert_int_equal(at[1].offset, 0);
    struct kafka_position ends[] = {{&TOPIC_LOCATIONS, 1, 7}, {&TOPIC_LOCATIONS, 0, 7}};
    if (kafka_consumer_ends(reader.consumer, ends, 2, PATIENCE_MS, &failure)) fail_msg("%s", failure.text);
    assert_int_equal(ends[0].offset, 0);
    assert_int_equal(ends[1].offset, 5);
    reader_close(&reader);
}

enum { HOARD = 600000, PAUSE_EVERY = 100000, PAUSE_MS = 100, LONG_MS = 800 };

/* Handles records, with a long pause now and then; and how often nothing came for long although there was more. */
struct slow {
    size_t count, paused_at;
    int64_t last_us;
    int gaps;
};

static void take_slowly(void *context, const struct kafka_record *records, size_t count) {
    struct slow *slow = context;
    for (size_t i = 0; i < count; i++) assert_int_equal(records[i].offset, slow->count + i);
    if (slow->last_us && clock_monotonic_us() - slow->last_us > LONG_MS * 1000) slow->gaps++;
    slow->count += count;
    if (slow->count - slow->paused_at >= PAUSE_EVERY) {
        slow->paused_at = slow->count;
        usleep(PAUSE_MS * 1000);
    }
    slow->last_us = clock_monotonic_us();
}

static bool took_all(void *context) { return ((struct slow *)context)->count == HOARD; }

/* librdkafka stops fetching when it has fetched so much that was not taken yet, and by itself it goes on a second later. */
TEST(test_a_full_queue_that_is_drained_fills_at_once, struct world *world) {
    struct kafka_producer *producer = world_producer(world, NULL);
    for (int i = 0; i < HOARD; i++) {
        world_send(world, producer, &TOPIC_LOCATIONS, 0, "x");
        if (i % 10000 == 0) uv_run(&world->loop, UV_RUN_NOWAIT);
    }
    world_flush(world, producer);
    kafka_producer_free(producer, 0);
    struct slow slow = {.count = 0};
    struct kafka_consumer *consumer;
    struct kafka_consumer_options options = {
        .loop = &world->loop, .settings = &world->settings, .context = &slow, .on_records = take_slowly};
    assert_int_equal(kafka_consumer_new(&options, &consumer, NULL), 0);
    struct kafka_position start = {&TOPIC_LOCATIONS, 0, 0};
    assert_int_equal(kafka_consumer_read(consumer, &start, 1, NULL), 0);
    world_until(world, took_all, &slow, "all is read");
    assert_in_range(slow.gaps, 0, 2); // a busy machine's own; without being woken there are four
    kafka_consumer_free(consumer);
}

static int settings_code(struct world *world, const char *key, const char *value, struct error *error) {
    struct config_pair pair = {.key = key, .value = value};
    struct kafka_settings settings = world->settings;
    settings.extra = &pair;
    settings.extra_count = 1;
    struct kafka_consumer_options options = {.loop = &world->loop, .settings = &settings};
    struct kafka_consumer *consumer = NULL;
    int code = kafka_consumer_new(&options, &consumer, error);
    kafka_consumer_free(consumer);
    return code;
}

TEST(test_properties_of_the_user, struct world *world) {
    assert_int_equal(settings_code(world, "fetch.max.bytes", "1000000", &failure), 0);
    assert_int_equal(settings_code(world, "linger.ms", "7", &failure),
                     0); // a producer's: the same list goes to both kinds
    assert_fails(settings_code(world, "fetch.max.byte", "1", &failure), -EINVAL, "kafka.fetch.max.byte");
    assert_fails(settings_code(world, "fetch.max.bytes", "many", &failure), -EINVAL, "kafka.fetch.max.bytes=many");
    assert_int_equal(settings_code(world, "enable.auto.commit", "true", &failure), -EINVAL);
    assert_int_equal(settings_code(world, "partition.assignment.strategy", "cooperative-sticky", &failure), -EINVAL);
    assert_int_equal(settings_code(world, "partition.assignment.strategy", "roundrobin", &failure), 0);
}
