/* Tests when.c and lib/base/instant.c. */
#include "base/instant.h"
#include "cli/when.h"
#include "unit/kit/kit.h"

TEST(times_are_read) {
    static const struct {
        const char *text;
        int64_t ms;
    } RIGHT[] = {
        {"0", 0},
        {"1769860800123", 1769860800123},
        {"1970-01-01", 0},
        {"20260131", 1769817600000},
        {"20260131T12:00Z", 1769860800000},
        {"100000000000", 100000000000},
        {"2026-01-31", 1769817600000},
        {"2026-01-31T12:00", 1769860800000},
        {"2026-01-31T12:00Z", 1769860800000},
        {"2026-01-31 12:00:00Z", 1769860800000},
        {"2026-01-31T20:00:00.5+08:00", 1769860800500},
        {"2026-01-31T20:00:00.123456789+0800", 1769860800123},
        {"2026-01-31T06:30:00.01-05:30", 1769860800010},
        {"2024-02-29", 1709164800000},
        {"9999-12-31T23:59:59.999Z", 253402300799999},
    };
    for (size_t i = 0; i < ARRAY_SIZE(RIGHT); i++) {
        int64_t ms = -1;
        assert_true(when_parse(RIGHT[i].text, &ms));
        assert_int_equal(ms, RIGHT[i].ms);
    }
}

TEST(what_is_no_time_is_refused) {
    static const char *const WRONG[] = {
        "",
        "-1",
        "1",
        "2026",
        "202601",
        "20260231",
        "2026-0131",
        "202601-31",
        "1769860800",
        "99999999999",
        "now",
        "2026-1-31",
        "2026-02-29",
        "2026-13-01",
        "2026-00-01",
        "2026-01-32",
        "1969-12-31",
        "2026-01-31T",
        "2026-01-31T12",
        "2026-01-31T24:00",
        "2026-01-31T12:60",
        "2026-01-31T12:00:60",
        "2026-01-31T12:00:00.",
        "2026-01-31T12:00:00.5x",
        "2026-01-31T12:00ZZ",
        "2026-01-31T12:00+8",
        "2026-01-31T12:00+24:00",
        "2026-01-31x",
        "1970-01-01T00:00+01:00",
        "9223372036854775808",
    };
    int64_t ms = 7;
    for (size_t i = 0; i < ARRAY_SIZE(WRONG); i++) assert_false(when_parse(WRONG[i], &ms));
    assert_int_equal(ms, 7);
}

TEST(times_may_be_relative) {
    static const int64_t NOW = 1769860800123;
    static const struct {
        const char *text;
        int64_t ms;
    } RIGHT[] = {
        {"now", NOW},
        {"-0s", NOW},
        {"-90s", NOW - 90000},
        {"-30m", NOW - 1800000},
        {"-1h", NOW - 3600000},
        {"-2d", NOW - 172800000},
        {"2026-01-31", 1769817600000},
        {"100000000007", 100000000007},
    };
    static const char *const WRONG[] = {"-",    "-1", "-h",           "-1w",      "-1hh", "-1.5h",
                                        "--1h", "1h", "-1000000000s", "-999999d", "Now",  "- 1h"};
    int64_t ms;
    for (size_t i = 0; i < ARRAY_SIZE(RIGHT); i++) {
        assert_true(when_read(RIGHT[i].text, NOW, &ms));
        assert_int_equal(ms, RIGHT[i].ms);
    }
    ms = 7;
    for (size_t i = 0; i < ARRAY_SIZE(WRONG); i++) assert_false(when_read(WRONG[i], NOW, &ms));
    assert_int_equal(ms, 7);
}

static int unused(struct cli *cli, int argc, char **argv) { return 0; }

TEST(periods_are_read) {
    static const struct cli_command COMMAND = {.name = "test", .synopsis = "", .summary = "", .run = unused};
    static const int64_t NOW = 1769860800123;
    static const struct {
        struct period period;
        int code;
        int64_t from_ms, to_ms;
    } CASES[] = {
        {{NULL, NULL, NULL, 5, INT64_MAX}, 0, 5, INT64_MAX},
        {{"100000000007", "100000000009", NULL, 5, INT64_MAX}, 0, 100000000007, 100000000009},
        {{"-1h", "now", NULL, 5, INT64_MAX}, 0, NOW - 3600000, NOW},
        {{NULL, NULL, "2d", 5, INT64_MAX}, 0, NOW - 172800000, INT64_MAX},
        {{NULL, "-1h", "2h", 5, INT64_MAX}, 0, NOW - 7200000, NOW - 3600000},
        {{"100000000007", NULL, "2h", 5, INT64_MAX}, CLI_WRONG_USAGE, 0, 0},
        {{"100000000009", "100000000009", NULL, 5, INT64_MAX}, CLI_WRONG_USAGE, 0, 0},
        {{NULL, "0", NULL, 5, INT64_MAX}, CLI_WRONG_USAGE, 0, 0},
        {{"soon", NULL, NULL, 5, INT64_MAX}, CLI_WRONG_USAGE, 0, 0},
        {{NULL, "1h", NULL, 5, INT64_MAX}, CLI_WRONG_USAGE, 0, 0},
        {{NULL, NULL, "-1h", 5, INT64_MAX}, CLI_WRONG_USAGE, 0, 0},
        {{NULL, NULL, "1", 5, INT64_MAX}, CLI_WRONG_USAGE, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct period period = CASES[i].period;
        assert_int_equal(period_read(&period, &COMMAND, NOW), CASES[i].code);
        if (CASES[i].code) continue;
        assert_int_equal(period.from_ms, CASES[i].from_ms);
        assert_int_equal(period.to_ms, CASES[i].to_ms);
    }
}

TEST(times_are_written_and_read_back) {
    char text[INSTANT_TEXT_SIZE];
    assert_string_equal(instant_format(1769860800123, text), "2026-01-31T12:00:00.123Z");
    assert_string_equal(instant_format(0, text), "1970-01-01T00:00:00.000Z");
    assert_string_equal(instant_format(INT64_MAX, text), "9223372036854775807");
    assert_string_equal(instant_format(-5, text), "-5");
    for (int64_t ms = 1; ms < INT64_C(253402300800000); ms = ms * 3 + 7) {
        int64_t back = -1;
        assert_true(when_parse(instant_format(ms, text), &back));
        assert_int_equal(back, ms);
    }
}
