/* Tests word_list.c and folding.c: which texts have a word of a list. */
#include "folding/word_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "unit/kit/kit.h"

struct fixture {
    char *path;
    struct word_list *list;
    struct error error;
};

SET_UP() {
    struct fixture *f = kit_zero(sizeof *f);
    f->path = mem_format("%s/words", kit_folder());
    return f;
}

TEAR_DOWN(struct fixture *f) {
    word_list_free(f->list);
    free(f->path);
}

static int read_list(struct fixture *f, const char *text) {
    word_list_free(f->list);
    f->list = NULL;
    kit_write(f->path, text);
    return word_list_read(f->path, &f->list, &f->error);
}

TEST(whole_words_and_phrases_are_found, struct fixture *f) {
    static const struct {
        const char *text;
        bool found;
    } CASES[] = {
        {"", false},         {"nothing of the kind", false},
        {"Spam", true},      {"what SPÁM!", true},
        {"ｓｐａｍ", true}, /* full width */
        {"spammer", false},  {"antispam", false},
        {"anti-spam", true}, {"buy it now", false},
        {"Buy now", true},   {"please buy...\nNOW, friends", true},
        {"now buy", false},  {"buy buy now now", true},
        {"buy", false},      {"我喜欢垃圾邮件吗", true},
        {"垃圾 邮件", true}, {"垃圾", false},
        {"a 🍆 b", true},     {"comment", false}, /* a line that says nothing */
        {"last", true},
    };
    assert_int_equal(read_list(f, "# comment\n\nspam\n  Buy Now \n垃圾邮件\n🍆\nlast"), 0);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        if (word_list_finds(f->list, CASES[i].text, strlen(CASES[i].text)) != CASES[i].found)
            fail_msg("\"%s\"", CASES[i].text);
}

TEST(bad_lists_are_refused, struct fixture *f) {
    assert_int_equal(read_list(f, "good\n...\n"), -EINVAL);
    assert_non_null(strstr(f->error.text, ":2: it has no word"));
    assert_int_equal(read_list(f, "a b c d e f g h i j k l m n o p\n"), 0);
    assert_int_equal(read_list(f, "a b c d e f g h i j k l m n o p q\n"), -EINVAL);
    assert_non_null(strstr(f->error.text, ":1: it has more than 16 words"));
    char line[WORD_LIST_LINE_MAX + 2];
    memset(line, 'x', sizeof line - 1);
    line[WORD_LIST_LINE_MAX] = '\0';
    assert_int_equal(read_list(f, line), 0);
    line[WORD_LIST_LINE_MAX] = 'x';
    line[WORD_LIST_LINE_MAX + 1] = '\0';
    assert_int_equal(read_list(f, line), -EINVAL);
    assert_non_null(strstr(f->error.text, "more than 1000 bytes"));
    assert_int_equal(word_list_read("/nowhere/words", &f->list, &f->error), -ENOENT);
}

TEST(an_empty_list_finds_nothing, struct fixture *f) {
    assert_int_equal(read_list(f, ""), 0);
    assert_false(word_list_finds(f->list, "spam", 4));
}
