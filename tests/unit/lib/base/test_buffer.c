/* Tests buffer.c, error.c, mem.c and text.c. Memory, buffers, reasons of failures, and text for others. */
#include <math.h>

#include "base/text.h"
#include "unit/kit/kit.h"

TEST(mem_of_size_zero_is_memory) {
    void *memory[] = {mem_alloc(0), mem_zero(0, 8), mem_zero(8, 0), mem_resize(NULL, 0, 8),
                      mem_resize(mem_alloc(9), 0, 1)};
    for (size_t i = 0; i < 5; i++) {
        assert_non_null(memory[i]);
        free(memory[i]);
    }
}

TEST(mem_copies_text) {
    assert_null(mem_string(NULL));
    char *texts[] = {mem_string("a text"), mem_stringn("a text and more", 6), mem_format("a %s%c", "tex", 't')};
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(texts[i], "a text");
        free(texts[i]);
    }
}

TEST(buffer_grows_and_keeps_its_content) {
    struct buffer buffer = {0};
    for (int i = 0; i < 1000; i++) {
        buffer_byte(&buffer, (uint8_t)i);
        buffer_append(&buffer, "xyz", 3);
        buffer_append(&buffer, NULL, 0);
    }
    assert_int_equal(buffer.size, 4000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(buffer.data[i * 4], (uint8_t)i);
        assert_memory_equal(buffer.data + i * 4 + 1, "xyz", 3);
    }
    memset(buffer_reserve(&buffer, 100000), 'r', 100000);
    buffer_commit(&buffer, 100000);
    assert_int_equal(buffer.size, 104000);
    assert_true(buffer.capacity >= buffer.size);

    uint8_t *data = buffer.data;
    buffer_clear(&buffer);
    assert_int_equal(buffer.size, 0);
    buffer_string(&buffer, "reused");
    assert_ptr_equal(buffer.data, data);
    buffer_free(&buffer);
    assert_null(buffer.data);
    assert_string_equal(buffer_cstring(&buffer), "");
    buffer_free(&buffer);
}

TEST(buffer_formats_any_length) {
    // Around the room that there happens to be, where the first attempt is cut short.
    for (int length = 0; length < 300; length++) {
        FREED_BUFFER buffer = {.size = 0};
        buffer_string(&buffer, "[");
        buffer_format(&buffer, "%*d]", length, 7);
        assert_int_equal(strlen(buffer_cstring(&buffer)), buffer.size);
        assert_int_equal(buffer.size, (length ? length : 1) + 2);
        assert_memory_equal(buffer.data + buffer.size - 2, "7]", 2);
    }
}

TEST(error_is_set_and_prefixed) {
    struct error error = {"untouched"};
    assert_int_equal(error_set(NULL, -EINVAL, "nobody listens"), -EINVAL);
    assert_int_equal(error_prefix(NULL, -EIO, "nobody listens"), -EIO);
    assert_int_equal(error_set(&error, -ENOENT, "no %s", "file"), -ENOENT);
    assert_string_equal(error.text, "no file");
    assert_int_equal(error_prefix(&error, -EIO, "line %d", 7), -EIO);
    assert_string_equal(error.text, "line 7: no file");
    error_set(&error, -EIO, "again: %s", error.text);
    assert_string_equal(error.text, "again: line 7: no file");
}

TEST(error_longer_than_its_room_is_cut) {
    FREED char *text = mem_alloc(2000);
    memset(text, 'x', 1999);
    text[1999] = '\0';
    struct error error;
    error_set(&error, -EIO, "%s", text);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    error_prefix(&error, -EIO, "front");
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    assert_memory_equal(error.text, "front: xxx", 10);
    error_prefix(&error, -EIO, "%s", text);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    // One byte of room left for ": ".
    error_prefix(&error, -EIO, "%.510s", text);
    assert_string_equal(error.text + 509, "x:");
}

TEST(quote_escapes) {
    static const struct {
        const char *text, *quoted;
    } CASES[] = {
        {"", "\"\""},
        {"plain ~", "\"plain ~\""},
        {"\"\\/", "\"\\\"\\\\/\""},
        {"\n\r\t\b\x01\x1f\x7f", "\"\\n\\r\\t\\u0008\\u0001\\u001f\\u007f\""},
        {"gr\xc3\xbc\xc3\x9f \xe4\xbd\xa0 \xf0\x9f\x90\xa6", "\"gr\xc3\xbc\xc3\x9f \xe4\xbd\xa0 \xf0\x9f\x90\xa6\""},
        {"\xc2\x80\xc2\x9f\xc2\xa0", "\"\\u0080\\u009f\xc2\xa0\""},   // C1 controls; no-break space stays
        {"\u202egpj\u2069", "\"\\u202egpj\\u2069\""},                 // a terminal would obey them
        {"a\x80z", "\"a\xef\xbf\xbdz\""},                             // a lone continuation
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 // overlong
        {"\xe0\x9f\xbf", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, // overlong
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, // a surrogate
        {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, // beyond U+10FFFF
        {"\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\""},
        {"\xe4\xbd", "\"\xef\xbf\xbd\xef\xbf\xbd\""}, // cut short
        {"\xff\xfe", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct buffer out = {0};
        // In memory of just that size: reading beyond it is caught by the sanitizer.
        size_t size = strlen(CASES[i].text);
        FREED char *text = mem_alloc(size);
        memcpy(text, CASES[i].text, size);
        text_quote(&out, text, size);
        assert_string_equal(buffer_cstring(&out), CASES[i].quoted);
        buffer_free(&out);
    }
    struct buffer out = {0};
    text_quote(&out, "a\0b", 3);
    assert_string_equal(buffer_cstring(&out), "\"a\\u0000b\"");
    buffer_free(&out);
}

TEST(paths_are_escaped) {
    FREED_BUFFER path = {.size = 0};
    text_escape(&path, "a b&c=%/~\xc3\xa4");
    assert_string_equal(buffer_cstring(&path), "a%20b%26c%3D%25%2F~%C3%A4");
}

TEST(names_show_something) {
    static const char *const GOOD[] = {"Mira",
                                       "\u5f20 \u4f1f",
                                       "a b",
                                       "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
                                       "\U0001f468\u200d\U0001f469",
                                       "\u2764\ufe0f\u200d\U0001f525",
                                       "\u0915\u094d\u200d\u0937"};
    static const char *const BAD[] = {"",        " ",       "\u00a0\u3000", "\u3164",    "\u2800",    "a\nb",
                                      "a\tb",    "\x7f",    "\xc2\x85",     "a\u2028b",  "\u202ea",   "a\u202c",
                                      "\u2066a", "a\u2069", "a\u200bb",     "a\u200e",   "\u200fa",   "a\u2060",
                                      "\ufeffa", "\u200da", "a\u200c",      "a \u200db", "a\u200d b", "a\u061c",
                                      "\u200c",  "\u00ad",  "\U000e0041"};
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++)
        if (text_name_fault(GOOD[i], strlen(GOOD[i]))) fail_msg("refused: %zu", i);
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        if (!text_name_fault(BAD[i], strlen(BAD[i]))) fail_msg("taken: %zu", i);
}

TEST(numbers_are_short_and_exact) {
    static const struct {
        double value;
        const char *text;
    } CASES[] = {
        {0, "0"},
        {-0.0, "0"},
        {1, "1"},
        {-17, "-17"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e14, "100000000000000"},
        {1e300, "1e+300"},
        {5e-324, "5e-324"},
        {0.005, "0.005"},
        {1234567.5, "1234567.5"},
        {HUGE_VAL, "+Inf"},
        {-HUGE_VAL, "-Inf"},
        {NAN, "NaN"},
        {999999999999999, "999999999999999"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct buffer out = {0};
        text_double(&out, CASES[i].value);
        assert_string_equal(buffer_cstring(&out), CASES[i].text);
        buffer_free(&out);
    }
    struct buffer out = {0};
    text_int(&out, INT64_MIN);
    buffer_byte(&out, ' ');
    text_int(&out, INT64_MAX);
    assert_string_equal(buffer_cstring(&out), "-9223372036854775808 9223372036854775807");
    buffer_free(&out);
}

TEST(random_doubles_read_back) {
    srand(1);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        FREED_BUFFER out = {.size = 0};
        text_double(&out, value);
        assert_true(strtod(buffer_cstring(&out), NULL) == value);
    }
}

TEST(lists_of_numbers) {
    static const char *const NONE[] = {"",     ",",  "1,", ",1",      "1,,2",
                                       "1, 2", "-1", "a",  "1,2,3,4", "9223372036854775808"};
    int64_t numbers[3];
    size_t count;
    for (size_t i = 0; i < ARRAY_SIZE(NONE); i++)
        if (text_numbers(NONE[i], numbers, 3, &count)) fail_msg("taken: %s", NONE[i]);
    assert_true(text_numbers("7", numbers, 3, &count));
    assert_int_equal(count, 1);
    assert_true(text_numbers("0,9223372036854775807,5", numbers, 3, &count));
    assert_int_equal(count, 3);
    assert_true(numbers[0] == 0 && numbers[1] == INT64_MAX && numbers[2] == 5);
}

TEST(distance_between_words) {
    assert_int_equal(text_distance("", ""), 0);
    assert_int_equal(text_distance("", "abc"), 3);
    assert_int_equal(text_distance("abc", ""), 3);
    assert_int_equal(text_distance("kitten", "sitting"), 3);
    assert_int_equal(text_distance("flush.window.ms", "flush.windows.ms"), 1);
    assert_int_equal(text_distance("radius.m", "radius.m"), 0);
}
