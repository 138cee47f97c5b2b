/* Tests words.c, and lib/folding by it. The terms of texts, and the expressions of queries. */
#include "moderation/words.h"
#include "unit/kit/kit.h"

SET_UP_ONCE() { return words_new(); }

TEAR_DOWN(struct words *words) { words_free(words); }

static void expect_terms(struct words *words, const char *text, const char *terms) {
    FREED_BUFFER out = {.size = 0};
    words_put_terms(words, &out, text, strlen(text));
    assert_string_equal(buffer_cstring(&out), terms);
}

static void expect_query(struct words *words, const char *query, const char *expression) {
    FREED_BUFFER out = {.size = 0};
    words_put_query(words, &out, query, strlen(query));
    assert_string_equal(buffer_cstring(&out), expression);
}

TEST(words_are_folded, struct words *words) {
    expect_terms(words, "Hello, HELLO wörld-2026!", "whello whello wworld w2026 ");
    expect_terms(words, "e\xcc\x81t\xc3\xa9 \xce\x91\xce\x92 \xd0\x94\xd0\xb0",
                 "wete w\xce\xb1\xce\xb2 w\xd0\xb4\xd0\xb0 ");
    expect_terms(words, "", "");
    expect_terms(words, "... \"*\" $ +", "");
}

/* However somebody writes it, it is found. */
TEST(forms_are_the_same, struct words *words) {
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
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) expect_terms(words, CASES[i].text, CASES[i].terms);
    expect_terms(words, "ｶﾞ ガ", "cガ ");
    expect_terms(words, "か\xe3\x82\x99 が", "cが ");
    expect_query(words, "👍🏿", "\"c👍\"");
    expect_query(words, "ＳＴＲＡＳＳＥ", "\"wstrasse\"");
}

TEST(runs_are_pairs_and_characters, struct words *words) {
    expect_terms(words, "中国人", "w中国 w国人 c中 c人 c国 ");
    expect_terms(words, "人", "c人 ");
    expect_terms(words, "abc中国x", "wabc w中国 wx c中 c国 ");
    expect_terms(words, "カラオケ 한국", "wカラ wラオ wオケ b w한국 cオ cカ cケ cラ c국 c한 ");
    expect_terms(words, "中国𠮷", "w中国 w国𠮷 c中 c国 c𠮷 ");
}

TEST(a_break_stands_between_runs, struct words *words) {
    expect_terms(words, "中国 国人", "w中国 b w国人 c中 c人 c国 ");
    // The run of one character has no pair, and the break comes before the next pair.
    expect_terms(words, "中国,人,国家", "w中国 b w国家 c中 c人 c国 c家 ");
    expect_terms(words, "中国 a 国家", "w中国 wa w国家 c中 c国 c家 ");
}

TEST(queries_are_conditions, struct words *words) {
    expect_query(words, "Hello World", "\"whello\" AND \"wworld\"");
    expect_query(words, "人", "\"c人\"");
    expect_query(words, "中国", "\"w中国\"");
    expect_query(words, "x中国人", "\"wx\" AND \"w中国 w国人\"");
    expect_query(words, "?!", "");
}

TEST(a_query_continues_an_expression, struct words *words) {
    FREED_BUFFER out = {.size = 0};
    buffer_string(&out, "u1");
    assert_int_equal(words_put_query(words, &out, "a b", 3), 2);
    assert_string_equal(buffer_cstring(&out), "u1 AND \"wa\" AND \"wb\"");
    assert_int_equal(words_put_query(words, &out, "-", 1), 0);
    assert_string_equal(buffer_cstring(&out), "u1 AND \"wa\" AND \"wb\"");
}

TEST(syntax_is_no_more_than_words, struct words *words) {
    expect_query(
        words, "\"a\" OR b* NEAR(c, 2) body:d ^e - + {f} NOT",
        "\"wa\" AND \"wor\" AND \"wb\" AND \"wnear\" AND \"wc\" AND \"w2\" AND \"wbody\" AND \"wd\" AND \"we\" AND "
        "\"wf\" AND \"wnot\"");
}

TEST(long_words_are_cut_at_a_character, struct words *words) {
    char text[301];
    FREED_BUFFER out = {.size = 0};
    for (int i = 0; i < 300; i += 2) memcpy(text + i, "\xd0\xb4", 2);
    text[0] = 'x'; // so that the limit lies within a character
    text[1] = 'y';
    text[2] = 'z';
    memmove(text + 3, text + 4, 296);
    words_put_terms(words, &out, text, 299);
    assert_int_equal(out.size, 1 + WORDS_SIZE_MAX - 1 + 1);
    FREED_BUFFER query = {.size = 0};
    words_put_query(words, &query, text, 299);
    assert_memory_equal(query.data + 1, out.data, out.size - 1);
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

TEST(any_bytes_make_tame_expressions, struct words *words) {
    static const char *const SEEDS[] = {"\"",  "'", "*", "中", "国", "é", "É", "\xff",     "\xe4\xb8",
                                        "AND", " ", "a", "Z",  "_",  "(", ")", "\xcc\x81", ";"};
    FREED_BUFFER query = {0}, out = {0};
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
        words_put_query(words, &out, buffer_cstring(&query), size);
        expect_tame(&out);
        buffer_clear(&out);
        words_put_terms(words, &out, buffer_cstring(&query), size);
        for (size_t i = 0; i < out.size; i++)
            assert_true(out.data[i] >= 0x80 || strchr("abcdefghijklmnopqrstuvwxyz0123456789 ", out.data[i]));
    }
}
