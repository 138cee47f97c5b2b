/* Texts that strangers carry. */
#include "service/seal.h"
#include "unit/kit/kit.h"

static bool opens(const struct seal *seal, uint64_t holder, const struct buffer *sealed, const char *wanted) {
    FREED_BUFFER text = {.size = 0};
    bool good = seal_open(seal, holder, (const char *)sealed->data, sealed->size, &text);
    if (good) assert_string_equal(buffer_cstring(&text), wanted);
    return good;
}

TEST(a_text_opens_for_its_holder_by_the_same_key_and_use) {
    struct seal seal, same, other_use, other_key;
    FREED_BUFFER sealed = {.data = NULL}, again = {.data = NULL};
    assert_true(seal_of("secret", "cursors", &seal) && seal_of("secret", "cursors", &same) &&
                seal_of("secret", "links", &other_use) && seal_of("secreT", "cursors", &other_key));
    assert_true(seal_close(&seal, 7, "72706f7374", 10, &sealed) && seal_close(&seal, 7, "72706f7374", 10, &again));
    assert_int_equal(sealed.size, 51);
    assert_true(opens(&same, 7, &sealed, "72706f7374"));
    assert_false(opens(&seal, 8, &sealed, "") || opens(&other_use, 7, &sealed, "") ||
                 opens(&other_key, 7, &sealed, ""));
    assert_false(strcmp(buffer_cstring(&sealed), buffer_cstring(&again)) == 0); // nobody sees that two are the same
}

TEST(what_was_changed_does_not_open) {
    static const char *const MADE_UP[] = {"", "72", "zz", "0123456789"};
    struct seal seal;
    struct buffer sealed = {.data = NULL}, text = {.data = NULL};
    assert_true(seal_of("secret", "cursors", &seal) && seal_close(&seal, 7, "abc", 3, &sealed));
    for (size_t i = 0; i + 1 < sealed.size; i++) { // the last one has bits that nobody reads
        uint8_t was = sealed.data[i];
        sealed.data[i] = was == '0' ? '1' : '0';
        assert_false(opens(&seal, 7, &sealed, ""));
        sealed.data[i] = was;
        assert_false(seal_open(&seal, 7, (const char *)sealed.data, i, &text));
    }
    for (size_t i = 0; i < sizeof MADE_UP / sizeof *MADE_UP; i++)
        assert_false(seal_open(&seal, 7, MADE_UP[i], strlen(MADE_UP[i]), &text));
    buffer_free(&sealed);
}

TEST(texts_have_a_longest) {
    char text[SEAL_TEXT_MAX + 2] = "";
    struct seal seal;
    FREED_BUFFER sealed = {.size = 0};
    assert_true(seal_of("secret", "cursors", &seal));
    memset(text, 'x', SEAL_TEXT_MAX);
    assert_true(seal_close(&seal, 7, text, SEAL_TEXT_MAX, &sealed));
    assert_true(opens(&seal, 7, &sealed, text));
    assert_false(seal_close(&seal, 7, text, SEAL_TEXT_MAX + 1, &sealed));
}
