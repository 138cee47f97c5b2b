/* Tests request.c and fanout/nearby/request.c. What phones say: every frame that is good, and every way in which one is not. */
#include "fanout/nearby/request.h"
#include "fanout/request.h"
#include "unit/kit/kit.h"

enum { REQUEST_HELLO, REQUEST_LOCATION, REQUEST_MORE };

/* A frame as the core and the nearby screen together read it. */
struct said {
    int type;
    char token[REQUEST_TOKEN_MAX];
    size_t token_size;
    bool placed; /* says where it is */
    struct geo_point at;
    int64_t time;
    int32_t accuracy;
    struct nearby_cursor after;
};

static int read_hello(const struct request *request, struct said *said, const char **code, struct error *error) {
    struct report report = {.accuracy = 0};
    int result = nearby_hello_parse(request->object, &report, code, error);
    *said = (struct said){.type = REQUEST_HELLO,
                          .token_size = request->token_size,
                          .placed = result == 0,
                          .at = report.at,
                          .time = report.time,
                          .accuracy = report.accuracy};
    memcpy(said->token, request->token, request->token_size);
    return result == -ENOENT ? 0 : result;
}

static int read_other(const struct request *request, struct said *said, const char **code, struct error *error) {
    struct nearby_request nearby = {.type = NEARBY_MORE};
    int result = nearby_request_parse(request->type, request->object, &nearby, code, error);
    *said = (struct said){.type = nearby.type == NEARBY_MORE ? REQUEST_MORE : REQUEST_LOCATION,
                          .placed = nearby.type == NEARBY_LOCATION,
                          .at = nearby.report.at,
                          .time = nearby.report.time,
                          .accuracy = nearby.report.accuracy,
                          .after = nearby.after};
    return result == -ENOENT ? request_unknown(request, code, error) : result;
}

static int read_said(const char *text, struct said *said, const char **code, struct error *error) {
    struct request request;
    int result = request_parse(text, strlen(text), &request, code, error);
    if (result) return result;
    result = request.hello ? read_hello(&request, said, code, error) : read_other(&request, said, code, error);
    request_free(&request);
    return result;
}

static struct said parse(const char *text) {
    struct said said;
    const char *code;
    if (read_said(text, &said, &code, &failure)) fail_msg("%s: %s: %s", text, code, failure.text);
    return said;
}

static void refused(const char *text, const char *code, const char *reason) {
    struct said read;
    struct error error = {""};
    const char *said = NULL;
    if (read_said(text, &read, &said, &error) != -EINVAL) fail_msg("taken: %s", text);
    if (strcmp(said, code) || !strstr(error.text, reason))
        fail_msg("%s: %s: %s, not %s: %s", text, said, error.text, code, reason);
}

TEST(good_frames_are_read) {
    struct said hello =
        parse("{\"type\":\"hello\",\"token\":\"abc\",\"lat\":39.9847021,\"lng\":-116.5,\"time\":1790000000000}");
    assert_int_equal(hello.type, REQUEST_HELLO);
    assert_string_equal(hello.token, "abc");
    assert_int_equal(hello.token_size, 3);
    assert_int_equal(hello.at.lat, 399847021);
    assert_int_equal(hello.at.lng, -1165000000);
    assert_int_equal(hello.time, 1790000000000);
    assert_int_equal(hello.accuracy, -1);

    struct said location =
        parse("{\"accuracy\":12.7,\"time\":0,\"lng\":180,\"lat\":-90,\"type\":\"location\",\"new\":[]}");
    assert_int_equal(location.type, REQUEST_LOCATION);
    assert_int_equal(location.at.lat, -900000000);
    assert_int_equal(location.at.lng, 1800000000);
    assert_int_equal(location.accuracy, 12);

    struct said more = parse("{\"type\":\"more\"}");
    assert_int_equal(more.type, REQUEST_MORE);
    assert_true(more.after.distance_m < 0);
    assert_true(parse("{\"type\":\"more\",\"after\":null}").after.distance_m < 0);
}

TEST(a_hello_may_say_no_place) {
    static const char *const CASES[] = {
        "{\"type\":\"hello\",\"token\":\"abc\"}",
        "{\"type\":\"hello\",\"token\":\"abc\",\"time\":1}",
        "{\"type\":\"hello\",\"token\":\"abc\",\"accuracy\":5,\"new\":[]}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct said hello = parse(CASES[i]);
        assert_int_equal(hello.type, REQUEST_HELLO);
        assert_string_equal(hello.token, "abc");
        assert_false(hello.placed);
    }
    assert_true(parse("{\"type\":\"hello\",\"token\":\"abc\",\"lat\":1,\"lng\":2,\"time\":3}").placed);
    refused("{\"type\":\"hello\",\"token\":\"abc\",\"lat\":1,\"time\":1}", "bad_location", "\"lng\" is missing");
    refused("{\"type\":\"hello\",\"token\":\"abc\",\"lat\":null,\"lng\":null}", "bad_location",
            "\"lat\" must be a number");
    refused("{\"type\":\"location\",\"time\":1}", "bad_location", "\"lat\" is missing");
}

TEST(bad_frames_are_named) {
    static const char *const CASES[][3] = {
        {"", "bad_message", "malformed"},
        {"{", "bad_message", "malformed"},
        {"[]", "bad_message", "object"},
        {"{} {}", "bad_message", "malformed"},
        {"{\"type\":\"more\",\"type\":\"more\"}", "bad_message", "duplicate"},
        {"{\"type\":\"more\",\"after\":\"\\u0000\"}", "bad_message", "malformed"},
        {"{\"type\":\"\xff\"}", "bad_message", "malformed"},
        {"{}", "bad_message", "\"type\" is missing"},
        {"{\"type\":5}", "bad_message", "\"type\" must be a string"},
        {"{\"type\":\"Hello\"}", "unknown_type", "must be"},
        {"{\"type\":\"watch\"}", "bad_what", "must be feed, comments or notices"},
        {"{\"type\":\"unwatch\",\"what\":\"clouds\"}", "bad_what", "must be feed, comments or notices"},
        {"{\"type\":\"hello\",\"lat\":1,\"lng\":1,\"time\":1}", "bad_token", "\"token\" is missing"},
        {"{\"type\":\"hello\",\"token\":7,\"lat\":1,\"lng\":1,\"time\":1}", "bad_token", "must be a string"},
        {"{\"type\":\"hello\",\"token\":\"t\",\"lng\":1,\"time\":1}", "bad_location", "\"lat\" is missing"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) refused(CASES[i][0], CASES[i][1], CASES[i][2]);
}

TEST(places_and_times_are_checked) {
    static const char *const CASES[][3] = {
        {"\"lat\":90.0000001,\"lng\":1,\"time\":1", "bad_location",
         "\"lat\" is 90.0000001, but must be from -90 to 90"},
        {"\"lat\":-91,\"lng\":1,\"time\":1", "bad_location", "\"lat\""},
        {"\"lat\":1,\"lng\":180.1,\"time\":1", "bad_location", "\"lng\" is 180.1, but must be from -180 to 180"},
        {"\"lat\":1,\"lng\":-1e300,\"time\":1", "bad_location", "\"lng\""},
        {"\"lat\":\"1\",\"lng\":1,\"time\":1", "bad_location", "\"lat\" must be a number"},
        {"\"lat\":true,\"lng\":1,\"time\":1", "bad_location", "\"lat\" must be a number"},
        {"\"lat\":1,\"lng\":[1],\"time\":1", "bad_location", "\"lng\" must be a number"},
        {"\"lat\":1,\"lng\":null,\"time\":1", "bad_location", "\"lng\" must be a number"},
        {"\"lat\":1,\"lng\":1", "bad_time", "\"time\" is missing"},
        {"\"lat\":1,\"lng\":1,\"time\":1.5", "bad_time", "whole number"},
        {"\"lat\":1,\"lng\":1,\"time\":\"1\"", "bad_time", "whole number"},
        {"\"lat\":1,\"lng\":1,\"time\":-1", "bad_time", "must be from 0"},
        {"\"lat\":1,\"lng\":1,\"time\":140737488355328", "bad_time",
         "is 140737488355328, but must be from 0 to 140737488355327"},
        {"\"lat\":1,\"lng\":1,\"time\":1,\"accuracy\":\"far\"", "bad_location", "\"accuracy\" must be a number"},
        {"\"lat\":1,\"lng\":1,\"time\":1,\"accuracy\":-1", "bad_location", "\"accuracy\" is -1, but must be from 0"},
    };
    char text[256];
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        snprintf(text, sizeof text, "{\"type\":\"location\",%s}", CASES[i][0]);
        refused(text, CASES[i][1], CASES[i][2]);
        snprintf(text, sizeof text, "{\"type\":\"hello\",\"token\":\"t\",%s}", CASES[i][0]);
        refused(text, CASES[i][1], CASES[i][2]);
    }
}

TEST(a_token_has_a_longest) {
    FREED_BUFFER text = {.size = 0};
    for (int extra = 0; extra < 2; extra++) {
        buffer_clear(&text);
        buffer_string(&text, "{\"type\":\"hello\",\"lat\":1,\"lng\":1,\"time\":1,\"token\":\"");
        for (int i = 0; i < REQUEST_TOKEN_MAX - 1 + extra; i++) buffer_byte(&text, 'x');
        buffer_string(&text, "\"}");
        if (extra)
            refused(buffer_cstring(&text), "bad_token", "too long");
        else
            assert_int_equal(parse(buffer_cstring(&text)).token_size, REQUEST_TOKEN_MAX - 1);
    }
}

TEST(cursors_come_back_as_they_went) {
    static const struct nearby_cursor CASES[] = {{-1, -1}, {0, 0},        {8046.719999999999, INT64_MAX},
                                                 {0.1, 1}, {1.0 / 3, 42}, {20015114.35, 7}};
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        char text[CURSOR_TEXT_MAX], frame[CURSOR_TEXT_MAX + 64];
        struct nearby_cursor back;
        cursor_format(CASES[i], text);
        assert_int_equal(cursor_parse(text, &back), 0);
        assert_memory_equal(&back, &CASES[i], sizeof back);
        snprintf(frame, sizeof frame, "{\"type\":\"more\",\"after\":\"%s\"}", text);
        back = parse(frame).after;
        assert_memory_equal(&back, &CASES[i], sizeof back);
    }
}

TEST(strange_cursors_are_refused) {
    static const char *const CASES[] = {"",
                                        "_",
                                        "1",
                                        "1_",
                                        "_1",
                                        "1_2_3",
                                        "1_x",
                                        "x_1",
                                        "nan_1",
                                        "inf_1",
                                        "1 _1",
                                        "1_1 ",
                                        "1_99999999999999999999",
                                        "0x1p3",
                                        "1,5_10"};
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct nearby_cursor cursor;
        char frame[128];
        if (cursor_parse(CASES[i], &cursor) != -EINVAL) fail_msg("taken: %s", CASES[i]);
        snprintf(frame, sizeof frame, "{\"type\":\"more\",\"after\":\"%s\"}", CASES[i]);
        refused(frame, "bad_cursor", "cursor");
    }
    refused("{\"type\":\"more\",\"after\":5}", "bad_cursor", "must be a string");
}

TEST(a_hello_names_the_session_before) {
    static const struct {
        const char *text;
        int64_t number;
    } CASES[] = {{"{}", 0},
                 {"{\"before\":null}", 0},
                 {"{\"before\":7}", 0},
                 {"{\"before\":\"\"}", 0},
                 {"{\"before\":\"7x\"}", 0},
                 {"{\"before\":\"-7\"}", 0},
                 {"{\"before\":\"9223372036854775808\"}", 0},
                 {"{\"before\":\"9223372036854775807\"}", INT64_MAX},
                 {"{\"before\":\"7\"}", 7}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        FREED_JSON *hello = json_parse(CASES[i].text, strlen(CASES[i].text), NULL);
        assert_int_equal(nearby_hello_before(hello), CASES[i].number);
    }
}
