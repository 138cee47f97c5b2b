/* Deliveries to edges that Kafka does not take. */
#include "comments/edges.h"
#include "event/topics.h"
#include "fakes/kafka.h"
#include "unit/kit/kit.h"

enum { ROUTES = 4, LARGE = 2000000 };

struct world {
    uv_loop_t loop;
    struct owner_settings owning;
    struct kafka_settings kafka;
    struct log *log;
    struct metrics *metrics;
    struct epochs *epochs;
    struct edges *edges;
    int failed;
};

static void failed(void *context, const char *doing, const struct error *error) {
    assert_true(doing[0] && error->text[0]);
    ((struct world *)context)->failed++;
}

static void end(void *it) {
    struct world *w = it;
    edges_free(w->edges);
    kit_loop_end(&w->loop);
}

static struct world *world_new(void) {
    struct world *w = kit_zero(sizeof *w);
    *w = (struct world){.owning = {.outbox_flush_bytes = 65536, .outbox_flush_ms = 1000, .outbox_queue_mb = 8},
                        .log = kit_log(),
                        .metrics = kit_metrics(),
                        .epochs = kit_epochs()};
    w->kafka = (struct kafka_settings){.log = w->log};
    uv_loop_init(&w->loop);
    fake_kafka_start();
    fake_topic(&TOPIC_DELIVERIES, ROUTES);
    assert_int_equal(edges_new(&(struct edges_options){.loop = &w->loop,
                                                       .kafka = &w->kafka,
                                                       .metrics = w->metrics,
                                                       .owning = &w->owning,
                                                       .routes = ROUTES,
                                                       .epochs = w->epochs,
                                                       .context = w,
                                                       .failed = failed},
                               &w->edges, &failure),
                     0);
    kit_after(end, w);
    return w;
}

/* It is lost, as any delivery may be: the process goes on, and what was read is committed. */
TEST(test_a_batch_that_is_too_large_is_dropped) {
    struct world *w = world_new();
    FREED uint8_t *large = mem_zero(1, LARGE);
    edges_deliver(w->edges, 1, large, LARGE);
    edges_deliver(w->edges, 1, "small", 5);
    edges_flush(w->edges);
    uint64_t epoch = epochs_open(w->epochs);
    assert_true(epochs_close(w->epochs));
    assert_false(edges_blocked(w->edges));
    FAKE_UNTIL(&w->loop, epochs_settled(w->epochs) > epoch);
    assert_int_equal(w->failed, 0);
    assert_int_equal(fake_count(&TOPIC_DELIVERIES, 1), 1);
}

TEST(test_a_producer_that_has_given_up_ends_the_process) {
    struct world *w = world_new();
    fake_fail(FAKE_SEND, -EIO, 1);
    edges_deliver(w->edges, 1, "small", 5);
    edges_flush(w->edges);
    assert_true(edges_blocked(w->edges));
    assert_int_equal(w->failed, 1);
}
