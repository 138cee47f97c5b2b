#include "cli/record_units.h"
#include "unit/kit/kit.h"

static void becomes(const char *json, const char *expected) {
    FREED_BUFFER out = {.size = 0};
    record_units(&out, json, strlen(json));
    assert_string_equal(buffer_cstring(&out), expected);
}

TEST(places_are_degrees_and_an_unknown_accuracy_is_null) {
    becomes("{\"user\": 7, \"lat\": 399847021, \"lng\": -1163184000, \"accuracy\": -1}",
            "{\"user\": 7, \"lat\": 39.9847021, \"lng\": -116.3184, \"accuracy\": null}");
    becomes("{\"lat\":-5,\"lng\":0,\"accuracy\":12}", "{\"lat\":-0.0000005,\"lng\":0,\"accuracy\":12}");
    becomes("{\"battery\": 570, \"charging\": -1, \"speed\": -1, \"activity\": -1, \"offset\": -1}",
            "{\"battery\": 570, \"charging\": null, \"speed\": null, \"activity\": null, \"offset\": -1}");
    becomes("[{\"a\": {\"lat\": 10000000}}, {\"lat\": 20000000}]", "[{\"a\": {\"lat\": 1}}, {\"lat\": 2}]");
}

TEST(all_else_stays_as_it_is) {
    static const char *const SAME[] = {
        "",
        "{}",
        "{\"text\": \"\\\"lat\\\": 399847021\", \"flat\": 5, \"latency\": -1}",
        "{\"text\": \"lat\", \"number\": -1}",
        "{\"lat\": \"5\", \"lng\": null, \"accuracy\": {\"int\": -1}}",
        "{\"lat\": 1.5, \"lng\": 9223372036854775807, \"accuracy\": -10}",
        "[\"lat\", \"lng\", 5]",
        "\"lat", // a text that does not end
        "{\"lat\":",
        "\"\\",
    };
    for (size_t i = 0; i < ARRAY_SIZE(SAME); i++) becomes(SAME[i], SAME[i]);
}
