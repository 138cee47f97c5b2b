/* Handles that a text mentions. */
#include "ingest/mentions.h"
#include "unit/kit/kit.h"

TEST(test_handles_behind_an_at_sign) {
    static const struct {
        const char *text, *handles; /* separated by blanks */
    } CASES[] = {
        {"", ""},
        {"@", ""},
        {"ada", ""},
        {"@ada", "ada"},
        {"@Ada and (@ben_99), @ADA!", "ada ben_99"},
        {"mail ada@example.com", ""},
        {"_@ada @@ben", "ben"},
        {"@ada@ben", "ada"},
        {"@ad @abcdefghijklmnopqrstuvwxyz01234 @cem", "cem"},
        {"\xe4\xbd\xa0\xe5\xa5\xbd@ada\xe5\x8f\x8b", "ada"}, /* between Chinese characters */
        {"@\xc3\xa4"
         "da @ad\xc3\xa4 @ada\xc3\xa4",
         "ada"},
        {"@ada.", "ada"},
        {"@ada@social.example", ""},
        {"see https://social.example/@ada", ""},
        {"(https://social.example/@ada/1?by=@ben) @cem", "cem"},
        {"\xe4\xbd\xa0http://x.example/@ada\xe4\xbd\xa0@ben", "ben"},
        {"social.example/@ada, social.example:80/@ben", ""},
        {"@ada/@ben", "ada ben"},
        {"and/or @ada...", "ada"},
        {"3/4 @ada", "ada"},
        {"@ada-ben", "ada"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        char handles[MENTIONS_MAX][HANDLE_SIZE];
        FREED_BUFFER found = {.size = 0};
        size_t count = mentions_find(CASES[i].text, strlen(CASES[i].text), handles);
        for (size_t k = 0; k < count; k++) buffer_format(&found, "%s%s", k ? " " : "", handles[k]);
        assert_string_equal(buffer_cstring(&found), CASES[i].handles);
    }
}

TEST(test_the_first_ten_count) {
    char handles[MENTIONS_MAX][HANDLE_SIZE];
    FREED_BUFFER text = {.size = 0};
    for (int i = 0; i < 25; i++) buffer_format(&text, "@user_%d ", i / 2);
    assert_int_equal(mentions_find((const char *)text.data, text.size, handles), 10);
    assert_string_equal(handles[0], "user_0");
    assert_string_equal(handles[9], "user_9");
}
