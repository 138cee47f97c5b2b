/* The feed's outbox when Kafka does not take its records. */
#include "event/topics.h"
#include "fakes/kafka.h"
#include "feed/outbox.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 4 };

struct world {
    uv_loop_t loop;
    struct kafka_settings kafka;
    struct log *log;
    struct metrics *metrics;
    struct epochs *epochs;
    struct outbox *outbox;
    int lost, failed;
};

static void lost(void *context) { ((struct world *)context)->lost++; }

static void failed(void *context, const char *doing, const struct error *error) {
    assert_true(doing[0] && error->text[0]);
    ((struct world *)context)->failed++;
}

static void end(void *it) {
    struct world *w = it;
    outbox_free(w->outbox);
    kit_loop_end(&w->loop);
}

static struct world *world_new(void) {
    struct world *w = kit_zero(sizeof *w);
    *w = (struct world){.log = kit_log(), .metrics = kit_metrics(), .epochs = kit_epochs()};
    w->kafka = (struct kafka_settings){.log = w->log};
    uv_loop_init(&w->loop);
    fake_kafka_start();
    fake_topic(&TOPIC_TIMELINES, PARTITIONS);
    fake_topic(&TOPIC_FOLLOWER_COMMANDS, PARTITIONS);
    fake_topic(&TOPIC_DELIVERIES, PARTITIONS);
    assert_int_equal(outbox_new(&(struct outbox_options){.loop = &w->loop,
                                                         .kafka = &w->kafka,
                                                         .metrics = w->metrics,
                                                         .partitions = PARTITIONS,
                                                         .routes = PARTITIONS,
                                                         .queue_bytes = 1 << 20,
                                                         .flush_bytes = 65536,
                                                         .flush_us = 1000000,
                                                         .epochs = w->epochs,
                                                         .context = w,
                                                         .lost = lost,
                                                         .failed = failed},
                                &w->outbox, &failure),
                     0);
    kit_after(end, w);
    return w;
}

static void put_item(struct world *w) {
    const struct timeline_item item = {.kind = TIMELINE_ITEM_PUSH, .push = {.author = 1, .id = 2}};
    const int64_t reader = 7;
    outbox_put(w->outbox, &TOPIC_TIMELINES, 1, &reader, 1, &item);
    outbox_flush(w->outbox);
}

static void put_command(struct world *w) {
    const struct follower_command command = {.kind = FOLLOWER_COMMAND_END, .author = 1, .reader = 2, .time = 3};
    outbox_follower_command(w->outbox, &command);
}

/* Closes the open epoch. */
static uint64_t close_epoch(struct world *w) {
    uint64_t epoch = epochs_open(w->epochs);
    assert_true(epochs_close(w->epochs));
    return epoch;
}

TEST(a_full_queue_is_waited_for) {
    struct world *w = world_new();
    fake_fail(FAKE_SEND, -EAGAIN, 2);
    put_item(w);
    put_command(w);
    uint64_t epoch = close_epoch(w);
    assert_true(outbox_blocked(w->outbox) && epochs_settled(w->epochs) <= epoch);
    assert_true(outbox_retry(w->outbox));
    FAKE_UNTIL(&w->loop, epochs_settled(w->epochs) > epoch);
    assert_true(!w->failed && !w->lost);
}

/* Records that were not sent must not count as sent: the process ends, and the next owner carries out their effects. */
static void fails(void (*put)(struct world *)) {
    struct world *w = world_new();
    put(w);
    uint64_t sent = close_epoch(w);
    FAKE_UNTIL(&w->loop, epochs_settled(w->epochs) > sent);
    fake_fail(FAKE_SEND, -EIO, 1);
    put(w);
    assert_int_equal(w->failed, 1);
    put(w);
    assert_false(outbox_retry(w->outbox));
    uint64_t epoch = close_epoch(w);
    for (int i = 0; i < 10; i++) fake_turn(&w->loop);
    assert_true(epochs_settled(w->epochs) <= epoch);
    assert_int_equal(w->failed, 1);
}

TEST(a_batch_that_cannot_be_sent_ends_the_process) { fails(put_item); }

TEST(a_command_that_cannot_be_sent_ends_the_process) { fails(put_command); }

TEST(a_lost_delivery_repeats_nothing) {
    struct world *w = world_new();
    fake_fail_reports(1, -ETIMEDOUT, false);
    outbox_deliver(w->outbox, 1, "x", 1);
    outbox_flush_deliveries(w->outbox);
    uint64_t epoch = close_epoch(w);
    FAKE_UNTIL(&w->loop, epochs_settled(w->epochs) > epoch);
    assert_true(!w->failed && !w->lost);
}
