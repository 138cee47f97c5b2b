/* Sharing of many users that ends in the same moment: how much is done at a time, and what is written. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "event/codec.h"
#include "event/topics.h"
#include "fakes/kafka.h"
#include "router/opting.h"

enum { USERS = 10000, INACTIVE_MS = 600000, AT_ONCE = 4000 };

struct world {
    uv_loop_t loop;
    struct kafka_settings kafka;
    struct log *log;
    struct metrics *registry;
    struct router_metrics metrics;
    struct presence *presence;
    struct report_clock *clock;
    struct sending *sending;
    struct opting *opting;
    int64_t now;
};

static void on_leave(void *context, uint64_t ticket, bool stored) {
    opting_acknowledge(((struct world *)context)->opting, ticket, stored);
}

static void begin(struct world *w) {
    struct error error;
    *w = (struct world){
        .log = log_new(stderr, "test", LOG_ERROR_LEVEL, LOG_LOGFMT),
        .registry = metrics_new(),
        .presence = presence_new(),
        .clock = report_clock_new(true, 1, 0, INT64_MAX / 2),
        .now = 1000000,
    };
    w->kafka = (struct kafka_settings){.log = w->log};
    uv_loop_init(&w->loop);
    fake_kafka_start();
    fake_topic(&TOPIC_LOCATIONS, 1);
    router_metrics_init(&w->metrics, w->registry);
    const struct sending_options sending = {.loop = &w->loop,
                                            .kafka = &w->kafka,
                                            .log = w->log,
                                            .metrics = &w->metrics,
                                            .queue_bytes = 1 << 24,
                                            .context = w,
                                            .on_leave = on_leave};
    assert_int_equal(sending_new(&sending, &w->sending, &error), 0);
    w->opting = opting_new(&(struct opting_options){.log = w->log,
                                                    .partitions = 1,
                                                    .inactive_ms = INACTIVE_MS,
                                                    .presence = w->presence,
                                                    .clock = w->clock,
                                                    .sending = w->sending});
    assert_int_equal(SHARING_KIND.open(w->opting, 0, 0, 0, &error), 0);
    assert_int_equal(SHARING_KIND.own(w->opting, 0, 0, KAFKA_OFFSET_NONE), KAFKA_OFFSET_NONE);
}

static void end(struct world *w) {
    sending_free(w->sending);
    opting_free(w->opting);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    report_clock_free(w->clock);
    presence_free(w->presence);
    metrics_free(w->registry);
    log_free(w->log);
    fake_kafka_stop();
}

/* The stream's time. */
static void advance(struct world *w, int64_t now) {
    struct location report = {.user = USERS, .time = now, .kind = LOCATION_REPORT, .route = -1, .opted = -1};
    w->now = now;
    assert_true(report_clock_accept(w->clock, 0, &report));
}

static void share_until(struct world *w, int64_t user, int64_t until) {
    struct buffer value = {.data = NULL};
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    event_encode_sharing(&value, &(struct sharing){.mode = SHARING_FRIENDS, .until = until});
    const struct kafka_record record = {.topic = &TOPIC_SHARING,
                                        .offset = user,
                                        .key = key,
                                        .key_size = sizeof key,
                                        .value = value.data,
                                        .value_size = value.size};
    const char *reason = NULL;
    struct error error;
    assert_int_equal(SHARING_KIND.take(w->opting, 0, &record, &reason, &error), 0);
    assert_null(reason);
    buffer_free(&value);
    const struct location report = {.user = user, .time = w->now, .kind = LOCATION_REPORT, .route = -1, .opted = user};
    assert_true(presence_apply(w->presence, &report, NULL, NULL) != PRESENCE_UNCHANGED);
}

static size_t leaves(struct world *w) {
    for (int i = 0; i < 3; i++) fake_turn(&w->loop);
    return (size_t)w->metrics.leaves->value;
}

/* The router reads its own LEAVEs. */
static void read_leaves(struct world *w) {
    struct codec *codec = codec_new();
    struct location event;
    for (size_t i = 0; i < fake_count(&TOPIC_LOCATIONS, 0); i++) {
        struct fake_record record = fake_record_at(&TOPIC_LOCATIONS, 0, i);
        assert_int_equal(event_decode_location(codec, record.value, record.value_size, &event, NULL), 0);
        presence_apply(w->presence, &event, NULL, NULL);
    }
    codec_free(codec);
}

static void ends_that_fall_together(void **state) {
    struct world w;
    int64_t offset;
    begin(&w);
    advance(&w, w.now);
    for (int64_t user = 0; user < USERS; user++) share_until(&w, user, w.now + 1000);
    opting_tenth(w.opting);
    assert_int_equal(leaves(&w), 0);
    advance(&w, w.now + 1000);
    // Before each report, too, and that is no way to more of it.
    for (int i = 0; i < USERS; i++) opting_tick(w.opting);
    assert_in_range(leaves(&w), 1, AT_ONCE);
    for (int64_t user = 0; user < USERS; user++) assert_true(opting_refuses(w.opting, 0, user, user, &offset));
    for (int tenth = 0; leaves(&w) < USERS; tenth++) {
        size_t before = leaves(&w);
        assert_true(tenth < 20);
        opting_tenth(w.opting);
        assert_in_range(leaves(&w), before + 1, before + AT_ONCE);
    }
    // Presence has read none of them for seconds: each was sent once all the same.
    for (int tenth = 0; tenth < 100; tenth++) opting_tenth(w.opting);
    assert_int_equal(leaves(&w), USERS);
    read_leaves(&w);
    for (int64_t user = 0; user < USERS; user++) assert_true(presence_find(w.presence, user)->left);
    for (int tenth = 0; tenth < 100; tenth++) opting_tenth(w.opting);
    assert_int_equal(leaves(&w), USERS);
    end(&w);
}

/* Those that Kafka did not take go out again. */
static void lost_leaves_are_sent_again(void **state) {
    enum { LOST = 10, FEW = 50 };
    struct world w;
    begin(&w);
    advance(&w, w.now);
    for (int64_t user = 0; user < FEW; user++) share_until(&w, user, w.now + 1000);
    fake_fail_reports(LOST, -EIO, false);
    advance(&w, w.now + 1000);
    for (int tenth = 0; tenth < 30; tenth++) {
        opting_tenth(w.opting);
        leaves(&w);
    }
    read_leaves(&w);
    for (int64_t user = 0; user < FEW; user++) assert_true(presence_find(w.presence, user)->left);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_that_fall_together),
        cmocka_unit_test(lost_leaves_are_sent_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
