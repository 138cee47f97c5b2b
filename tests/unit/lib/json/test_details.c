/* Tests details.c. */
#include "json/details.h"
#include "unit/kit/kit.h"

static int wants(const char *text, struct report_details *details) {
    struct error error = {.text = ""};
    json_t *object = json_parse(text, strlen(text), NULL);
    assert_non_null(object);
    int code = json_want_details(object, details, &error);
    json_decref(object);
    assert_true(code == 0 || (code == -EINVAL && error.text[0]));
    return code;
}

static void passes(const char *members) {
    struct report_details details;
    FREED_BUFFER text = {.size = 0}, again = {.size = 0};
    buffer_format(&text, "{\"lat\":1%s}", members);
    assert_int_equal(wants(buffer_cstring(&text), &details), 0);
    assert_int_equal(details_given(&details), *members != '\0');
    assert_true(details_valid(&details));
    json_member_details(&again, &details);
    assert_string_equal(again.size ? buffer_cstring(&again) : "", members);
}

TEST(what_is_said_comes_back) {
    passes("");
    passes(",\"battery\":0");
    passes(",\"charging\":false");
    passes(",\"battery\":0.57,\"charging\":true,\"speed_mps\":1.389,\"course\":270.05,\"activity\":\"walking\","
           "\"vertical_accuracy_m\":3.5");
    passes(",\"battery\":1,\"speed_mps\":10000,\"course\":360,\"activity\":\"unknown\",\"vertical_accuracy_m\":100000");
    for (int i = 0; ACTIVITY_WORDS[i]; i++) {
        FREED_BUFFER text = {.size = 0};
        buffer_format(&text, ",\"activity\":\"%s\"", ACTIVITY_WORDS[i]);
        passes(buffer_cstring(&text));
    }
}

TEST(what_does_not_fit_is_refused) {
    static const char *const bad[] = {"{\"battery\":1.01}",
                                      "{\"battery\":-0.1}",
                                      "{\"battery\":\"full\"}",
                                      "{\"battery\":null}",
                                      "{\"charging\":1}",
                                      "{\"charging\":null}",
                                      "{\"speed_mps\":10001}",
                                      "{\"speed_mps\":-1}",
                                      "{\"course\":361}",
                                      "{\"course\":-1}",
                                      "{\"vertical_accuracy_m\":100001}",
                                      "{\"vertical_accuracy_m\":-1}",
                                      "{\"activity\":\"flying\"}",
                                      "{\"activity\":\"\"}",
                                      "{\"activity\":2}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct report_details details = {.battery = 7}, before = details;
        assert_int_equal(wants(bad[i], &details), -EINVAL);
        assert_memory_equal(&details, &before, sizeof details);
    }
}

TEST(numbers_beyond_the_bounds) {
    static const struct report_details bad[] = {{.battery = 1001},
                                                {.battery = -2},
                                                {.charging = 2},
                                                {.speed = 10000001},
                                                {.course = 36001},
                                                {.activity = 7},
                                                {.vertical_accuracy = 10000001}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(details_valid(&bad[i]));
}

TEST(an_activity_of_a_later_release_is_unknown) {
    const struct report_details later = {-1, -1, -1, -1, -1, 100};
    FREED_BUFFER text = {.size = 0};
    json_member_details(&text, &later);
    assert_string_equal(buffer_cstring(&text), ",\"activity\":\"unknown\"");
}
