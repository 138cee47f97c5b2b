/* Tests handles.c and renewal.c. A producer whose client is of no use any more makes a new one. */
#include <librdkafka/rdkafka.h>

#include "event/topics.h"
#include "kafka/producer_private.h"
#include "unit/kit/kit.h"
#include "world.h"

struct writing {
    struct metrics *metrics;
    struct kafka_producer *producer;
    int acknowledged, failed, stopped, again;
    char reason[256];
};

static void delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                      int64_t offset) {
    struct writing *writing = context;
    code ? writing->failed++ : writing->acknowledged++;
}

static void told(void *context, const char *reason) {
    struct writing *writing = context;
    reason ? writing->stopped++ : writing->again++;
    if (reason) snprintf(writing->reason, sizeof writing->reason, "%s", reason);
}

static void begin(struct writing *writing, struct world *world) {
    *writing = (struct writing){.metrics = metrics_new()};
    world->settings.on_writes = told;
    world->settings.writes_context = writing;
    world->settings.unwritten = metrics_counter(writing->metrics, "unwritten", "Not written.", NULL);
    struct kafka_producer_options options = {
        .loop = &world->loop, .settings = &world->settings, .context = writing, .on_delivered = delivered};
    assert_int_equal(kafka_producer_new(&options, &writing->producer, NULL), 0);
}

static void end(struct writing *writing) {
    kafka_producer_free(writing->producer, 5000);
    metrics_free(writing->metrics);
}

static bool acknowledged(void *context) { return ((struct writing *)context)->acknowledged > 0; }

static bool failed(void *context) { return ((struct writing *)context)->failed > 0; }

static bool is_told(void *context) { return ((struct writing *)context)->stopped > 0; }

static bool is_up(void *context) { return kafka_producer_up(((struct writing *)context)->producer); }

/* Writes again, and waits until that is acknowledged. */
static void write_again(struct writing *writing, struct world *world) {
    world_until(world, is_up, writing, "a broker is there");
    writing->acknowledged = 0;
    world_send(world, writing->producer, &TOPIC_SHARING, 0, "again");
    world_until(world, acknowledged, writing, "it is acknowledged");
}

SET_UP() { return world_create(true); }

TEST(test_librdkafka_gives_up, struct world *world) {
    struct writing writing;
    begin(&writing, world);
    write_again(&writing, world);
    int64_t began_us = clock_monotonic_us();
    rd_kafka_test_fatal_error(writing.producer->client, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "a lost place");
    assert_int_equal(kafka_producer_send(writing.producer, &TOPIC_SHARING, 0, "k", 1, "v", 1, NULL), -EHOSTDOWN);
    world_until(world, is_told, &writing, "others are told");
    assert_non_null(strstr(writing.reason, "a lost place"));
    write_again(&writing, world);
    assert_true(clock_monotonic_us() - began_us < 10000000);
    assert_int_equal(writing.stopped, 1);
    assert_int_equal(writing.again, 1);
    assert_int_equal(kafka_producer_pending(writing.producer), 0);
    end(&writing);
}

/* The broker answers, and is given nothing for longer than a client's time, 8 s. The next client has 16. */
TEST(test_nothing_is_acknowledged, struct world *world) {
    static const struct config_pair LATE = {.key = "linger.ms", .value = "12500"};
    FREED_BY(end) struct writing writing;
    world->settings.extra = &LATE;
    world->settings.extra_count = 1;
    begin(&writing, world);
    const rd_kafka_t *client = writing.producer->client;
    world_until(world, is_up, &writing, "a broker is there");
    int64_t began_us = clock_monotonic_us();
    world_send(world, writing.producer, &TOPIC_SHARING, 0, "waits");
    world_until(world, is_told, &writing, "others are told");
    world_until(world, failed, &writing, "its fate is told");
    assert_in_range(clock_monotonic_us() - began_us, 7000000, 12500000);
    assert_int_equal(world->settings.unwritten->value, 1);
    assert_ptr_not_equal(client, writing.producer->client);
    write_again(&writing, world);
    assert_int_equal(writing.stopped, 1);
    assert_int_equal(writing.again, 1);
}
