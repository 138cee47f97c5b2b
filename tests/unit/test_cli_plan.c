#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/plan_figures.h"
#include "cli/plan_model.h"
#include "cli/plan_text.h"
#include "ids/ids.h"

static struct plan_load load_of(double online) {
    return (struct plan_load){.online = online,
                              .users = 10 * online,
                              .every_s = 30,
                              .friends = 400,
                              .near = 0.1,
                              .stay_s = 1800,
                              .window_s = 1,
                              .flush_s = 0.005,
                              .followers = 500,
                              .push_max = 1000,
                              .hot_days = 7,
                              .hot_subjects = 1,
                              .history_days = 30,
                              .content_days = 365,
                              .replication = 3,
                              .cores = 16,
                              .memory_gb = 64,
                              .disk_tb = 4,
                              .gbit = 10,
                              .headroom = 0.5,
                              .sessions = 18000};
}

static struct plan_figures measured(void) {
    struct plan_figures figures;
    plan_figures_measured(&figures);
    return figures;
}

static bool warns(const struct plan *plan, const char *about) {
    for (size_t i = 0; i < plan->warning_count; i++)
        if (strstr(plan->warnings[i], about)) return true;
    return false;
}

/* ---- figures ---- */

/* The text with each run of white space as one blank: lines of a page may be broken anywhere. */
static char *joined(const char *text, size_t size) {
    char *out = mem_alloc(size + 1), *at = out;
    for (size_t i = 0; i < size; i++) {
        bool blank = isspace((unsigned char)text[i]);
        if (!blank || (at > out && at[-1] != ' ')) *at++ = blank ? ' ' : text[i];
    }
    if (at > out && at[-1] == ' ') at--;
    *at = '\0';
    return out;
}

static char *section_of(const char *page, const char *name) {
    char *heading = mem_format("\n## %s\n", name);
    const char *from = strstr(page, heading);
    free(heading);
    if (!from) return NULL;
    const char *to = strstr(from + 1, "\n## ");
    return joined(from, to ? (size_t)(to - from) : strlen(from));
}

/* The number between the braces, and the text without them; NAN: there are no braces. */
static double number_in(const char *text, char *plain) {
    const char *open = strchr(text, '{'), *close = open ? strchr(open, '}') : NULL;
    char digits[32];
    size_t count = 0;
    if (!close) return NAN;
    for (const char *at = open + 1; at < close && count + 1 < sizeof digits; at++)
        if (*at != ',') digits[count++] = *at;
    digits[count] = '\0';
    sprintf(plain, "%.*s%.*s%s", (int)(open - text), text, (int)(close - open - 1), open + 1, close + 1);
    return atof(digits);
}

/* All pages of measurements, one after the other. */
static void read_results(struct buffer *pages) {
    glob_t found;
    assert_int_equal(glob(STARLING_SOURCE_DIR "/bench/results/*.md", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct buffer page = {.data = NULL};
        assert_int_equal(file_read(found.gl_pathv[i], &page), 0);
        buffer_append(pages, page.data, page.size);
        buffer_free(&page);
    }
    globfree(&found);
}

/* When this fails, a figure was measured anew on one side only: bench/results and cli/plan_figures.c go together. */
static void figures_stand_on_the_page(void **state) {
    struct buffer page = {.data = NULL};
    read_results(&page);
    const char *text = buffer_cstring(&page);
    size_t wrong = 0;
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        const struct plan_figure_info *info = &PLAN_FIGURES[i];
        char plain[256] = "", *section = section_of(text, info->section);
        double number = number_in(info->text, plain);
        bool there = section && strstr(section, plain) && number == info->value && info->value > 0;
        if (!there) print_error("%s=%g: \"%s\" is not in %s\n", info->name, info->value, info->text, info->section);
        wrong += !there;
        free(section);
    }
    buffer_free(&page);
    assert_int_equal(wrong, 0);
}

static void a_changed_page_is_noticed(void **state) {
    char plain[256];
    assert_true(number_in("| **starling-router** | {10.5} |", plain) == 10.5);
    assert_string_equal(plain, "| **starling-router** | 10.5 |");
    assert_true(number_in("the figure {1,352}", plain) == 1352);
    assert_true(isnan(number_in("no figure", plain)));
    char *section = section_of("\n## One\n\na 1\nb\n\n## Two\n\na 2\n", "One");
    assert_string_equal(section, "## One a 1 b");
    free(section);
    assert_null(section_of("\n## One\n", "Three"));
}

static char *write_file(const char *content) {
    char *path = mem_string("/tmp/starling-plan-XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, content, strlen(content)), (ssize_t)strlen(content));
    close(file);
    return path;
}

static int load_text(struct plan_figures *figures, const char *content, struct error *error) {
    char *path = write_file(content);
    int code = plan_figures_load(figures, path, error);
    unlink(path);
    free(path);
    return code;
}

static void figures_are_replaced_by_a_file(void **state) {
    struct error error = {.text = ""};
    struct plan_figures figures = measured();
    assert_int_equal(load_text(&figures, "# ours\nrouter.report.us = 21\nedge.frames=1e5\n", &error), 0);
    assert_true(figures.values[FIGURE_ROUTER_REPORT_US] == 21);
    assert_true(figures.values[FIGURE_EDGE_FRAMES] == 100000);
    assert_true(figures.values[FIGURE_FEED_PAGE_US] == PLAN_FIGURES[FIGURE_FEED_PAGE_US].value);

    static const char *const WRONG[][2] = {{"router.report.us=5\nrouter.report.ms=10\n", ":2: there is no figure"},
                                           {"router.report.us=0\n", ":1: router.report.us must be a number"},
                                           {"router.report.us=-1\n", "must be a number"},
                                           {"edge.full.entries=1\n", "must be more than 1"},
                                           {"router.report.us=ten\n", "must be a number"}};
    for (size_t i = 0; i < ARRAY_SIZE(WRONG); i++) {
        assert_int_equal(load_text(&figures, WRONG[i][0], &error), -EINVAL);
        assert_non_null(strstr(error.text, WRONG[i][1]));
        assert_true(figures.values[FIGURE_ROUTER_REPORT_US] == 21);
    }
    assert_int_equal(plan_figures_load(&figures, "/nowhere/figures", &error), -ENOENT);
}

static void what_is_printed_is_such_a_file(void **state) {
    struct error error = {.text = ""};
    struct buffer text = {.data = NULL};
    struct plan_figures figures = measured(), read = measured();
    for (size_t i = 0; i < FIGURE_COUNT; i++) figures.values[i] = (double)i + 0.25;
    plan_figures_text(&text, &figures);
    assert_int_equal(load_text(&read, buffer_cstring(&text), &error), 0);
    assert_memory_equal(&read, &figures, sizeof read);
    buffer_free(&text);
}

/* ---- the arithmetic ---- */

static void rates_follow_from_the_load(void **state) {
    struct plan_figures figures = measured();
    struct plan_load load = load_of(10e6);
    struct plan plan;
    plan_compute(&load, &figures, &plan);
    assert_true(fabs(plan.reports - 333333.3) < 1);
    assert_true(fabs(plan.deliveries - 13333333) < 10);
    // 40 friends near tell each screen 1.33 times a second: a frame a second, with 1.33 entries.
    assert_true(fabs(plan.frames - 10e6) < 1);
    assert_true(fabs(plan.hellos - 5555.6) < 0.1);
    plan_clear(&plan);
}

/* The table of bench/results/feed.md, "CPU over feed.push.max". */
static void followers_are_distributed_as_in_the_bench(void **state) {
    static const double ROWS[][3] = {
        {10, 0.9195, 0.4}, {100, 0.5148, 19.6}, {1000, 0.0708, 157.8}, {10000, 0.0042, 317.1}};
    for (size_t i = 0; i < ARRAY_SIZE(ROWS); i++) {
        assert_true(fabs(plan_hot_share(500, ROWS[i][0]) - ROWS[i][1]) < 0.0001);
        assert_true(fabs(plan_entries(500, ROWS[i][0]) - ROWS[i][2]) < 0.1);
    }
    assert_true(plan_hot_share(0, 1000) == 0 && plan_entries(0, 1000) == 0);
}

static void edges_have_room_for_the_phones_of_one_that_is_away(void **state) {
    struct plan_figures figures = measured();
    struct plan_load load = load_of(10e6);
    struct plan plan;
    plan_compute(&load, &figures, &plan);
    const struct plan_tier *edge = &plan.tiers[TIER_EDGE];
    assert_string_equal(edge->limit, "sessions");
    assert_true((edge->processes - 1) * load.sessions >= load.online);
    assert_true((edge->processes - 2) * load.sessions < load.online);
    plan_clear(&plan);

    load = load_of(18000);
    load.replication = 1; // nothing may be away
    plan_compute(&load, &figures, &plan);
    assert_true(plan.tiers[TIER_EDGE].processes == 1);
    plan_clear(&plan);
}

/* Slots of 16 bytes, a power of two of them, at most 7/8 of them full. */
static void copies_of_sharing_double(void **state) {
    static const double ROWS[][2] = {{10e6, 1 << 24}, {100e6, 1 << 27}, {120e6, 1 << 28}, {1e9, 2147483648.0}};
    struct plan_figures figures = measured();
    for (size_t i = 0; i < ARRAY_SIZE(ROWS); i++) {
        struct plan_load load = load_of(ROWS[i][0] / 10);
        struct plan plan;
        plan_compute(&load, &figures, &plan);
        double copy = plan.tiers[TIER_INGEST].memory - figures.values[FIGURE_PROCESS_MB] * 1e6;
        assert_true(fabs(copy / (ROWS[i][1] * 16) - 1) < 0.01);
        plan_clear(&plan);
    }
}

static void each_tier_has_its_limit(void **state) {
    struct plan_figures figures = measured();
    struct plan_load load = load_of(1e6);
    struct plan plan;
    load.flush_s = 0.05;
    plan_compute(&load, &figures, &plan);
    assert_true(plan.tiers[TIER_EDGE].processes == 57); // 56 of 18,000 sessions each, and one that may be away
    assert_string_equal(plan.tiers[TIER_EDGE].limit, "sessions");
    assert_true(plan.tiers[TIER_FEED].processes == 0);
    assert_true(plan.tiers[TIER_ROUTER].processes == 2);
    plan_clear(&plan);

    load.sessions = 1e6;
    load.every_s = 1; // one session's screen hears 40 times as much
    plan_compute(&load, &figures, &plan);
    const struct plan_tier *edge = &plan.tiers[TIER_EDGE];
    assert_string_equal(edge->limit, "CPU");
    assert_true(edge->cores / edge->processes <= 0.5 && edge->cores / (edge->processes - 1) > 0.5);
    plan_clear(&plan);

    load.memory_gb = 4;
    load.users = 2e9;
    plan_compute(&load, &figures, &plan);
    assert_true(plan.refused); // the copy of sharing alone is larger than a machine
    assert_true(warns(&plan, "more than a machine has"));
    plan_clear(&plan);
}

/* A request of an edge is a batch for one partition, for which it waits 20 ms, a fiftieth of the window. */
static void edges_write_small_requests(void **state) {
    struct plan_figures figures = measured();
    struct plan_load load = load_of(10e6);
    struct plan plan;
    double request_us = figures.values[FIGURE_BROKER_REQUEST_US], record_us = figures.values[FIGURE_BROKER_RECORD_US];
    figures.values[FIGURE_BROKER_FETCH_US] = 1e-9;
    load.replication = 1;
    load.flush_s = 0.25;
    plan_compute(&load, &figures, &plan);
    double pairs = plan.tiers[TIER_EDGE].processes * plan.partitions, requests = pairs / (0.02 + pairs / plan.reports);
    assert_true(requests > plan.reports / 2); // 600 reports/s of an edge are few for so many partitions
    double cores = (requests * request_us + (plan.reports - requests) * record_us) / 1e6;
    assert_true(fabs(plan.tiers[TIER_EDGE].broker_cores / cores - 1) < 1e-6);
    plan_clear(&plan);

    load.window_s = 0; // each report goes by itself
    plan_compute(&load, &figures, &plan);
    assert_true(fabs(plan.tiers[TIER_EDGE].broker_cores / (plan.reports * request_us / 1e6) - 1) < 1e-6);
    plan_clear(&plan);

    load = load_of(18000);
    load.replication = 1;
    load.every_s = 0.1; // so many that 50 requests/s of each edge and partition gather them
    load.friends = 0;
    plan_compute(&load, &figures, &plan);
    pairs = plan.tiers[TIER_EDGE].processes * plan.partitions;
    requests = (plan.tiers[TIER_EDGE].broker_cores * 1e6 - plan.reports * record_us) / (request_us - record_us);
    assert_true(requests < 50 * pairs && requests > 45 * pairs);
    plan_clear(&plan);
}

/* Each copy beyond the first costs the measured part of the first; reading costs the same with any number of copies. */
static void copies_are_written_and_not_read(void **state) {
    struct plan_figures figures = measured();
    struct plan plans[2];
    double copy = figures.values[FIGURE_BROKER_COPY_US] / figures.values[FIGURE_BROKER_REQUEST_US];
    figures.values[FIGURE_BROKER_FETCH_US] = 1e-9;
    for (int i = 0; i < 2; i++) {
        struct plan_load load = load_of(1e6);
        load.replication = 2 + i; // not one, with which fewer processes would do
        load.http = 0.5;
        plan_compute(&load, &figures, &plans[i]);
    }
    double ratio = (1 + 2 * copy) / (1 + copy);
    static const enum plan_tier_id WRITERS[] = {TIER_EDGE, TIER_INGEST};
    for (size_t i = 0; i < ARRAY_SIZE(WRITERS); i++)
        assert_true(
            fabs(plans[1].tiers[WRITERS[i]].broker_cores / plans[0].tiers[WRITERS[i]].broker_cores / ratio - 1) < 1e-6);
    assert_true(fabs(plans[1].tiers[TIER_HISTORY].broker_cores / plans[0].tiers[TIER_HISTORY].broker_cores - 1) < 1e-6);
    for (int i = 0; i < 2; i++) plan_clear(&plans[i]);
}

/* The brokers' cores for the fetches of one tier: what is there more than if they cost nothing. */
static double fetches_of(enum plan_tier_id id, const struct plan_load *load, double *brokers) {
    struct plan_figures with = measured(), without = measured();
    struct plan plan;
    double cores[2];
    without.values[FIGURE_BROKER_FETCH_US] = 1e-9;
    for (int i = 0; i < 2; i++) {
        plan_compute(load, i ? &without : &with, &plan);
        cores[i] = plan.tiers[id].broker_cores;
        *brokers = plan.tiers[TIER_BROKER].processes;
        plan_clear(&plan);
    }
    return cores[0] - cores[1];
}

static void readers_ask_again_when_they_are_answered(void **state) {
    struct plan_figures figures = measured();
    double fetch_us = figures.values[FIGURE_BROKER_FETCH_US], answer_s = 1 / figures.values[FIGURE_BROKER_FETCHES];
    struct plan_load load = load_of(1000); // 2 edges, 16 partitions, 3 brokers
    double brokers, quiet = 2 * 3 / (0.05 + answer_s), delivered = 2 / (0.02 + answer_s);
    assert_true(fabs(fetches_of(TIER_EDGE, &load, &brokers) / ((quiet + delivered) * fetch_us / 1e6) - 1) < 1e-6);
    assert_true(brokers == 3);

    // Both routers read all reports, which are so many that their consumers hardly ever wait.
    load = load_of(1e6);
    load.disk_tb = 100;
    double most = 2 * 2 * 3 / answer_s * fetch_us / 1e6, cores = fetches_of(TIER_ROUTER, &load, &brokers);
    assert_true(brokers == 3 && cores < most && cores > 0.6 * most);

    // Gateways ask each broker for copies that hardly change: the more brokers there are, the more.
    double few = fetches_of(TIER_INGEST, &load, &brokers) / brokers;
    load.disk_tb = 0.1; // a terabyte at the brokers
    double many = fetches_of(TIER_INGEST, &load, &brokers) / brokers;
    assert_true(brokers > 10 && fabs(many / few - 1) < 1e-6);
    assert_true(fetches_of(TIER_ROUTER, &load, &brokers) > cores);
}

static void disks_decide_where_they_are_full_first(void **state) {
    static const enum plan_tier_id TIERS[] = {TIER_FEED, TIER_HISTORY, TIER_BROKER};
    struct plan_figures figures = measured();
    struct plan_load load = load_of(10e6);
    struct plan plan;
    load.flush_s = 0.25;
    load.posts = 6000;
    load.pages = 300000;
    plan_compute(&load, &figures, &plan);
    for (size_t i = 0; i < ARRAY_SIZE(TIERS); i++) {
        const struct plan_tier *tier = &plan.tiers[TIERS[i]];
        assert_string_equal(tier->limit, "disk");
        assert_true(tier->disk * 1.25 <= tier->processes * 4e12 && tier->disk * 1.25 > (tier->processes - 1) * 4e12);
        assert_true(tier->machines <= tier->processes && tier->machines > tier->processes - 1);
    }
    assert_true(warns(&plan, "The tier feed needs 33 machines for its disks") && !plan.refused);
    plan_clear(&plan);

    load.disk_tb = 1000;
    plan_compute(&load, &figures, &plan);
    for (size_t i = 0; i < ARRAY_SIZE(TIERS); i++) assert_string_equal(plan.tiers[TIERS[i]].limit, "CPU");
    assert_true(plan.tiers[TIER_FEED].processes == 12);
    plan_clear(&plan);

    load.disk_tb = 0.01; // lists of friends take 234 GB
    plan_compute(&load, &figures, &plan);
    assert_string_equal(plan.tiers[TIER_ROUTER].limit, "disk");
    assert_true(plan.tiers[TIER_ROUTER].processes == 30);
    plan_clear(&plan);

    load = load_of(1e4);
    load.comments = 3000; // 50 TB a year in each moderation process
    plan_compute(&load, &figures, &plan);
    assert_true(plan.refused && warns(&plan, "A process of the tier moderation needs 50.0 TB of disk"));
    plan_clear(&plan);
}

/* Each gateway asks the owners once a second for each hot page, but not for a page that nobody reads. */
static void owners_build_each_hot_page_for_each_gateway(void **state) {
    struct plan_figures figures = measured();
    struct plan_load load = load_of(10000);
    struct plan plan;
    double subjects[] = {1, 1000, 1e6}, builds[3];
    load.hot_reads = 100000;
    for (size_t i = 0; i < ARRAY_SIZE(subjects); i++) {
        load.hot_subjects = subjects[i];
        plan_compute(&load, &figures, &plan);
        double gateways = plan.tiers[TIER_INGEST].processes;
        builds[i] = plan.tiers[TIER_COMMENTS].out / figures.values[FIGURE_COMMENTS_PAGE_BYTES];
        assert_true(fabs(builds[i] - fmin(gateways * subjects[i], load.hot_reads)) < 0.001);
        plan_clear(&plan);
    }
    assert_true(builds[1] > 999 * builds[0] && builds[2] == load.hot_reads);
}

/* The column says what decides how many processes there are; what decides about machines is among the warnings. */
static void limits_are_of_processes(void **state) {
    struct plan_figures figures = measured();
    struct plan_load load = load_of(10e6);
    struct plan plan;
    load.hot_reads = 1e6;
    plan_compute(&load, &figures, &plan);
    assert_string_equal(plan.tiers[TIER_INGEST].limit, "CPU");
    assert_true(warns(&plan, "The tier ingest needs 19 machines for its network"));
    assert_string_equal(plan.tiers[TIER_ROUTER].limit, "batches");
    plan_clear(&plan);

    load.flush_s = 0.25;
    load.gbit = 0.5;
    plan_compute(&load, &figures, &plan);
    assert_string_equal(plan.tiers[TIER_ROUTER].limit, "CPU"); // joins: 19 routers, and 16 without batches
    assert_string_equal(plan.tiers[TIER_BROKER].limit, "network");
    plan_clear(&plan);

    load = load_of(16e6); // observing leaves a tenth of what a router may use
    load.flush_s = 1;
    plan_compute(&load, &figures, &plan);
    assert_string_equal(plan.tiers[TIER_ROUTER].limit, "observing");
    plan_clear(&plan);
}

static void sinks_that_hold_more_than_was_measured_are_said(void **state) {
    struct plan_figures figures = measured();
    struct plan_load load = load_of(1e6);
    struct plan plan;
    char time[32];
    plan_compute(&load, &figures, &plan);
    double rows = 1e6 / 30 * 86400 * 30 / plan.tiers[TIER_HISTORY].processes;
    sprintf(time, "after %.1f hours of", rows / 643666 / 3600);
    assert_true(warns(&plan, time) && warns(&plan, "A history sink would hold"));
    plan_clear(&plan);

    load = load_of(1e4); // nine times what was measured
    plan_compute(&load, &figures, &plan);
    assert_false(warns(&plan, "A history sink"));
    plan_clear(&plan);
}

/* The number of routers is the least with which each has room for its joins, its batches and what it observes. */
static void routers_are_as_few_as_can_be(void **state) {
    struct plan_figures figures = measured();
    struct plan_load load = load_of(4e6);
    struct plan plan;
    figures.values[FIGURE_ROUTER_BATCH_US] = 1e-9;
    plan_compute(&load, &figures, &plan);
    const struct plan_tier *tier = &plan.tiers[TIER_ROUTER];
    double join = plan.reports * figures.values[FIGURE_ROUTER_REPORT_US] / 1e6;
    double observing = plan.reports * figures.values[FIGURE_ROUTER_OBSERVE_US] / 1e6, n = tier->processes;
    assert_true(join / n + observing * (1 - 1 / n) <= 0.5);
    assert_true(join / (n - 1) + observing * (1 - 1 / (n - 1)) > 0.5);
    assert_true(fabs(tier->cores - (join + observing * (n - 1))) < 0.01);
    plan_clear(&plan);
}

static void what_no_number_of_processes_can_do_is_refused(void **state) {
    struct plan_figures figures = measured();
    struct plan_load load = load_of(100e6); // each router would observe 3.3 million reports a second
    struct plan plan;
    plan_compute(&load, &figures, &plan);
    assert_true(plan.refused);
    assert_true(warns(&plan, "No number of routers"));
    assert_true(isnan(plan.tiers[TIER_ROUTER].processes));
    // What follows from the number of routers is not known then; what does not, is.
    const struct plan_tier *brokers = &plan.tiers[TIER_BROKER];
    assert_true(isnan(brokers->processes) && isnan(brokers->cores) && isnan(brokers->out) && brokers->disk > 0);
    assert_true(isnan(plan.tiers[TIER_EDGE].broker_cores) && plan.tiers[TIER_EDGE].processes == 5557);
    assert_true(isnan(plan.machines) && isnan(plan.cores) && isnan(plan.partitions) && isnan(plan.batches));
    struct buffer text = {.data = NULL};
    plan_json(&text, &load, &plan);
    assert_non_null(strstr(buffer_cstring(&text), "\"tier\":\"router\",\"cores\":null,\"processes\":null"));
    assert_null(strstr(buffer_cstring(&text), "nan"));
    assert_non_null(strstr(buffer_cstring(&text), "\"cores\":null,\"machines\":null,\"tiers\""));
    buffer_clear(&text);
    plan_text(&text, &load, &plan);
    assert_non_null(strstr(buffer_cstring(&text), "There is no plan"));
    assert_null(strstr(buffer_cstring(&text), "nan"));
    assert_null(strstr(buffer_cstring(&text), "cores are busy"));
    buffer_free(&text);
    plan_clear(&plan);

    load = load_of(1e4);
    load.comments = 20000; // more than a moderation process indexes in half of its core
    plan_compute(&load, &figures, &plan);
    assert_true(plan.refused && warns(&plan, "moderation"));
    plan_clear(&plan);
}

static void partitions_leave_room_to_double(void **state) {
    assert_int_equal(PLAN_PARTITIONS_MAX, IDS_PARTITIONS_MAX);
    struct plan_figures figures = measured();
    struct plan_load load = load_of(1e4);
    struct plan plan;
    plan_compute(&load, &figures, &plan);
    assert_true(plan.partitions == 16 && plan.routes == 64);
    plan_clear(&plan);

    load.pages = 10e6; // 18 us each: 360 processes
    plan_compute(&load, &figures, &plan);
    assert_true(plan.tiers[TIER_FEED].processes == 360 && plan.partitions == 1024 && !plan.refused);
    plan_clear(&plan);

    load.pages = 20e6;
    plan_compute(&load, &figures, &plan);
    assert_true(!plan.refused && warns(&plan, "cannot be doubled"));
    plan_clear(&plan);

    load.pages = 40e6;
    plan_compute(&load, &figures, &plan);
    assert_true(plan.refused && warns(&plan, "1,024 partitions"));
    plan_clear(&plan);
}

static void more_load_never_needs_less(void **state) {
    struct plan_figures figures = measured();
    double before[TIER_COUNT] = {0};
    for (int64_t online = 10000; online < 10000000; online *= 2) {
        struct plan_load load = load_of((double)online);
        struct plan plan;
        load.posts = (double)online / 2000;
        load.pages = (double)online / 50;
        load.comments = (double)online / 5000;
        plan_compute(&load, &figures, &plan);
        for (int i = 0; i < TIER_COUNT; i++) {
            assert_true(plan.tiers[i].processes >= before[i]);
            before[i] = plan.tiers[i].processes;
        }
        plan_clear(&plan);
    }
}

static void hot_posts_are_in_each_feed_process(void **state) {
    struct plan_figures figures = measured();
    struct plan_load load = load_of(1e6);
    struct plan plan;
    load.posts = 6000;
    load.pages = 300000;
    plan_compute(&load, &figures, &plan);
    double hot_gb = 6000 * plan_hot_share(500, 1000) * 7 * 86400 * figures.values[FIGURE_FEED_HOT_BYTES] / 1e9;
    assert_true(plan.tiers[TIER_FEED].memory > hot_gb * 1e9 && plan.tiers[TIER_FEED].memory < (hot_gb + 0.5) * 1e9);
    assert_true(warns(&plan, "Hot posts take"));
    plan_clear(&plan);
    load.push_max = 100000;
    plan_compute(&load, &figures, &plan);
    assert_false(warns(&plan, "Hot posts take"));
    plan_clear(&plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_stand_on_the_page),
        cmocka_unit_test(a_changed_page_is_noticed),
        cmocka_unit_test(figures_are_replaced_by_a_file),
        cmocka_unit_test(what_is_printed_is_such_a_file),
        cmocka_unit_test(rates_follow_from_the_load),
        cmocka_unit_test(followers_are_distributed_as_in_the_bench),
        cmocka_unit_test(edges_have_room_for_the_phones_of_one_that_is_away),
        cmocka_unit_test(copies_of_sharing_double),
        cmocka_unit_test(each_tier_has_its_limit),
        cmocka_unit_test(edges_write_small_requests),
        cmocka_unit_test(copies_are_written_and_not_read),
        cmocka_unit_test(readers_ask_again_when_they_are_answered),
        cmocka_unit_test(disks_decide_where_they_are_full_first),
        cmocka_unit_test(owners_build_each_hot_page_for_each_gateway),
        cmocka_unit_test(limits_are_of_processes),
        cmocka_unit_test(sinks_that_hold_more_than_was_measured_are_said),
        cmocka_unit_test(routers_are_as_few_as_can_be),
        cmocka_unit_test(what_no_number_of_processes_can_do_is_refused),
        cmocka_unit_test(partitions_leave_room_to_double),
        cmocka_unit_test(more_load_never_needs_less),
        cmocka_unit_test(hot_posts_are_in_each_feed_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
