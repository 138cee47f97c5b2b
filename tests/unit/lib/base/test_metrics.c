/* Metrics, as Prometheus reads them. */
#include <math.h>

#include "base/metrics.h"
#include "unit/kit/kit.h"

static void assert_page(struct metrics *metrics, const char *page) {
    FREED_BUFFER out = {.size = 0};
    metrics_render(metrics, &out);
    assert_string_equal(buffer_cstring(&out), page);
}

SET_UP() { return metrics_new(); }
TEAR_DOWN(struct metrics *metrics) { metrics_free(metrics); }

TEST(counters_and_gauges) {
    struct metrics *metrics = metrics_new();
    assert_page(metrics, "");
    struct metric *first = metrics_counter(metrics, "reports_total", "Reports.", "kind=\"a\"");
    struct metric *lag = metrics_gauge(metrics, "lag_seconds", "Lag.", NULL);
    struct metric *second = metrics_counter(metrics, "reports_total", "Reports.", "kind=\"b\"");
    first->value++;
    second->value += 1e9;
    lag->value = 0.125;
    assert_ptr_equal(metrics_counter(metrics, "reports_total", "Reports.", "kind=\"a\""), first);
    assert_ptr_equal(metrics_gauge(metrics, "lag_seconds", "Lag.", NULL), lag);
    assert_page(metrics, "# HELP reports_total Reports.\n"
                         "# TYPE reports_total counter\n"
                         "reports_total{kind=\"a\"} 1\n"
                         "reports_total{kind=\"b\"} 1000000000\n"
                         "# HELP lag_seconds Lag.\n"
                         "# TYPE lag_seconds gauge\n"
                         "lag_seconds 0.125\n");
    metrics_free(metrics);
    metrics_free(NULL);
}

TEST(removed_series, struct metrics *metrics) {
    metrics_gauge(metrics, "lag", "Lag.", "p=\"0\"")->value = 1;
    struct metric *gone = metrics_gauge(metrics, "lag", "Lag.", "p=\"1\"");
    metrics_gauge(metrics, "lag", "Lag.", "p=\"2\"")->value = 3;
    metrics_remove(metrics, gone);
    metrics_remove(metrics, NULL);
    assert_page(metrics, "# HELP lag Lag.\n# TYPE lag gauge\nlag{p=\"0\"} 1\nlag{p=\"2\"} 3\n");
    metrics_remove(metrics, metrics_gauge(metrics, "lag", "Lag.", "p=\"0\""));
    metrics_remove(metrics, metrics_gauge(metrics, "lag", "Lag.", "p=\"2\""));
    assert_page(metrics, "");
    assert_true(metrics_gauge(metrics, "lag", "Lag.", "p=\"0\"")->value == 0);
    assert_page(metrics, "# HELP lag Lag.\n# TYPE lag gauge\nlag{p=\"0\"} 0\n");
}

TEST(histograms_are_cumulative, struct metrics *metrics) {
    static const double BUCKETS[] = {0.005, 0.1, 2};
    struct histogram *histogram = metrics_histogram(metrics, "join_seconds", "Join.", NULL, BUCKETS, 3);
    struct histogram *labelled = metrics_histogram(metrics, "join_seconds", "Join.", "k=\"x\"", BUCKETS, 1);
    histogram_observe(histogram, 0.001);
    histogram_observe(histogram, 0.005); // a bound belongs to its bucket
    histogram_observe(histogram, 1.5);
    histogram_observe(histogram, 10);
    histogram_observe(labelled, HUGE_VAL);
    assert_ptr_equal(metrics_histogram(metrics, "join_seconds", "Join.", NULL, BUCKETS, 3), histogram);
    assert_page(metrics, "# HELP join_seconds Join.\n"
                         "# TYPE join_seconds histogram\n"
                         "join_seconds_bucket{le=\"0.005\"} 2\n"
                         "join_seconds_bucket{le=\"0.1\"} 2\n"
                         "join_seconds_bucket{le=\"2\"} 3\n"
                         "join_seconds_bucket{le=\"+Inf\"} 4\n"
                         "join_seconds_sum 11.506\n"
                         "join_seconds_count 4\n"
                         "join_seconds_bucket{k=\"x\",le=\"0.005\"} 0\n"
                         "join_seconds_bucket{k=\"x\",le=\"+Inf\"} 1\n"
                         "join_seconds_sum{k=\"x\"} +Inf\n"
                         "join_seconds_count{k=\"x\"} 1\n");
}

TEST(text_is_escaped, struct metrics *metrics) {
    FREED_BUFFER labels = {.size = 0};
    metrics_label(&labels, "topic", "a\"b\\c\nd");
    metrics_label(&labels, "partition", "3");
    metrics_gauge(metrics, "odd", "One line,\nno \\ more \"quotes\".", buffer_cstring(&labels))->value = -HUGE_VAL;
    assert_page(metrics, "# HELP odd One line,\\nno \\\\ more \"quotes\".\n# TYPE odd gauge\n"
                         "odd{topic=\"a\\\"b\\\\c\\nd\",partition=\"3\"} -Inf\n");
}

TEST(gauges_are_left_out_until_they_are_known, struct metrics *metrics) {
    struct metric *never = metrics_gauge_unknown(metrics, "never", "Never.", NULL),
                  *later = metrics_gauge_unknown(metrics, "made", "Made.", "k=\"a\"");
    metrics_gauge(metrics, "made", "Made.", "k=\"b\"")->value = 1;
    assert_page(metrics, "# HELP made Made.\n# TYPE made gauge\nmade{k=\"b\"} 1\n");
    later->value = 5;
    assert_ptr_equal(metrics_gauge_unknown(metrics, "made", "Made.", "k=\"a\""), later);
    assert_page(metrics, "# HELP made Made.\n# TYPE made gauge\nmade{k=\"a\"} 5\nmade{k=\"b\"} 1\n");
    later->value = never->value;
    assert_page(metrics, "# HELP made Made.\n# TYPE made gauge\nmade{k=\"b\"} 1\n");
}

TEST(a_name_of_two_kinds_is_two_families, struct metrics *metrics) {
    static const double BUCKETS[] = {1};
    metrics_counter(metrics, "same", "A.", NULL)->value = 1;
    histogram_observe(metrics_histogram(metrics, "same", "B.", NULL, BUCKETS, 1), 5);
    assert_page(metrics, "# HELP same A.\n# TYPE same counter\nsame 1\n"
                         "# HELP same B.\n# TYPE same histogram\nsame_bucket{le=\"1\"} 0\nsame_bucket{le=\"+Inf\"} 1\n"
                         "same_sum 5\nsame_count 1\n");
}

static void count_up(void *context) { ((struct metric *)context)->value++; }

TEST(collectors_run_before_each_rendering, struct metrics *metrics) {
    struct metric *gauge = metrics_gauge(metrics, "turns", "Turns.", NULL);
    metrics_on_collect(metrics, count_up, gauge);
    metrics_on_collect(metrics, count_up, gauge);
    assert_page(metrics, "# HELP turns Turns.\n# TYPE turns gauge\nturns 2\n");
    assert_page(metrics, "# HELP turns Turns.\n# TYPE turns gauge\nturns 4\n");
}

static void set_values(void *context) {
    const struct metric_now now[] = {{"reads_total", "Reads.", 3}, {"totals", "Totals.", 0.5}, {"unknown", "", NAN}};
    metrics_set(context, now, 3);
}

TEST(values_may_be_worked_out_when_somebody_looks, struct metrics *metrics) {
    metrics_on_collect(metrics, set_values, metrics);
    for (int i = 0; i < 2; i++)
        assert_page(metrics, "# HELP reads_total Reads.\n# TYPE reads_total counter\nreads_total 3\n"
                             "# HELP totals Totals.\n# TYPE totals gauge\ntotals 0.5\n");
}
