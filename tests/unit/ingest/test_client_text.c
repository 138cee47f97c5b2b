/* Keys and texts of clients. */
#include "ingest/client_text.h"
#include "unit/kit/kit.h"

TEST(keys_are_chosen) {
    struct chance chance = chance_new();
    char key[CLIENT_KEY_MAX + 1], other[CLIENT_KEY_MAX + 1];
    client_key_choose(&chance, NULL, key);
    client_key_choose(&chance, NULL, other);
    assert_int_equal(strlen(key), 32);
    assert_true(strcmp(key, other) != 0 && client_key_valid(key));
    client_key_choose(&chance, "mine", key);
    assert_string_equal(key, "mine");
}

TEST(texts_have_bounds_in_characters) {
    static const struct {
        const char *body, *wrong;
    } CASES[] = {
        {"{\"text\":\"abc\"}", NULL},
        {"{\"text\":\"\\u4e2d\\u6587\\u5b57\"}", NULL},
        {"{\"text\":\"abcd\"}", "must have 1 to 3 characters"},
        {"{\"text\":\"\"}", "must have 1 to 3 characters"},
        {"{\"text\":\"a\\u202eb\"}", "must not hold U+202D or U+202E"},
        {"{\"text\":5}", "text"},
        {"{}", "text"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        FREED_JSON *body = json_parse(CASES[i].body, strlen(CASES[i].body), NULL);
        struct event_text text;
        struct error error = {.text = ""};
        if (client_text_read(body, "text", 3, &text, &error) != !CASES[i].wrong) fail_msg("%s", CASES[i].body);
        if (CASES[i].wrong) assert_non_null(strstr(error.text, CASES[i].wrong));
    }
}

TEST(keys_are_printable_and_may_be_absent) {
    FREED_JSON *none = json_object(), *good = json_object(), *bad = json_object();
    const char *key = "before";
    json_object_set_new(good, "key", json_string(" ~"));
    json_object_set_new(bad, "key", json_string("a\x7f"));
    assert_true(client_key_read(none, &key, &failure));
    assert_string_equal(key, "before");
    assert_true(client_key_read(good, &key, &failure));
    assert_string_equal(key, " ~");
    assert_false(client_key_read(bad, &key, &failure));
    assert_false(client_key_valid(""));
    assert_false(client_key_valid("0123456789012345678901234567890123456789012345678901234567890123x"));
}
