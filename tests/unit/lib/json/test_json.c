/* Tests json.c and place.c. JSON, read and written. */
#include <math.h>

#include "json/json.h"
#include "json/place.h"
#include "unit/kit/kit.h"

TEST(malformed_text_is_refused) {
    static const struct {
        const char *text, *reason;
    } CASES[] = {
        {"", "malformed JSON in line 1, column 0: '[' or '{' expected near end of file"},
        {"{", "malformed JSON in line 1, column 1: string or '}' expected near end of file"},
        {"{}x", "malformed JSON in line 1, column 3: end of file expected"},
        {"5", "malformed JSON in line 1, column 1: '[' or '{' expected"},
        {"{\"a\":1,\n\"a\":2}", "malformed JSON in line 2, column 3: duplicate object key"},
        {"{\"lat\":39.98x}", "malformed JSON in line 1, column 13: '}' expected"},
        {"[\"secret", "malformed JSON in line 1, column 8: premature end of input"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct error error;
        assert_null(json_parse(CASES[i].text, strlen(CASES[i].text), &error));
        assert_string_equal(error.text, CASES[i].reason);
        assert_null(json_parse(CASES[i].text, strlen(CASES[i].text), NULL));
    }
    static const char *const MORE[] = {"[1e999]",       "[99999999999999999999]",
                                       "[\"\\u0000\"]", "{\"\\u0000\":1}",
                                       "[\"\xff\"]",    "[\"\xed\xa0\x80\"]",
                                       "[NaN]",         "[01]",
                                       "[1,]",          "[\"a\nb\"]"};
    for (size_t i = 0; i < sizeof MORE / sizeof *MORE; i++) assert_null(json_parse(MORE[i], strlen(MORE[i]), NULL));
    FREED char *deep = malloc(100000);
    memset(deep, '[', 100000);
    assert_null(json_parse(deep, 100000, NULL));
}

TEST(values_are_counted_before_a_tree_is_built) {
    static const struct {
        const char *text;
        size_t values;
    } CASES[] = {
        {"", 1},        {"5", 1},    {"{}", 2}, {"{\"a\":1}", 3}, {"[1,2,3]", 4}, {"\"[,:{\"", 1}, {"[\"\\\",[\"]", 2},
        {"[{},{}]", 5}, {"\"\\", 1},
    };
    struct error error;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        assert_int_equal(json_values(CASES[i].text, strlen(CASES[i].text)), CASES[i].values);
    json_t *json = json_parse_within("[{},{}]", 7, 5, &error);
    assert_int_equal(json_array_size(json), 2);
    json_decref(json);
    assert_null(json_parse_within("[{},{}]", 7, 4, &error));
    assert_string_equal(error.text, "the JSON has more than 4 values");
    // Texts of all sizes, as some are counted in blocks: [",:{[",",:{[",...] has so many values as strings, and one.
    static const char ITEM[] = "\",:{[\"";
    FREED_BUFFER text = {.size = 0};
    buffer_string(&text, "[");
    for (size_t count = 1; count < 200; count++) {
        if (count > 1) buffer_string(&text, ",");
        buffer_string(&text, ITEM);
        buffer_string(&text, "]");
        json = json_parse_within(text.data, text.size, count + 1, &error);
        assert_int_equal(json_array_size(json), count);
        json_decref(json);
        assert_null(json_parse_within(text.data, text.size, count, &error));
        text.size--;
    }
}

TEST(members_are_fetched_by_type) {
    static const char TEXT[] =
        "{\"s\":\"gr\xc3\xbc\xc3\x9f\",\"i\":-5,\"r\":1.5,\"t\":true,\"f\":false,\"n\":null,\"o\":{}}";
    FREED_JSON *object = json_parse(TEXT, sizeof TEXT - 1, NULL);
    const char *text = NULL;
    int64_t integer = 0;
    double real = 0;
    bool yes = false, no = true;
    assert_int_equal(json_want_text(object, "s", &text, NULL), 0);
    assert_string_equal(text, "gr\xc3\xbc\xc3\x9f");
    assert_int_equal(json_want_int(object, "i", -5, 5, &integer, NULL), 0);
    assert_int_equal(integer, -5);
    assert_int_equal(json_want_real(object, "r", 1.5, 1.5, &real, NULL), 0);
    assert_true(real == 1.5);
    assert_int_equal(json_want_real(object, "i", -5, 0, &real, NULL), 0);
    assert_true(real == -5);
    assert_int_equal(json_want_bool(object, "t", &yes, NULL), 0);
    assert_int_equal(json_want_bool(object, "f", &no, NULL), 0);
    assert_true(yes && !no);
}

TEST(integers_may_be_written_as_floats) {
    static const struct {
        const char *text;
        int code;
        int64_t value;
    } CASES[] = {
        {"{\"i\":5.0}", 0, 5},
        {"{\"i\":1.79e12}", 0, 1790000000000},
        {"{\"i\":-0.0}", 0, 0},
        {"{\"i\":-3e2}", 0, -300},
        {"{\"i\":9007199254740992.0}", 0, 9007199254740992},
        {"{\"i\":9007199254740994.0}", -EINVAL, 0},
        {"{\"i\":-9.1e15}", -EINVAL, 0},
        {"{\"i\":1e300}", -EINVAL, 0},
        {"{\"i\":5.5}", -EINVAL, 0},
        {"{\"i\":1e-3}", -EINVAL, 0},
        {"{\"i\":9223372036854775807}", 0, INT64_MAX},
        {"{\"i\":\"5\"}", -EINVAL, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        FREED_JSON *object = json_parse(CASES[i].text, strlen(CASES[i].text), NULL);
        int64_t value = 0;
        if (json_want_int(object, "i", INT64_MIN, INT64_MAX, &value, NULL) != CASES[i].code || value != CASES[i].value)
            fail_msg("%s", CASES[i].text);
    }
}

TEST(lists_of_integers) {
    static const struct {
        const char *text;
        int code;
        size_t count;
    } CASES[] = {
        {"{\"i\":[]}", 0, 0},         {"{\"i\":[1,2.0]}", 0, 2},     {"{\"i\":[1,2,3]}", -EINVAL, 9},
        {"{\"i\":[-1]}", -EINVAL, 9}, {"{\"i\":[1.5]}", -EINVAL, 9}, {"{\"i\":[\"1\"]}", -EINVAL, 9},
        {"{\"i\":5}", -EINVAL, 9},    {"{\"i\":null}", -EINVAL, 9},  {"{}", -ENOENT, 9},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        FREED_JSON *object = json_parse(CASES[i].text, strlen(CASES[i].text), NULL);
        int64_t values[2] = {0};
        size_t count = 9;
        if (json_want_ints(object, "i", 0, INT64_MAX, values, 2, &count, NULL) != CASES[i].code ||
            count != CASES[i].count)
            fail_msg("%s", CASES[i].text);
        if (count == 2) assert_true(values[0] == 1 && values[1] == 2);
    }
}

TEST(absent_and_wrong_members) {
    static const char TEXT[] = "{\"s\":\"5\",\"i\":5,\"r\":5.5,\"t\":true,\"n\":null,\"big\":9223372036854775807}";
    FREED_JSON *object = json_parse(TEXT, sizeof TEXT - 1, NULL);
    const char *text = "kept";
    int64_t integer = 77;
    double real = 77;
    bool boolean = true;
    struct error error;
    static const struct {
        const char *key;
        int code;
    } CASES[] = {{"n", -EINVAL}, {"x", -ENOENT}};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(json_want_text(object, CASES[i].key, &text, &error), CASES[i].code);
        assert_int_equal(json_want_int(object, CASES[i].key, 0, 9, &integer, &error), CASES[i].code);
        assert_int_equal(json_want_real(object, CASES[i].key, 0, 9, &real, &error), CASES[i].code);
        assert_int_equal(json_want_bool(object, CASES[i].key, &boolean, &error), CASES[i].code);
        assert_int_equal(json_want_degrees(object, CASES[i].key, 90, &(int32_t){0}, &error), CASES[i].code);
        assert_false(json_given(object, CASES[i].key));
    }
    assert_true(json_given(object, "s"));
    assert_string_equal(error.text, "\"x\" is missing");
    assert_int_equal(json_want_text(object, "i", &text, &error), -EINVAL);
    assert_string_equal(error.text, "\"i\" must be a string");
    assert_int_equal(json_want_int(object, "s", 0, 9, &integer, &error), -EINVAL);
    assert_int_equal(json_want_int(object, "r", 0, 9, &integer, &error), -EINVAL);
    assert_string_equal(error.text, "\"r\" must be a whole number");
    assert_int_equal(json_want_int(object, "i", 6, INT64_MAX, &integer, &error), -EINVAL);
    assert_string_equal(error.text, "\"i\" is 5, but must be from 6 to 9223372036854775807");
    assert_int_equal(json_want_int(object, "big", 0, INT64_MAX - 1, &integer, &error), -EINVAL);
    assert_int_equal(json_want_real(object, "s", 0, 9, &real, &error), -EINVAL);
    assert_string_equal(error.text, "\"s\" must be a number");
    assert_int_equal(json_want_real(object, "r", 6, 9, &real, &error), -EINVAL);
    assert_string_equal(error.text, "\"r\" is 5.5, but must be from 6 to 9");
    assert_int_equal(json_want_bool(object, "i", &boolean, &error), -EINVAL);
    assert_string_equal(error.text, "\"i\" must be true or false");
    FREED_JSON *array = json_parse("[]", 2, NULL);
    assert_int_equal(json_want_text(array, "s", &text, &error), -ENOENT);
    // Outputs are written only on success.
    assert_string_equal(text, "kept");
    assert_true(integer == 77 && real == 77 && boolean);
}

static int degrees_of(const char *number, double limit, int32_t *e7) {
    char text[128];
    int size = snprintf(text, sizeof text, "{\"d\":%s}", number);
    FREED_JSON *object = json_parse(text, (size_t)size, NULL);
    assert_non_null(object);
    return json_want_degrees(object, "d", limit, e7, NULL);
}

TEST(degrees_are_rounded_and_limited) {
    static const struct {
        const char *number;
        int32_t e7;
    } CASES[] = {{"0", 0},
                 {"-0.0", 0},
                 {"39.9847021", 399847021},
                 {"-39.9847021", -399847021},
                 {"90", 900000000},
                 {"-90.0", -900000000},
                 {"1e-7", 1},
                 {"0.00000004", 0},
                 {"0.00000006", 1},
                 {"-0.00000006", -1},
                 {"12.34567891", 123456789},
                 {"89.99999999", 900000000}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        int32_t e7 = 5;
        assert_int_equal(degrees_of(CASES[i].number, 90, &e7), 0);
        assert_int_equal(e7, CASES[i].e7);
    }
    int32_t e7 = 5;
    assert_int_equal(degrees_of("90.0000001", 90, &e7), -EINVAL);
    assert_int_equal(degrees_of("-90.00000001", 90, &e7), -EINVAL);
    assert_int_equal(degrees_of("1e308", 180, &e7), -EINVAL);
    assert_int_equal(degrees_of("\"5\"", 180, &e7), -EINVAL);
    assert_int_equal(e7, 5);
    assert_int_equal(degrees_of("180", 180, &e7), 0);
    assert_int_equal(e7, 1800000000);
}

static void assert_degrees(int32_t e7, const char *text) {
    FREED_BUFFER out = {.size = 0};
    json_put_degrees(&out, e7);
    assert_string_equal(buffer_cstring(&out), text);
}

TEST(degrees_are_written_exactly) {
    assert_degrees(0, "0");
    assert_degrees(1, "0.0000001");
    assert_degrees(-5, "-0.0000005");
    assert_degrees(10000000, "1");
    assert_degrees(-10000000, "-1");
    assert_degrees(399847021, "39.9847021");
    assert_degrees(-1163000000, "-116.3");
    assert_degrees(1800000000, "180");
    assert_degrees(100000010, "10.000001");
    assert_degrees(INT32_MAX, "214.7483647");
    assert_degrees(INT32_MIN, "-214.7483648");
}

TEST(degrees_go_there_and_back) {
    srand(2);
    for (int i = 0; i < 20000; i++) {
        int32_t e7 = (int32_t)((int64_t)rand() * 3600000001 / ((int64_t)RAND_MAX + 1) - 1800000000), back;
        if (i % 2) e7 = e7 / 10000 * 10000 / (rand() % 9 + 1);
        FREED_BUFFER out = {.size = 0};
        json_put_degrees(&out, e7);
        assert_int_equal(degrees_of(buffer_cstring(&out), 180, &back), 0);
        assert_int_equal(back, e7);
        assert_true(out.data[out.size - 1] != '0' || !strchr(buffer_cstring(&out), '.'));
    }
}

TEST(numbers_are_written) {
    static const struct {
        double value;
        const char *text;
    } CASES[] = {{0, "0.0"},          {0.04, "0.0"},     {-0.04, "0.0"},
                 {0.05, "0.1"},       {-0.26, "-0.3"},   {1.96, "2.0"},
                 {8046.72, "8046.7"}, {-12.3, "-12.3"},  {1e16, "10000000000000000.0"},
                 {NAN, "null"},       {HUGE_VAL, "null"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct buffer out = {0};
        json_put_fixed1(&out, CASES[i].value);
        assert_string_equal(buffer_cstring(&out), CASES[i].text);
        buffer_free(&out);
    }
    struct buffer out = {0};
    json_put_int(&out, INT64_MIN);
    assert_string_equal(buffer_cstring(&out), "-9223372036854775808");
    buffer_free(&out);
}

/* Any bytes of a name become JSON that jansson reads; valid text comes back as it was. */
TEST(any_text_is_written_as_json) {
    static const char *const PIECES[] = {
        "a",        "\"",   "\\",   "\n",   "\x01",        "\x7f", "\xc3\xbc", "\xe4\xbd\xa0", "\xf0\x9f\x90\xa6",
        "\xc2\x85", "\xff", "\xe4", "\xbd", "\xed\xa0\x80"};
    srand(4);
    for (int i = 0; i < 20000; i++) {
        FREED_BUFFER text = {0}, out = {0};
        int kinds = i % 2 ? 14 : 10; // the last four are no UTF-8
        for (int n = rand() % 12; n > 0; n--) buffer_string(&text, PIECES[rand() % kinds]);
        buffer_byte(&out, '[');
        json_put_text(&out, buffer_cstring(&text), text.size);
        buffer_byte(&out, ']');
        FREED_JSON *array = json_parse(out.data, out.size, NULL);
        assert_non_null(array);
        if (kinds == 10) assert_string_equal(json_string_value(json_array_get(array, 0)), buffer_cstring(&text));
    }
}

TEST(members_are_written) {
    FREED_BUFFER out = {.size = 0};
    json_member_int(&out, "{\"user\":", -7);
    json_member_text(&out, ",\"name\":", "a\"b");
    json_member_id(&out, ",\"id\":", INT64_MAX);
    json_member_id(&out, ",\"root\":", 0);
    json_member_place(&out, 525200000, -1);
    assert_string_equal(buffer_cstring(&out),
                        "{\"user\":-7,\"name\":\"a\\\"b\",\"id\":\"9223372036854775807\",\"root\":null,"
                        "\"lat\":52.52,\"lng\":-0.0000001");
}

TEST(members_are_copied) {
    static const char TEXT[] = "{\"a\":\"x\\\"y\",\"n\":null,\"i\":7,\"m\":-1}";
    FREED_BUFFER out = {.size = 0};
    FREED_JSON *object = json_parse(TEXT, sizeof TEXT - 1, NULL);
    assert_true(json_copy_text(&out, object, "a"));
    assert_true(json_copy_text(&out, object, "n"));
    assert_true(json_copy_int(&out, object, "i"));
    assert_true(json_copy_int_or_null(&out, object, "i"));
    assert_true(json_copy_int_or_null(&out, object, "n"));
    assert_string_equal(buffer_cstring(&out), ",\"a\":\"x\\\"y\",\"n\":null,\"i\":7,\"i\":7,\"n\":null");
    assert_false(json_copy_text(&out, object, "i"));
    assert_false(json_copy_text(&out, object, "none"));
    assert_false(json_copy_int(&out, object, "m"));
    assert_false(json_copy_int(&out, object, "a"));
    assert_false(json_copy_int_or_null(&out, object, "m"));
    assert_false(json_copy_int_or_null(&out, object, "none"));
}

TEST(times_of_reports_are_limited) {
    enum { MINUTE = 60000, DAY = 24 * 60 * MINUTE };
    const int64_t now = clock_wall_ms();
    const struct place_times month = {.past_days = 30}, old = {.past_days = 0}, stream = {.any = true, .past_days = 30};
    assert_int_equal(place_check_time(&month, now, now, &failure), 0);
    assert_int_equal(place_check_time(&month, now - 30LL * DAY + MINUTE, now, &failure), 0);
    assert_int_equal(place_check_time(&month, now - 30LL * DAY - 1, now, &failure), -EINVAL);
    assert_fails(place_check_time(&month, now / 1000, now, &failure), -EINVAL, "milliseconds");
    assert_int_equal(place_check_time(&old, 0, now, &failure), 0);
    assert_int_equal(place_check_time(&old, now + MINUTE / 2, now, &failure), 0);
    assert_int_equal(place_check_time(&old, now + 2 * MINUTE, now, &failure), -EINVAL);
    assert_int_equal(place_check_time(&stream, 0, now, &failure), 0);
    assert_int_equal(place_check_time(&stream, now + 2LL * DAY, now, &failure), 0);
}
