/* What a client wants a place to be, good and bad. */
#include "ingest/places/place_body.h"
#include "unit/kit/kit.h"

static int read_body(const char *text, struct place_command *command, int64_t users[PLACE_TOLD_MAX],
                     struct error *error) {
    FREED_JSON *object = json_parse(text, strlen(text), &failure);
    if (!object) fail_msg("%s: %s", text, failure.text);
    return place_body_read(object, command, users, error);
}

static int code_of(const char *name, const char *circle, const char *tell) {
    struct place_command command;
    int64_t users[PLACE_TOLD_MAX];
    struct error error = {.text = ""};
    FREED char *text = mem_format("{\"name\":%s,%s,\"tell\":%s}", name, circle, tell);
    int code = read_body(text, &command, users, &error);
    assert_int_equal(code != 0, error.text[0] != 0);
    return code;
}

#define CIRCLE "\"lat\":1,\"lng\":2,\"radius_m\":100"

TEST(a_body_is_read_whole) {
    struct place_command command = {.kind = PLACE_COMMAND_PUT};
    int64_t users[PLACE_TOLD_MAX];
    FREED_JSON *object = json_loads("{\"name\":\"Home\",\"lat\":-90,\"lng\":13.405,\"radius_m\":5e1,"
                                    "\"tell\":[9223372036854775807,7.0],\"other\":null}",
                                    0, NULL);
    assert_int_equal(place_body_read(object, &command, users, &failure), 0);
    assert_memory_equal(command.name.data, "Home", command.name.size);
    assert_true(command.lat == -900000000 && command.lng == 134050000 && command.radius == 50 && !command.friends);
    assert_true(command.users.count == 2 && command.users.items[0] == INT64_MAX && command.users.items[1] == 7);
}

TEST(who_is_told) {
    struct place_command command;
    int64_t users[PLACE_TOLD_MAX];
    assert_int_equal(read_body("{\"name\":\"a\"," CIRCLE ",\"tell\":\"me\"}", &command, users, &failure), 0);
    assert_true(!command.friends && command.users.count == 0);
    assert_int_equal(read_body("{\"name\":\"a\"," CIRCLE ",\"tell\":\"friends\"}", &command, users, &failure), 0);
    assert_true(command.friends && command.users.count == 0);
    FREED_BUFFER list = {0};
    for (int i = 0; i < PLACE_TOLD_MAX; i++) buffer_format(&list, "%c%d", i ? ',' : '[', i);
    buffer_byte(&list, ']');
    assert_int_equal(code_of("\"a\"", CIRCLE, buffer_cstring(&list)), 0);
    list.data[list.size - 1] = ',';
    buffer_string(&list, "50]");
    static const char *const BAD[] = {"null", "\"\"", "\"Friends\"", "[]",    "{}",    "5",
                                      "true", "[-1]", "[\"7\"]",     "[1.5]", "[null]"};
    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++)
        if (code_of("\"a\"", CIRCLE, BAD[i]) != -EINVAL) fail_msg("%s", BAD[i]);
    assert_int_equal(code_of("\"a\"", CIRCLE, buffer_cstring(&list)), -EINVAL);
}

TEST(circles_have_bounds) {
    static const struct {
        const char *circle;
        int code;
    } CASES[] = {
        {"\"lat\":90,\"lng\":180,\"radius_m\":50", 0},
        {"\"lat\":-90,\"lng\":-180,\"radius_m\":50000", 0},
        {"\"lat\":90.1,\"lng\":0,\"radius_m\":50", -EINVAL},
        {"\"lat\":0,\"lng\":-180.1,\"radius_m\":50", -EINVAL},
        {"\"lat\":0,\"lng\":0,\"radius_m\":49", -EINVAL},
        {"\"lat\":0,\"lng\":0,\"radius_m\":50001", -EINVAL},
        {"\"lat\":0,\"lng\":0,\"radius_m\":99.5", -EINVAL},
        {"\"lat\":0,\"lng\":0,\"radius_m\":\"100\"", -EINVAL},
        {"\"lat\":\"0\",\"lng\":0,\"radius_m\":99", -EINVAL},
        {"\"lat\":0,\"radius_m\":99", -EINVAL},
        {"\"lng\":0,\"radius_m\":99", -EINVAL},
        {"\"lat\":0,\"lng\":0", -EINVAL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++)
        if (code_of("\"a\"", CASES[i].circle, "\"me\"") != CASES[i].code) fail_msg("%s", CASES[i].circle);
}

TEST(names_are_as_others) {
    static const char *const BAD[] = {"\"\"", "null", "5", "\" \"", "\"a\\nb\"", "\"\\u202e\"", "\"\\u2028\""};
    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++)
        if (code_of(BAD[i], CIRCLE, "\"me\"") != -EINVAL) fail_msg("%s", BAD[i]);
    char name[PLACE_NAME_MAX + 4] = "\"";
    memset(name + 1, 'a', PLACE_NAME_MAX);
    strcpy(name + 1 + PLACE_NAME_MAX, "\"");
    assert_int_equal(code_of(name, CIRCLE, "\"me\""), 0);
    strcpy(name + 1 + PLACE_NAME_MAX, "a\"");
    assert_int_equal(code_of(name, CIRCLE, "\"me\""), -EINVAL);
}
