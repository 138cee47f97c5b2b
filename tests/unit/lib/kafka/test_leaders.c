/* A client remembers which broker leads a partition. When that broker is gone, another one leads: librdkafka's brokers in memory. */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "kafka/consumer.h"
#include "unit/kit/kit.h"

enum { FIRST = 1, SECOND = 2, BROKERS = 2, ANSWER_MS = 3000, SILENCE_MS = 300, TRIES = 5 };

static const struct topic TOPIC = {.name = "topic"};
static const struct topic *const ALL[] = {&TOPIC};
static const struct topic_list TOPICS = {ALL, 1};

struct brokers {
    rd_kafka_t *client;
    rd_kafka_mock_cluster_t *cluster;
    uv_loop_t loop;
    struct kafka_settings settings;
    struct kafka_consumer *consumer;
};

SET_UP() {
    static struct brokers brokers;
    char reason[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    brokers.client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
    brokers.cluster = rd_kafka_mock_cluster_new(brokers.client, BROKERS);
    assert_int_equal(rd_kafka_mock_topic_create(brokers.cluster, "topic", 1, BROKERS), 0);
    assert_int_equal(rd_kafka_mock_partition_set_leader(brokers.cluster, "topic", 0, FIRST), 0);
    uv_loop_init(&brokers.loop);
    brokers.settings = (struct kafka_settings){
        .bootstrap = rd_kafka_mock_cluster_bootstraps(brokers.cluster), .prefix = "", .topics = &TOPICS};
    assert_int_equal(
        kafka_consumer_new(&(struct kafka_consumer_options){.loop = &brokers.loop, .settings = &brokers.settings},
                           &brokers.consumer, &failure),
        0);
    return &brokers;
}

TEAR_DOWN(struct brokers *brokers) {
    kafka_consumer_free(brokers->consumer);
    uv_run(&brokers->loop, UV_RUN_DEFAULT);
    uv_loop_close(&brokers->loop);
    rd_kafka_mock_cluster_destroy(brokers->cluster);
    rd_kafka_destroy(brokers->client);
}

static int ends(struct brokers *brokers, int timeout_ms) {
    struct kafka_position position = {.topic = &TOPIC, .partition = 0, .offset = KAFKA_OFFSET_END};
    return kafka_consumer_ends(brokers->consumer, &position, 1, timeout_ms, &failure);
}

/* The client hears of the leader, and of the same one again while nobody has noticed the leader's end. Then another one leads. */
TEST(test_ends_come_from_the_new_leader, struct brokers *brokers) {
    assert_int_equal(ends(brokers, ANSWER_MS), 0);
    rd_kafka_mock_broker_set_down(brokers->cluster, FIRST);
    assert_int_not_equal(ends(brokers, SILENCE_MS), 0);
    assert_int_not_equal(ends(brokers, SILENCE_MS), 0);
    rd_kafka_mock_partition_set_leader(brokers->cluster, "topic", 0, SECOND);
    int code = -1;
    for (int tries = 0; tries < TRIES && code; tries++) code = ends(brokers, ANSWER_MS);
    assert_int_equal(code, 0);
}
