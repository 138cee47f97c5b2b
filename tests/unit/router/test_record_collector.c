/* What a router writes when Kafka does not take it. */
#include "deliver/deliver.h"
#include "event/topics.h"
#include "fakes/kafka.h"
#include "router/record_collector.h"
#include "unit/kit/kit.h"

enum { ROUTES = 4 };

struct world {
    uv_loop_t loop;
    struct kafka_settings kafka;
    struct log *log;
    struct metrics *registry;
    struct router_metrics metrics;
    struct epochs *epochs;
    struct record_collector *collector;
    struct deliver *outbox;
    int failed;
};

static void batch_told(void *context, uint64_t epoch, bool stored) {
    if (stored) epochs_acknowledge(((struct world *)context)->epochs, epoch);
}

static void failed(void *context, const char *doing, const struct error *error) {
    assert_true(doing[0] && error->text[0]);
    ((struct world *)context)->failed++;
}

static void end(void *it) {
    struct world *w = it;
    deliver_free(w->outbox);
    record_collector_free(w->collector);
    kit_loop_end(&w->loop);
}

static struct world *world_new(void) {
    struct world *w = kit_zero(sizeof *w);
    *w = (struct world){.log = kit_log(), .registry = kit_metrics(), .epochs = kit_epochs()};
    w->kafka = (struct kafka_settings){.log = w->log};
    uv_loop_init(&w->loop);
    fake_kafka_start();
    fake_topic(&TOPIC_DELIVERIES, ROUTES);
    router_metrics_init(&w->metrics, w->registry);
    struct record_collector_options options = {.loop = &w->loop,
                                               .kafka = &w->kafka,
                                               .log = w->log,
                                               .metrics = &w->metrics,
                                               .registry = w->registry,
                                               .queue_bytes = 1 << 20,
                                               .context = w,
                                               .on_batch = batch_told,
                                               .failed = failed};
    assert_int_equal(record_collector_new(&options, &w->collector, &failure), 0);
    w->outbox = deliver_new(&(struct deliver_options){.destinations = ROUTES,
                                                      .flush_bytes = 65536,
                                                      .flush_us = 1000000,
                                                      .epochs = w->epochs,
                                                      .context = w->collector,
                                                      .send = record_collector_batch});
    kit_after(end, w);
    return w;
}

/* Sends a batch in an epoch of its own, which it returns. */
static uint64_t send_one(struct world *w) {
    const uint8_t payload = 1;
    const struct deliver_envelope envelope = {.kind = 1, .payload = &payload, .payload_size = 1};
    uint64_t epoch = epochs_open(w->epochs);
    deliver_put(w->outbox, 1, &envelope, 0, clock_monotonic_us());
    deliver_flush(w->outbox);
    assert_true(epochs_close(w->epochs));
    return epoch;
}

TEST(a_full_queue_is_waited_for) {
    struct world *w = world_new();
    fake_fail(FAKE_SEND, -EAGAIN, 1);
    uint64_t epoch = send_one(w);
    assert_true(deliver_blocked(w->outbox));
    assert_true(deliver_retry(w->outbox));
    FAKE_UNTIL(&w->loop, epochs_settled(w->epochs) > epoch);
    assert_int_equal(w->failed, 0);
}

/* Offsets are committed up to epochs that are settled. */
TEST(a_batch_after_a_fatal_error_does_not_count_as_sent) {
    struct world *w = world_new();
    uint64_t sent = send_one(w);
    FAKE_UNTIL(&w->loop, epochs_settled(w->epochs) > sent);
    fake_fail(FAKE_SEND, -EIO, 1);
    uint64_t epoch = send_one(w);
    assert_int_equal(w->failed, 1);
    send_one(w);
    assert_false(deliver_retry(w->outbox));
    for (int i = 0; i < 10; i++) fake_turn(&w->loop);
    assert_true(epochs_settled(w->epochs) <= epoch);
    assert_int_equal(w->failed, 1);
}
