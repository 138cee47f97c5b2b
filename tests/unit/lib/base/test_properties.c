/* The syntax of .properties files. */
#include "base/properties.h"
#include "unit/kit/kit.h"

/* Writes each pair as LINE<key>=<value>. */
static int write_pair(void *context, int line, const char *key, const char *value, struct error *error) {
    buffer_format(context, "%d<%s>=<%s>", line, key, value);
    return 0;
}

static int read_text(const char *text, size_t size, struct buffer *out, struct error *error) {
    // In memory of just that size: reading beyond it is caught by the sanitizer.
    FREED char *exact = mem_alloc(size);
    memcpy(exact, text, size);
    return properties_read("f", exact, size, write_pair, out, error);
}

TEST(reads_what_java_reads) {
    static const struct {
        const char *text, *pairs;
    } CASES[] = {
        {"", ""},
        {"\n\r\n \t\f\n", ""},
        {"# a comment=1\n! another: 2\n  # indented", ""},
        {"a=1", "1<a>=<1>"},
        {"a=1\n", "1<a>=<1>"},
        {"a:1\r\nb 2\rc\t3\n", "1<a>=<1>2<b>=<2>3<c>=<3>"},
        {"  a  =  1 2 ", "1<a>=<1 2 >"}, // blanks at the end of a value belong to it
        {"a = : = 1", "1<a>=<: = 1>"},
        {"a  : 1", "1<a>=<1>"},
        {"a==1", "1<a>=<=1>"},
        {"a", "1<a>=<>"},
        {"a=\nb", "1<a>=<>2<b>=<>"},
        {"=x", "1<>=<x>"},
        {"a=1#not a comment", "1<a>=<1#not a comment>"},
        {"a=one, \\\n    two, \\\n\tthree\nb=4", "1<a>=<one, two, three>4<b>=<4>"},
        {"a\\\nb=1", "1<ab>=<1>"},
        {"a=1\\\r\n  2", "1<a>=<12>"},
        {"a=1\\\\\nb=2", "1<a>=<1\\>2<b>=<2>"}, // an escaped backslash continues nothing
        {"a=1\\\\\\\n  2", "1<a>=<1\\2>"},
        {"a=1\\", "1<a>=<1>"},
        {"a=1\\\n", "1<a>=<1>"},
        {"a=1\\\n\nb=2", "1<a>=<1>3<b>=<2>"},
        {"# no continuation \\\na=1", "2<a>=<1>"},
        {"a=1\\\n# part of the value", "1<a>=<1# part of the value>"},
        {"a\\=b\\:c\\ d=1", "1<a=b:c d>=<1>"},
        {"a=\\t\\n\\r\\f\\q\\\"", "1<a>=<\t\n\r\fq\">"},
        {"a=\\ 1", "1<a>=< 1>"},
        {"a=\\u0041\\u00fc\\u4f60\\ud83d\\uDC26", "1<a>=<A\xc3\xbc\xe4\xbd\xa0\xf0\x9f\x90\xa6>"},
        {"gr\xc3\xbc\xc3\x9f=\xe4\xbd\xa0", "1<gr\xc3\xbc\xc3\x9f>=<\xe4\xbd\xa0>"},
        {"\n\n# x\n\na=1", "5<a>=<1>"},
        {"a=1\na=2", "1<a>=<1>2<a>=<2>"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        FREED_BUFFER out = {.size = 0};
        struct error error = {"untouched"};
        assert_int_equal(read_text(CASES[i].text, strlen(CASES[i].text), &out, &error), 0);
        assert_string_equal(buffer_cstring(&out), CASES[i].pairs);
        assert_string_equal(error.text, "untouched");
    }
}

TEST(refuses_what_is_no_text) {
    static const struct {
        const char *text;
        size_t size;
        const char *reason;
    } CASES[] = {
        {"a=1\nb=\\u00g1", 12, "f:2: malformed \\uXXXX escape"},
        {"a=\\u12", 6, "f:1: malformed \\uXXXX escape"},
        {"a=\\u0000", 8, "f:1: malformed \\uXXXX escape"},
        {"a=\\udc26", 8, "f:1: malformed \\uXXXX escape"},
        {"a=\\ud83d", 8, "f:1: malformed \\uXXXX escape"},
        {"a=\\ud83d\\u0041", 14, "f:1: malformed \\uXXXX escape"},
        {"\\u12 = 1", 8, "f:1: malformed \\uXXXX escape"},
        {"a=1\n\nb=\xff", 8, "f:3: not UTF-8 text"},
        {"a=x\0y", 5, "f:1: not UTF-8 text"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        FREED_BUFFER out = {.size = 0};
        assert_fails_saying(read_text(CASES[i].text, CASES[i].size, &out, &failure), -EINVAL, CASES[i].reason);
    }
}

static int refuse(void *context, int line, const char *key, const char *value, struct error *error) {
    ++*(int *)context;
    return -EPERM;
}

TEST(stops_at_the_first_refusal) {
    int calls = 0;
    assert_int_equal(properties_read("f", "a=1\nb=2\n", 8, refuse, &calls, NULL), -EPERM);
    assert_int_equal(calls, 1);
}

/* Random text of the bytes that mean something: nothing is read out of bounds, and the lines rise. */
static int check_line(void *context, int line, const char *key, const char *value, struct error *error) {
    int *last = context;
    assert_true(line > *last);
    *last = line;
    return 0;
}

TEST(survives_random_text) {
    static const char BYTES[] = "a=: \\\\\\\n\r#!u0d8c\t\xc3\xbc";
    srand(5);
    for (int i = 0; i < 50000; i++) {
        size_t size = (size_t)rand() % 40;
        FREED char *text = mem_alloc(size);
        for (size_t j = 0; j < size; j++) text[j] = BYTES[(size_t)rand() % (sizeof BYTES - 1)];
        int last = 0;
        int code = properties_read("f", text, size, check_line, &last, &failure);
        assert_true(code == 0 || code == -EINVAL);
    }
}
