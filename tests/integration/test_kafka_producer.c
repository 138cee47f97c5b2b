/* Tests dead_letters.c, producer.c and settings.c. Sending: partitions, fates, tombstones, dead letters, limits. */
#include <librdkafka/rdkafka.h>

#include "base/bytes.h"
#include "event/topics.h"
#include "unit/kit/kit.h"
#include "world.h"

struct fates {
    int acknowledged, failed, last_code, last_partition;
    int64_t last_offset;
    void *last_opaque;
    const struct topic *last_topic;
    int ups, downs;
};

static void delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                      int64_t offset) {
    struct fates *fates = context;
    code ? fates->failed++ : fates->acknowledged++;
    fates->last_code = code;
    fates->last_opaque = opaque;
    fates->last_topic = topic;
    fates->last_partition = partition;
    fates->last_offset = offset;
}

static void broker(void *context, bool up, const char *reason) {
    struct fates *fates = context;
    up ? fates->ups++ : fates->downs++;
}

static struct kafka_producer *open_producer(struct world *world, struct fates *fates, size_t queue_bytes) {
    struct kafka_producer_options options = {
        .loop = &world->loop,
        .settings = &world->settings,
        .queue_bytes = queue_bytes,
        .context = fates,
        .on_delivered = delivered,
        .on_broker = broker,
    };
    struct kafka_producer *producer = NULL;
    if (kafka_producer_new(&options, &producer, &failure)) fail_msg("%s", failure.text);
    return producer;
}

SET_UP() { return world_create(true); }

TEST(test_fates_are_told, struct world *world) {
    struct fates fates = {.acknowledged = 0};
    struct kafka_producer *producer = open_producer(world, &fates, 0);
    int mine;
    assert_int_equal(kafka_producer_send(producer, &TOPIC_SHARING, 2, "key", 3, "one", 3, NULL), 0);
    assert_int_equal(kafka_producer_send(producer, &TOPIC_SHARING, 2, "key", 3, "two", 3, &mine), 0);
    assert_int_equal(kafka_producer_pending(producer), 2);
    world_flush(world, producer);
    assert_int_equal(fates.acknowledged, 2);
    assert_int_equal(fates.last_topic, &TOPIC_SHARING);
    assert_int_equal(fates.last_partition, 2);
    assert_int_equal(fates.last_offset, 1);
    assert_ptr_equal(fates.last_opaque, &mine);
    assert_true(kafka_producer_up(producer));
    // A partition that is not there is found out later, when the topic is known, or at once.
    int code = kafka_producer_send(producer, &TOPIC_SHARING, 99, NULL, 0, "x", 1, NULL);
    if (!code) {
        world_flush(world, producer);
        assert_int_equal(fates.failed, 1);
        assert_int_equal(fates.last_code, -ENOENT);
    } else {
        assert_int_equal(code, -EHOSTDOWN);
    }
    FREED char *huge = mem_zero(1, 2 << 20);
    assert_int_equal(kafka_producer_send(producer, &TOPIC_SHARING, 2, NULL, 0, huge, 2 << 20, NULL), -EINVAL);
    assert_int_equal(kafka_producer_pending(producer), 0);
    kafka_producer_free(producer, 1000);
}

TEST(test_keys_choose_the_partition_as_java_does, struct world *world) {
    struct fates fates = {.acknowledged = 0};
    struct kafka_producer *producer = open_producer(world, &fates, 0);
    for (int64_t user = 0; user < 40; user++) {
        uint8_t key[16];
        bytes_put_be64(key, (uint64_t)(user * 1234567));
        bytes_put_be64(key + 8, (uint64_t)user * 7);
        int32_t expected = hash_user_partition(user * 1234567, PARTITIONS);
        assert_int_equal(kafka_producer_send(producer, &TOPIC_PROFILES, KAFKA_PARTITION_BY_KEY, key, 8, "p", 1, NULL),
                         0);
        world_flush(world, producer);
        assert_int_equal(fates.last_partition, expected);
        // (user, friend): by the user alone.
        assert_int_equal(
            kafka_producer_send(producer, &TOPIC_FRIENDSHIPS, KAFKA_PARTITION_BY_KEY, key, 16, "f", 1, NULL), 0);
        world_flush(world, producer);
        assert_int_equal(fates.last_partition, expected);
    }
    kafka_producer_free(producer, 1000);
}

TEST(test_tombstones_and_empty_values_differ, struct world *world) {
    struct fates fates = {.acknowledged = 0};
    struct kafka_producer *producer = open_producer(world, &fates, 0);
    assert_int_equal(kafka_producer_send(producer, &TOPIC_PROFILES, 0, "k", 1, NULL, 0, NULL), 0);
    assert_int_equal(kafka_producer_send(producer, &TOPIC_PROFILES, 0, "k", 1, "", 0, NULL), 0);
    kafka_producer_free(producer, 5000);
    assert_int_equal(fates.acknowledged, 2);
    FREED_BY(reader_close) struct reader reader = {.world = NULL};
    reader_open(&reader, world, NULL, NULL);
    reader_read(&reader, &TOPIC_PROFILES, 0, 0);
    reader_until(&reader, 2);
    assert_true(reader.seen[0].tombstone);
    assert_false(reader.seen[1].tombstone);
}

static void assert_header(const rd_kafka_message_t *message, const char *name, const char *expected) {
    rd_kafka_headers_t *headers = NULL;
    const void *value;
    size_t size;
    assert_int_equal(rd_kafka_message_headers(message, &headers), 0);
    assert_int_equal(rd_kafka_header_get_last(headers, name, &value, &size), 0);
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(value, expected, size);
}

static rd_kafka_message_t *first_of(struct world *world, const struct topic *topic, rd_kafka_t **client) {
    char reason[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", world->settings.bootstrap, reason, sizeof reason);
    rd_kafka_conf_set(conf, "group.id", "unused", reason, sizeof reason);
    *client = rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof reason);
    FREED char *name = topic_full_name(&world->settings, topic, true);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, name, 0)->offset = 0;
    rd_kafka_assign(*client, list);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_message_t *message = rd_kafka_consumer_poll(*client, PATIENCE_MS);
    assert_non_null(message);
    assert_int_equal(message->err, 0);
    return message;
}

TEST(test_dead_letters, struct world *world) {
    struct fates fates = {.acknowledged = 0};
    struct kafka_producer *producer = open_producer(world, &fates, 0);
    struct kafka_record record = {
        .topic = &TOPIC_LOCATIONS,
        .partition = 3,
        .offset = 4711,
        .timestamp = 1,
        .key = (const uint8_t *)"\0key",
        .key_size = 4,
        .value = (const uint8_t *)"\0\1garbage",
        .value_size = 9,
    };
    assert_int_equal(kafka_producer_send_dead(producer, &record, "the reason"), 0);
    world_flush(world, producer);
    assert_int_equal(fates.acknowledged + fates.failed, 0); // nobody asked for its fate
    assert_int_equal(kafka_producer_dead_lost(producer), 0);

    rd_kafka_t *client;
    rd_kafka_message_t *message = first_of(world, &TOPIC_LOCATIONS, &client);
    assert_int_equal(message->key_len, 4);
    assert_memory_equal(message->key, "\0key", 4);
    assert_int_equal(message->len, 9);
    assert_memory_equal(message->payload, "\0\1garbage", 9);
    FREED char *source = topic_full_name(&world->settings, &TOPIC_LOCATIONS, false);
    assert_header(message, "__connect.errors.topic", source);
    assert_header(message, "__connect.errors.partition", "3");
    assert_header(message, "__connect.errors.offset", "4711");
    assert_header(message, "__connect.errors.connector.name", "starling-test");
    assert_header(message, "__connect.errors.exception.message", "the reason");
    rd_kafka_message_destroy(message);
    rd_kafka_consumer_close(client);
    rd_kafka_destroy(client);
    kafka_producer_free(producer, 1000);
}

static int fill_queue(struct world *world, struct kafka_producer *producer) {
    char value[1000];
    memset(value, 'x', sizeof value);
    int code = 0;
    for (int i = 0; !code && i < 100000; i++) {
        code = kafka_producer_send(producer, &TOPIC_LOCATIONS, i % PARTITIONS, NULL, 0, value, sizeof value, NULL);
    }
    return code;
}

TEST(test_full_queue_empties_again, struct world *world) {
    struct fates fates = {.acknowledged = 0};
    struct kafka_producer *producer = open_producer(world, &fates, 256 << 10);
    world_send(world, producer, &TOPIC_LOCATIONS, 0, "first");
    world_flush(world, producer);
    while (!kafka_producer_up(producer)) world_run(world, 10);
    assert_int_equal(fill_queue(world, producer), -EAGAIN); // the loop is not run, so no report frees a place
    size_t taken = kafka_producer_pending(producer);
    assert_in_range(taken, 200, 300);
    world_flush(world, producer);
    assert_int_equal(fates.acknowledged, (int)taken + 1);
    assert_int_equal(fates.failed, 0);
    world_send(world, producer, &TOPIC_LOCATIONS, 0, "again");
    world_flush(world, producer);
    kafka_producer_free(producer, 1000);
}

static bool told_down(void *context) { return ((struct fates *)context)->downs > 0; }

TEST(test_no_broker_at_all, struct world *world) {
    struct fates fates = {.acknowledged = 0};
    world->settings.bootstrap = "127.0.0.1:1";
    struct kafka_producer *producer = open_producer(world, &fates, 256 << 10);
    world_until(world, told_down, &fates, "the broker is missed");
    assert_false(kafka_producer_up(producer));
    assert_int_equal(fill_queue(world, producer), -EHOSTDOWN);
    size_t taken = kafka_producer_pending(producer);
    int64_t before = clock_monotonic_us();
    kafka_producer_free(producer, 300);
    assert_in_range(clock_monotonic_us() - before, 250000, 3000000);
    assert_int_equal(fates.failed, (int)taken); // each one's fate is told, also at the end
    assert_int_equal(fates.last_code, -ECANCELED);
    assert_int_equal(fates.downs, 1);
}
