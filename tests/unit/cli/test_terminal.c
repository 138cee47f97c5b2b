#include "cli/terminal.h"
#include "unit/kit/kit.h"

TEST(a_text_cannot_command_the_terminal) {
    FREED_BUFFER out = {.size = 0};
    terminal_put_text(&out, "a\x1b[2Jb\r\n\x7f\xc2\x9b"
                            "c\xff\xe4\xb8\xad");
    assert_string_equal(buffer_cstring(&out), "a?[2Jb????c?\xe4\xb8\xad");
}

TEST(a_text_is_cut_and_padded_by_characters) {
    static const struct {
        const char *text;
        int columns;
        const char *fitted;
    } CASES[] = {
        {"", 2, "  "}, {"abc", 5, "abc  "}, {"abc", 3, "abc"}, {"abc", 2, "ab"}, {"\xc3\xa4\xc3\xb6", 1, "\xc3\xa4"},
        {"abc", 0, ""}};
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        FREED_BUFFER out = {.size = 0};
        buffer_string(&out, "xy");
        buffer_string(&out, CASES[i].text);
        terminal_fit(&out, 2, CASES[i].columns);
        assert_string_equal(buffer_cstring(&out) + 2, CASES[i].fitted);
    }
}
