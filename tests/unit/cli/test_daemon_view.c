/* Tests daemon_view.c and metrics_text.c. Reading of /metrics and /readyz, and what is computed between two readings. */
#include <math.h>

#include "base/metrics.h"
#include "cli/daemon_view.h"
#include "cli/metrics_text.h"
#include "unit/kit/kit.h"

#define BUILD(daemon) "starling_build_info{daemon=\"" daemon "\",version=\"1.2.3\"} 1\n"
#define PROCESS(start, cpu)                                                                                            \
    "process_start_time_seconds " start "\nprocess_cpu_seconds_total " cpu "\nprocess_resident_memory_bytes 1048576\n"

TEST(samples_are_read_one_by_one) {
    const char *at = "# HELP a What it is.\n# TYPE a counter\na 5\n\n"
                     "b{x=\"1\",path=\"a\\\"}\\\\ \\n{\"} 2.5e3 1700000000000\n"
                     "broken{x=\"1\n broken 1\nbroken\nbroken x\n"
                     "c{} NaN\nd +Inf";
    struct metrics_sample sample;
    FREED_BUFFER label = {.size = 0};
    assert_true(metrics_text_next(&at, &sample));
    assert_true(metrics_text_named(&sample, "a") && !metrics_text_named(&sample, "ab") && sample.value == 5);
    assert_false(metrics_text_label(&sample, "x", &label));
    assert_true(metrics_text_next(&at, &sample));
    assert_true(metrics_text_named(&sample, "b") && sample.value == 2500);
    assert_true(metrics_text_label(&sample, "path", &label));
    assert_string_equal(buffer_cstring(&label), "a\"}\\ \n{");
    buffer_clear(&label);
    assert_true(metrics_text_label(&sample, "x", &label));
    assert_string_equal(buffer_cstring(&label), "1");
    assert_false(metrics_text_label(&sample, "pat", &label));
    assert_true(metrics_text_next(&at, &sample));
    assert_true(metrics_text_named(&sample, "c") && isnan(sample.value));
    assert_true(metrics_text_next(&at, &sample));
    assert_true(metrics_text_named(&sample, "d") && isinf(sample.value));
    assert_false(metrics_text_next(&at, &sample));
}

TEST(what_our_daemons_write_reads_back) {
    struct metrics *metrics = kit_metrics();
    FREED_BUFFER page = {.data = NULL}, labels = {.data = NULL}, label = {.data = NULL};
    metrics_label(&labels, "reason", "a \"b\" \\ {c}\n");
    metrics_counter(metrics, "one_total", "Help with a\nbreak", buffer_cstring(&labels))->value = 0.125;
    metrics_gauge(metrics, "two", "Help", NULL)->value = 3;
    metrics_render(metrics, &page);
    struct metrics_sample sample;
    const char *at = buffer_cstring(&page);
    assert_true(metrics_text_next(&at, &sample) && metrics_text_named(&sample, "one_total") && sample.value == 0.125);
    assert_true(metrics_text_label(&sample, "reason", &label));
    assert_string_equal(buffer_cstring(&label), "a \"b\" \\ {c}\n");
    assert_true(metrics_text_next(&at, &sample) && metrics_text_named(&sample, "two") && sample.value == 3);
    assert_false(metrics_text_next(&at, &sample));
}

TEST(rates_are_between_two_readings) {
    struct daemon_view view;
    daemon_view_init(&view, "h:1");
    assert_int_equal(view.state, DAEMON_UNKNOWN);
    daemon_view_numbers(&view,
                        BUILD("starling-router") PROCESS("1000", "10") //
                        "starling_router_events_total{partition=\"owned\"} 100\n"
                        "starling_router_events_total{partition=\"other\"} 7777\n"
                        "starling_router_partitions_owned 4\nstarling_router_partitions_standby 2\n"
                        "starling_router_lag_seconds 0.5\n",
                        50);
    assert_string_equal(view.name, "router");
    assert_string_equal(view.version, "1.2.3");
    assert_true(view.numbers.owned == 4 && view.numbers.standby == 2 && view.numbers.lag == 0.5);
    assert_true(view.numbers.memory_bytes == 1048576);
    assert_true(isnan(view.records_per_s) && isnan(view.cpu) && !view.lag_in_records);
    daemon_view_numbers(&view,
                        BUILD("starling-router") PROCESS("1000", "10.5") //
                        "starling_router_events_total{partition=\"owned\"} 130\n"
                        "starling_router_events_total{partition=\"other\"} 9999\n",
                        52);
    assert_true(view.records_per_s == 15 && view.cpu == 0.25);
    assert_true(isnan(view.numbers.lag));
    assert_int_equal(view.restarts, 0);
}

TEST(a_restart_is_counted_and_gives_no_rate) {
    struct daemon_view view;
    daemon_view_init(&view, "h:1");
    daemon_view_numbers(&view, BUILD("starling-feed") PROCESS("1000", "10") "starling_feed_commands_total 50\n", 1);
    daemon_view_numbers(&view, BUILD("starling-feed") PROCESS("1001", "11") "starling_feed_commands_total 60\n", 2);
    assert_true(view.restarts == 1 && isnan(view.records_per_s) && isnan(view.cpu));
    daemon_view_away(&view, "no connection");
    assert_true(view.state == DAEMON_AWAY && isnan(view.numbers.memory_bytes) && !strcmp(view.name, "feed"));
    daemon_view_numbers(&view, BUILD("starling-feed") PROCESS("1003", "1") "starling_feed_commands_total 5\n", 4);
    assert_true(view.restarts == 2 && isnan(view.records_per_s));
    daemon_view_away(&view, "no answer");
    daemon_view_numbers(&view, BUILD("starling-feed") PROCESS("1003", "2") "starling_feed_commands_total 9\n", 9);
    assert_true(view.restarts == 2 &&
                isnan(view.records_per_s)); // it was the same one, but nothing is known of a while
}

TEST(lag_of_some_is_in_records) {
    struct daemon_view view;
    daemon_view_init(&view, "h:1");
    daemon_view_numbers(&view,
                        BUILD("starling-history-sink") "starling_history_lag_records 7\n"
                                                       "starling_history_rows_total{x=\"1\"} 1\n"
                                                       "starling_history_rows_total{x=\"2\"} 2\n",
                        1);
    assert_true(view.lag_in_records && view.numbers.lag == 7 && view.numbers.records == 3);
    daemon_view_numbers(&view, "nothing_of_ours 1\n", 2);
    assert_true(isnan(view.numbers.lag) && isnan(view.numbers.started_s));
}

static bool readiness(struct daemon_view *view, unsigned status, const char *reply) {
    return daemon_view_readiness(view, status, reply, strlen(reply));
}

TEST(readiness_names_what_is_missing) {
    struct daemon_view view;
    daemon_view_init(&view, "h:1");
    assert_true(readiness(&view, 503,
                          "{\"ready\":false,\"draining\":false,\"conditions\":{\"kafka\":true,\"warm\":false,"
                          "\"restored\":false}}"));
    assert_int_equal(view.state, DAEMON_NOT_READY);
    assert_string_equal(view.note, "waiting for warm, restored");
    assert_true(readiness(&view, 200, "{\"ready\":true,\"draining\":false,\"conditions\":{\"kafka\":true}}"));
    assert_int_equal(view.state, DAEMON_READY);
    assert_string_equal(view.note, "");
    assert_true(readiness(&view, 503, "{\"ready\":false,\"draining\":true,\"conditions\":{\"kafka\":true}}"));
    assert_int_equal(view.state, DAEMON_DRAINING);
    static const struct {
        unsigned status;
        const char *reply;
    } OTHERS[] = {{404, "{\"ready\":true,\"draining\":false,\"conditions\":{}}"},
                  {200, "<html>"},
                  {200, "[]"},
                  {200, "{\"ready\":true,\"draining\":false}"},
                  {200, "{\"ready\":1,\"draining\":false,\"conditions\":{}}"}};
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++) {
        assert_false(readiness(&view, OTHERS[i].status, OTHERS[i].reply));
        assert_int_equal(view.state, DAEMON_AWAY);
    }
}
