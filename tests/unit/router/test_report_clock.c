/* Which reports are from the future, by the clock of the machine and by that of the stream. */
#include "base/clock.h"
#include "router/report_clock.h"
#include "unit/kit/kit.h"

static struct location event_at(enum location_kind kind, int64_t time) {
    return (struct location){.kind = kind, .time = time, .user = 1, .route = -1, .opted = 0};
}

static bool accepts(struct report_clock *timeline, int32_t partition, enum location_kind kind, int64_t time) {
    struct location event = event_at(kind, time);
    return report_clock_accept(timeline, partition, &event);
}

TEST(test_the_machines_clock) {
    struct report_clock *timeline = report_clock_new(false, 2, 60000, 1000);
    int64_t now = clock_wall_ms();
    assert_true(accepts(timeline, 0, LOCATION_REPORT, 1));
    assert_true(accepts(timeline, 0, LOCATION_REPORT, now + 50000));
    assert_false(accepts(timeline, 0, LOCATION_JOIN, now + 120000));
    assert_false(accepts(timeline, 0, LOCATION_REJOIN, now + 120000));
    struct location leave = event_at(LOCATION_LEAVE, now + 999999);
    assert_true(report_clock_accept(timeline, 0, &leave));
    assert_true(leave.time <= report_clock_now(timeline)); // or it would never be forgotten
    assert_true(report_clock_now(timeline) >= now);
    report_clock_free(timeline);
}

TEST(test_the_streams_clock) {
    struct report_clock *timeline = report_clock_new(true, 2, 60000, 1000);
    assert_int_equal(report_clock_now(timeline), 0);
    assert_true(accepts(timeline, 0, LOCATION_REPORT, 5000));
    assert_int_equal(report_clock_now(timeline), 5000);
    assert_true(accepts(timeline, 0, LOCATION_JOIN, 6000));
    assert_false(accepts(timeline, 0, LOCATION_REPORT, 7001));
    assert_int_equal(report_clock_now(timeline), 6000);
    assert_true(accepts(timeline, 1, LOCATION_REPORT, 9000)); // that partition's first
    assert_int_equal(report_clock_now(timeline), 9000);
    assert_false(accepts(timeline, 0, LOCATION_REPORT, 7001)); // each partition by its own highest
    assert_true(accepts(timeline, 0, LOCATION_REPORT, 100));
    assert_true(accepts(timeline, 0, LOCATION_REJOIN, 6500)); // repeats a report, and moves no clock
    assert_false(accepts(timeline, 0, LOCATION_REPORT, 7001));
    assert_true(accepts(timeline, 0, LOCATION_QUIT, 999999));
    assert_int_equal(report_clock_now(timeline), 9000);
    report_clock_free(timeline);
}
