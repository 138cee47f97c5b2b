#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/config.h"
#include "base/instant.h"
#include "cli/when.h"

static void times_are_read(void **state) {
    static const struct {
        const char *text;
        int64_t ms;
    } RIGHT[] = {
        {"0", 0},
        {"1769860800123", 1769860800123},
        {"1970-01-01", 0},
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

static void what_is_no_time_is_refused(void **state) {
    static const char *const WRONG[] = {
        "",
        "-1",
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

static void times_are_written_and_read_back(void **state) {
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_read),
        cmocka_unit_test(what_is_no_time_is_refused),
        cmocka_unit_test(times_are_written_and_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
