/* Overload: when reports count as held because the router is behind. */
#include "router/overload.h"
#include "unit/kit/kit.h"

static size_t joined;

static void join(void *context, const struct backlog_item *item, int64_t now_us) { joined++; }

static bool taken(struct overload *overload, int64_t age_ms) {
    struct kafka_record record = {.partition = 0, .timestamp = clock_wall_ms() - age_ms};
    struct location event = {.user = 1, .time = record.timestamp, .kind = LOCATION_REPORT, .session = 9, .route = 2};
    return overload_take(overload, &record, &event, clock_monotonic_us());
}

TEST(test_a_newer_report_may_take_out_the_last_that_was_held) {
    uv_loop_t loop;
    uv_loop_init(&loop);
    struct metrics *registry = kit_metrics();
    struct router_metrics metrics;
    router_metrics_init(&metrics, registry);
    struct rates *joins = rates_new(
        &(struct rates_options){.metrics = registry, .what = "joins", .by = "user", .per_second = 0, .burst = 1});
    struct overload_options options = {
        .loop = &loop, .partitions = 1, .limit_s = 1, .joins = joins, .metrics = &metrics, .join = join};
    struct overload *overload = overload_new(&options);
    assert_true(taken(overload, 60000));
    overload_measure(overload, 60000);
    assert_true(overload_holding(overload));
    assert_false(taken(overload, 0));
    overload_measure(overload, 0);
    assert_false(overload_holding(overload));
    assert_int_equal(joined, 0);
    overload_free(overload);
    rates_free(joins);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
}
