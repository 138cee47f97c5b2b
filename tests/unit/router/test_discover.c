/* When presence may be read: a router that reads reports before it knows who shares publicly would tell strangers another cell than the
 * routers do that have seen all reports. */
#include "base/bytes.h"
#include "event/codec.h"
#include "event/topics.h"
#include "fakes/kafka.h"
#include "router/router_private.h"
#include "unit/kit/kit.h"

enum { USER = 7, USERS = 1 };

static void share_publicly(int64_t user) {
    FREED_BUFFER value = {.size = 0};
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    event_encode_sharing(&value, &(struct sharing){.mode = SHARING_PUBLIC});
    fake_append(&TOPIC_SHARING, 0, key, sizeof key, value.data, value.size);
}

static void count(void *context) { ++*(size_t *)context; }

TEST(test_presence_is_not_read_before_it_is_known_who_shares_publicly) {
    const struct router_settings settings = {
        .discover_precision = 5, .discover_delay_s = 4, .discover_max = 10, .discover_rate = 1, .discover_burst = 1};
    struct log *log = log_new(stderr, "test", LOG_ERROR_LEVEL, LOG_LOGFMT);
    const struct kafka_settings kafka = {.log = log};
    struct metrics *registry = kit_metrics();
    struct report_clock *clock = report_clock_new(true, 1, 0, INT64_MAX / 2);
    struct router router = {.partitions = 1, .prepared = true, .presence = presence_new(600000)};
    uv_loop_t loop;
    size_t told = 0;
    uv_loop_init(&loop);
    fake_kafka_start();
    fake_topic(&TOPIC_SHARING, 1);
    share_publicly(USER);
    router_metrics_init(&router.metrics, registry);
    const struct discover_options options = {.loop = &loop,
                                             .log = log,
                                             .registry = registry,
                                             .metrics = &router.metrics,
                                             .kafka = &kafka,
                                             .settings = &settings,
                                             .partitions = 1,
                                             .inactive_ms = 1000,
                                             .secret = "s",
                                             .presence = router.presence,
                                             .clock = clock,
                                             .context = &told,
                                             .ready = count};
    assert_int_equal(discover_new(&options, &router.discover, &failure), 0);
    assert_false(discover_ready(router.discover));
    router_warm_up(&router);
    assert_null(router.warmup);
    FAKE_UNTIL(&loop, told == 1); // the router tries again then
    assert_true(discover_ready(router.discover));
    discover_tenth(router.discover);
    assert_int_equal((int)router.metrics.public_users->value, USERS);
    router.draining = true; // nor at the end
    router_warm_up(&router);
    assert_null(router.warmup);

    discover_free(router.discover);
    kit_loop_end(&loop);
    report_clock_free(clock);
    presence_free(router.presence);
    log_free(log);
}
