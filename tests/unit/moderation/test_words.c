/* The terms of texts, and the expressions of queries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "moderation/words.h"

static int setup(void **state) {
    *state = words_new();
    return 0;
}

static int teardown(void **state) {
    words_free(*state);
    return 0;
}

static void expect_terms(struct words *words, const char *text, const char *terms) {
    struct buffer out = {0};
    words_put_terms(words, &out, text, strlen(text));
    assert_string_equal(buffer_cstring(&out), terms);
    buffer_free(&out);
}

static void expect_query(struct words *words, const char *query, const char *expression) {
    struct buffer out = {0};
    words_put_query(words, &out, query, strlen(query));
    assert_string_equal(buffer_cstring(&out), expression);
    buffer_free(&out);
}

static void words_are_folded(void **state) {
    expect_terms(*state, "Hello, HELLO wörld-2026!", "whello whello wworld w2026 ");
    expect_terms(*state, "e\xcc\x81t\xc3\xa9 \xce\x91\xce\x92 \xd0\x94\xd0\xb0",
                 "wete w\xce\xb1\xce\xb2 w\xd0\xb4\xd0\xb0 ");
    expect_terms(*state, "", "");
    expect_terms(*state, "... \"*\" $ +", "");
}

/* However somebody writes it, it is found. */
static void forms_are_the_same(void **state) {
    static const struct {
        const char *text, *terms;
    } CASES[] = {
        {"Caf\xc3\xa9 cafe\xcc\x81 ＣＡＦＥ", "wcafe wcafe wcafe "}, /* NFC, NFD, full width */
        {"ﬁlm ﬀ №", "wfilm wff wno "},
        {"Straße STRASSE GROẞ", "wstrasse wstrasse wgross "},
        {"Łódź Ørsted Đà æon", "wlodz worsted wda waeon "},
        {"İstanbul ISTANBUL ıs", "wistanbul wistanbul wis "},
        {"Ёлка елка", "wелка wелка "},
        {"Άσος ασοσ", "wασοσ wασοσ "},
        {"שָׁלוֹם שלום", "wשלום wשלום "},
        {"مَرْحَبًا مرحبا مــرحبا", "wمرحبا wمرحبا wمرحبا "},
        {"हिन्दी", "wहिन्दी "},
        {"👍🏽 👍", "c👍 "},
        {"🎉🎉", "w🎉🎉 c🎉 "},
        {"❤️", "c❤ "},
        {"bad\xe2\x80\x8bword so\xc2\xad"
         "ft",
         "wbadword wsoft "},
        {"①２Ⅳ", "w12iv "},
        {"한국", "w한국 c국 c한 "},
        {"\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab\xe1\x84\x80\xe1\x85\xae\xe1\x86\xa8", "w한국 c국 c한 "},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) expect_terms(*state, CASES[i].text, CASES[i].terms);
    expect_terms(*state, "ｶﾞ ガ", "cガ ");
    expect_terms(*state, "か\xe3\x82\x99 が", "cが ");
    expect_query(*state, "👍🏿", "\"c👍\"");
    expect_query(*state, "ＳＴＲＡＳＳＥ", "\"wstrasse\"");
}

static void runs_are_pairs_and_characters(void **state) {
    expect_terms(*state, "中国人", "w中国 w国人 c中 c人 c国 ");
    expect_terms(*state, "人", "c人 ");
    expect_terms(*state, "abc中国x", "wabc w中国 wx c中 c国 ");
    expect_terms(*state, "カラオケ 한국", "wカラ wラオ wオケ b w한국 cオ cカ cケ cラ c국 c한 ");
    expect_terms(*state, "中国𠮷", "w中国 w国𠮷 c中 c国 c𠮷 ");
}

static void a_break_stands_between_runs(void **state) {
    expect_terms(*state, "中国 国人", "w中国 b w国人 c中 c人 c国 ");
    // The run of one character has no pair, and the break comes before the next pair.
    expect_terms(*state, "中国,人,国家", "w中国 b w国家 c中 c人 c国 c家 ");
    expect_terms(*state, "中国 a 国家", "w中国 wa w国家 c中 c国 c家 ");
}

static void queries_are_conditions(void **state) {
    expect_query(*state, "Hello World", "\"whello\" AND \"wworld\"");
    expect_query(*state, "人", "\"c人\"");
    expect_query(*state, "中国", "\"w中国\"");
    expect_query(*state, "x中国人", "\"wx\" AND \"w中国 w国人\"");
    expect_query(*state, "?!", "");
}

static void a_query_continues_an_expression(void **state) {
    struct buffer out = {0};
    buffer_string(&out, "u1");
    assert_int_equal(words_put_query(*state, &out, "a b", 3), 2);
    assert_string_equal(buffer_cstring(&out), "u1 AND \"wa\" AND \"wb\"");
    assert_int_equal(words_put_query(*state, &out, "-", 1), 0);
    assert_string_equal(buffer_cstring(&out), "u1 AND \"wa\" AND \"wb\"");
    buffer_free(&out);
}

static void syntax_is_no_more_than_words(void **state) {
    expect_query(
        *state, "\"a\" OR b* NEAR(c, 2) body:d ^e - + {f} NOT",
        "\"wa\" AND \"wor\" AND \"wb\" AND \"wnear\" AND \"wc\" AND \"w2\" AND \"wbody\" AND \"wd\" AND \"we\" AND "
        "\"wf\" AND \"wnot\"");
}

static void long_words_are_cut_at_a_character(void **state) {
    char text[301];
    struct buffer out = {0};
    for (int i = 0; i < 300; i += 2) memcpy(text + i, "\xd0\xb4", 2);
    text[0] = 'x'; // so that the limit lies within a character
    text[1] = 'y';
    text[2] = 'z';
    memmove(text + 3, text + 4, 296);
    words_put_terms(*state, &out, text, 299);
    assert_int_equal(out.size, 1 + WORDS_SIZE_MAX - 1 + 1);
    struct buffer query = {0};
    words_put_query(*state, &query, text, 299);
    assert_memory_equal(query.data + 1, out.data, out.size - 1);
    buffer_free(&out);
    buffer_free(&query);
}

/* An expression comes of anything that is typed: quoted terms, of letters, digits and bytes that are no ASCII. */
static void expect_tame(const struct buffer *expression) {
    const char *at = (const char *)expression->data, *end = at + expression->size;
    while (at < end) {
        assert_int_equal(*at++, '"');
        for (; at < end && *at != '"'; at++)
            assert_true((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') || (uint8_t)*at >= 0x80 || *at == ' ');
        assert_true(at < end);
        at++;
        if (at == end) break;
        assert_true(end - at > 5);
        assert_memory_equal(at, " AND ", 5);
        at += 5;
    }
}

static void any_bytes_make_tame_expressions(void **state) {
    static const char *const SEEDS[] = {"\"",  "'", "*", "中", "国", "é", "É", "\xff",     "\xe4\xb8",
                                        "AND", " ", "a", "Z",  "_",  "(", ")", "\xcc\x81", ";"};
    struct buffer query = {0}, out = {0};
    srand(14);
    for (int round = 0; round < 20000; round++) {
        buffer_clear(&query);
        buffer_clear(&out);
        for (int i = rand() % 12; i > 0; i--) {
            if (rand() % 4)
                buffer_string(&query, SEEDS[(size_t)rand() % ARRAY_SIZE(SEEDS)]);
            else
                buffer_byte(&query, (uint8_t)(rand() % 256));
        }
        size_t size = query.size;
        words_put_query(*state, &out, buffer_cstring(&query), size);
        expect_tame(&out);
        buffer_clear(&out);
        words_put_terms(*state, &out, buffer_cstring(&query), size);
        for (size_t i = 0; i < out.size; i++)
            assert_true(out.data[i] >= 0x80 || strchr("abcdefghijklmnopqrstuvwxyz0123456789 ", out.data[i]));
    }
    buffer_free(&query);
    buffer_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_folded),
        cmocka_unit_test(forms_are_the_same),
        cmocka_unit_test(runs_are_pairs_and_characters),
        cmocka_unit_test(a_break_stands_between_runs),
        cmocka_unit_test(queries_are_conditions),
        cmocka_unit_test(a_query_continues_an_expression),
        cmocka_unit_test(syntax_is_no_more_than_words),
        cmocka_unit_test(long_words_are_cut_at_a_character),
        cmocka_unit_test(any_bytes_make_tame_expressions),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
