/* W3C's traceparent and our member of tracestate: what is read, what is refused, and that what is written is read again. */
#include "base/chance.h"
#include "trace/context.h"
#include "unit/kit/kit.h"

static const char GOOD[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(the_standards_example_is_read) {
    struct trace_context context;
    char trace[TRACE_ID_TEXT], span[TRACE_SPAN_TEXT];
    assert_int_equal(trace_context_parse(GOOD, &context), 0);
    trace_hex(context.trace, sizeof context.trace, trace);
    trace_hex(context.span, sizeof context.span, span);
    assert_string_equal(trace, "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_string_equal(span, "00f067aa0ba902b7");
    assert_true(context.sampled);
}

TEST(flags_other_than_sampled_are_ignored) {
    static const struct {
        const char *flags;
        bool sampled;
    } CASES[] = {{"00", false}, {"01", true}, {"02", false}, {"03", true}, {"fe", false}, {"ff", true}};
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct trace_context context;
        char text[TRACE_PARENT_TEXT];
        memcpy(text, GOOD, sizeof GOOD);
        memcpy(text + 53, CASES[i].flags, 2);
        assert_int_equal(trace_context_parse(text, &context), 0);
        assert_int_equal(context.sampled, CASES[i].sampled);
    }
}

TEST(later_versions_are_read_as_far_as_00_goes) {
    struct trace_context context;
    assert_int_equal(trace_context_parse("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", &context), 0);
    assert_int_equal(trace_context_parse("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-new", &context), 0);
    assert_int_equal(trace_context_parse("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.new", &context),
                     -EINVAL);
}

TEST(malformed_ones_are_refused_and_write_nothing) {
    static const char *const BAD[] = {
        "",
        "0",
        "00",
        "00-",
        "00-4bf92f3577b34da6a3ce929d0e0e4736",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-011",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e47-36-00f067aa0ba902b7-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
        " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
    };
    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++) {
        struct trace_context context, before;
        memset(&context, 0x55, sizeof context);
        memcpy(&before, &context, sizeof before);
        assert_int_equal(trace_context_parse(BAD[i], &context), -EINVAL);
        assert_memory_equal(&context, &before, sizeof before);
    }
}

TEST(every_prefix_is_refused) {
    struct trace_context context;
    char text[TRACE_PARENT_TEXT];
    for (size_t size = 0; size < sizeof GOOD - 1; size++) {
        memcpy(text, GOOD, size);
        text[size] = '\0';
        assert_int_equal(trace_context_parse(text, &context), -EINVAL);
    }
}

TEST(what_is_written_is_read_again) {
    struct chance chance = chance_new();
    for (int round = 0; round < 1000; round++) {
        struct trace_context written = {.sampled = chance_next(&chance) & 1}, read;
        char text[TRACE_PARENT_TEXT];
        for (size_t i = 0; i < sizeof written.trace; i++) written.trace[i] = (uint8_t)chance_next(&chance);
        for (size_t i = 0; i < sizeof written.span; i++) written.span[i] = (uint8_t)chance_next(&chance);
        written.trace[0] |= 1;
        written.span[0] |= 1;
        trace_context_write(&written, text);
        assert_int_equal(strlen(text), TRACE_PARENT_TEXT - 1);
        assert_int_equal(trace_context_parse(text, &read), 0);
        assert_true(trace_context_same(&read, &written));
        assert_int_equal(read.sampled, written.sampled);
    }
}

TEST(parts_are_found_among_other_members) {
    static const struct {
        const char *text;
        struct trace_part part;
    } CASES[] = {
        {"starling=3:2", {3, 2}},
        {"congo=t61rcWkgMzE,starling=0:1", {0, 1}},
        {"congo=t61rcWkgMzE , starling=17:4,rojo=00f", {17, 4}},
        {"", {0, 0}},
        {"congo=t61rcWkgMzE", {0, 0}},
        {"starling=", {0, 0}},
        {"starling=7", {0, 0}},
        {"starling=-1:2", {0, 0}},
        {"notstarling=1:2", {0, 0}},
        {"starling=99999999999:2", {0, 0}},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct trace_part part = trace_part_parse(CASES[i].text);
        assert_int_equal(part.first, CASES[i].part.first);
        assert_int_equal(part.count, CASES[i].part.count);
    }
    char text[TRACE_STATE_TEXT];
    trace_part_write((struct trace_part){.first = 12, .count = 5}, text);
    assert_string_equal(text, "starling=12:5");
}

TEST(ids_are_read_whole) {
    uint8_t id[TRACE_ID_BYTES];
    assert_int_equal(trace_hex_parse("4bf92f3577b34da6a3ce929d0e0e4736", 32, id), 0);
    assert_int_equal(id[0], 0x4b);
    assert_int_equal(trace_hex_parse("4bf92f3577b34da6a3ce929d0e0e473", 32, id), -EINVAL);
    assert_int_equal(trace_hex_parse("4bf92f3577b34da6a3ce929d0e0e47367", 32, id), -EINVAL);
    assert_int_equal(trace_hex_parse("00000000000000000000000000000000", 32, id), -EINVAL);
    assert_int_equal(trace_hex_parse("4bf92f3577b34da6a3ce929d0e0e473x", 32, id), -EINVAL);
}
