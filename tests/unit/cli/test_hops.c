/* `starling trace`: records in any order become traces, told in the order of their times. */
#include "cli/hops.h"
#include "event/topics.h"
#include "json/json.h"
#include "unit/kit/kit.h"

static void add(struct hops *hops, uint8_t trace, int64_t time_ms, const struct topic *topic, int64_t offset) {
    struct hop hop = {.time_ms = time_ms, .topic = topic, .partition = 3, .offset = offset};
    memset(hop.context.trace, trace, sizeof hop.context.trace);
    memset(hop.context.span, (int)offset + 1, sizeof hop.context.span);
    hops_add(hops, &hop);
}

static struct hops *some_hops(void) {
    struct hops *hops = hops_new();
    add(hops, 2, 5000, &TOPIC_LOCATIONS, 7);
    add(hops, 1, 1009, &TOPIC_DELIVERIES, 2);
    add(hops, 1, 1000, &TOPIC_POST_COMMANDS, 0);
    add(hops, 3, 3000, &TOPIC_LOCATIONS, 6);
    add(hops, 1, 1004, &TOPIC_POSTS, 1);
    return hops;
}

TEST(steps_are_told_in_order) {
    FREED_BUFFER out = {.size = 0};
    struct hops *hops = hops_new();
    add(hops, 1, 1767225600009, &TOPIC_DELIVERIES, 2);
    add(hops, 1, 1767225600000, &TOPIC_POST_COMMANDS, 0);
    add(hops, 1, 1767225600004, &TOPIC_POSTS, 1);
    assert_int_equal(hops_text(&out, hops, 5), 1);
    assert_string_equal(buffer_cstring(&out),
                        "trace 01010101010101010101010101010101\n"
                        "2026-01-01T00:00:00.000Z, 3 records within 9 ms\n"
                        "\n"
                        "      MS     STEP  TOPIC                PARTITION       OFFSET  SPAN\n"
                        "       0       +0  post-commands                3            0  0101010101010101\n"
                        "       4       +4  posts                        3            1  0202020202020202\n"
                        "       9       +5  deliveries                   3            2  0303030303030303\n");
    hops_free(hops);
}

TEST(the_latest_traces_are_told_the_oldest_first) {
    FREED_BUFFER out = {.size = 0};
    struct hops *hops = some_hops();
    assert_int_equal(hops_json(&out, hops, 2), 2);
    const char *text = buffer_cstring(&out), *line = strchr(text, '\n');
    assert_non_null(line);
    FREED_JSON *first = json_parse(text, (size_t)(line - text), NULL),
               *second = json_parse(line + 1, strlen(line + 1), NULL);
    assert_string_equal(json_string_value(json_object_get(first, "trace")), "03030303030303030303030303030303");
    assert_string_equal(json_string_value(json_object_get(second, "trace")), "02020202020202020202020202020202");
    buffer_clear(&out);
    assert_int_equal(hops_json(&out, hops, 100), 3);
    text = buffer_cstring(&out);
    FREED_JSON *trace = json_parse(text, (size_t)(strchr(text, '\n') - text), NULL);
    assert_int_equal(json_integer_value(json_object_get(trace, "ms")), 9);
    const json_t *records = json_object_get(trace, "records");
    assert_int_equal(json_array_size(records), 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(records, 1), "topic")), "posts");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(records, 1), "ms")), 4);
    hops_free(hops);
}

TEST(what_goes_to_edges_is_last_within_a_millisecond) {
    FREED_BUFFER out = {.size = 0};
    struct hops *hops = hops_new();
    add(hops, 1, 1000, &TOPIC_DELIVERIES, 1);
    add(hops, 1, 1000, &TOPIC_LOCATIONS, 0);
    assert_int_equal(hops_json(&out, hops, 1), 1);
    const char *text = buffer_cstring(&out);
    assert_true(strstr(text, "locations") < strstr(text, "deliveries"));
    hops_free(hops);
}

TEST(nothing_is_told_of_nothing) {
    struct buffer out = {.size = 0};
    struct hops *hops = hops_new();
    assert_int_equal(hops_text(&out, hops, 5), 0);
    assert_int_equal(hops_json(&out, hops, 5), 0);
    assert_int_equal(out.size, 0);
    hops_free(hops);
    hops_free(NULL);
}
