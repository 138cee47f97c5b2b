#include "folding/folding.h"

#include <stdbool.h>
#include <stdlib.h>
#include <utf8proc.h>

#include "base/config.h"
#include "base/mem.h"

enum { PARTS_MAX = 64 /* of a character that is taken apart; Unicode has 18 */, BREAK = ' ' };

struct folding {
    int32_t *signs;
    size_t count, capacity;
};

struct folding *folding_new(void) {
    return mem_zero(1, sizeof(struct folding));
}

void folding_free(struct folding *folding) {
    if (!folding) return;
    free(folding->signs);
    free(folding);
}

const char *folding_version(void) { return utf8proc_unicode_version(); }

/* Combining marks that make another character and not the same one with an accent: those without a class, voicing of kana, the virama,
 * and vowels of Telugu, Thai, Lao and Tibetan. */
static bool is_of_letter(utf8proc_propval_t combining_class) {
    static const utf8proc_propval_t CLASSES[] = {0, 8, 9, 84, 91, 103, 118, 129, 130, 132};
    for (size_t i = 0; i < ARRAY_SIZE(CLASSES); i++)
        if (combining_class == CLASSES[i]) return true;
    return false;
}

static bool is_left_out(int32_t sign) {
    const utf8proc_property_t *property = utf8proc_get_property(sign);
    const bool tatweel = sign == 0x640, skin = sign >= 0x1f3fb && sign <= 0x1f3ff;
    return tatweel || skin || property->category == UTF8PROC_CATEGORY_ME ||
           (property->category == UTF8PROC_CATEGORY_MN && !is_of_letter(property->combining_class));
}

/* Letters that Unicode does not take apart. */
static const char *plain(int32_t sign) {
    static const struct {
        int32_t sign;
        const char *plain;
    } LETTERS[] = {{0xe6, "ae"}, {0xf0, "d"},  {0xf8, "o"},  {0xfe, "th"},  {0x111, "d"},
                   {0x127, "h"}, {0x131, "i"}, {0x142, "l"}, {0x153, "oe"}, {0x167, "t"}};
    for (size_t i = 0; i < ARRAY_SIZE(LETTERS); i++)
        if (sign == LETTERS[i].sign) return LETTERS[i].plain;
    return NULL;
}

static void put(struct folding *folding, int32_t sign) {
    MEM_ROOM(folding->signs, folding->count, folding->capacity);
    folding->signs[folding->count++] = sign;
}

static void put_part(struct folding *folding, int32_t sign) {
    const char *letters = sign < 0x80 ? NULL : plain(sign);
    if (letters)
        while (*letters) put(folding, *letters++);
    else if (sign < 0x80 || !is_left_out(sign))
        put(folding, sign);
}

static void put_folded(struct folding *folding, int32_t sign) {
    const utf8proc_option_t options = UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE;
    int32_t parts[PARTS_MAX];
    int unused = 0;
    utf8proc_ssize_t count = utf8proc_decompose_char(sign, parts, PARTS_MAX, options, &unused);
    for (utf8proc_ssize_t i = 0; i < count && i < PARTS_MAX; i++) put_part(folding, parts[i]);
}

size_t folding_read(struct folding *folding, const char *text, size_t size, const int32_t **signs) {
    utf8proc_ssize_t length;
    folding->count = 0;
    for (size_t at = 0; at < size; at += (size_t)length) {
        int32_t sign;
        length = utf8proc_iterate((const uint8_t *)text + at, (utf8proc_ssize_t)(size - at), &sign);
        if (length > 0) {
            put_folded(folding, sign);
        } else {
            put(folding, BREAK);
            length = 1;
        }
    }
    *signs = folding->signs;
    utf8proc_ssize_t count =
        folding->count ? utf8proc_normalize_utf32(folding->signs, (utf8proc_ssize_t)folding->count, UTF8PROC_COMPOSE)
                       : 0;
    return count > 0 ? (size_t)count : 0;
}

/* Whether words of this script are written without spaces (in Korean: with endings that searchers leave out). */
static bool in_run(int32_t sign) {
    static const struct {
        int32_t first, last;
    } RANGES[] = {
        {0x1100, 0x11ff},   // Hangul letters
        {0x2e80, 0x2fdf},   // radicals
        {0x3005, 0x318f},   // kana, Bopomofo, Hangul letters
        {0x31a0, 0x31ff},   // more Bopomofo and kana
        {0x3400, 0x4dbf},   // Han
        {0x4e00, 0x9fff},   // Han
        {0xa960, 0xa97f},   // Hangul letters
        {0xac00, 0xd7ff},   // Hangul
        {0xf900, 0xfaff},   // Han
        {0x1aff0, 0x1b16f}, // kana
        {0x20000, 0x3fffd}, // Han
    };
    for (size_t i = 0; i < ARRAY_SIZE(RANGES); i++)
        if (sign >= RANGES[i].first && sign <= RANGES[i].last) return true;
    return false;
}

enum folded_kind folding_kind(int32_t sign) {
    switch (utf8proc_category(sign)) {
    case UTF8PROC_CATEGORY_SO: return sign == 0xfffd ? FOLDED_BREAK : FOLDED_RUN;
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
    case UTF8PROC_CATEGORY_CO: return in_run(sign) ? FOLDED_RUN : FOLDED_WORD;
    default: return FOLDED_BREAK;
    }
}

void folding_put(struct buffer *out, int32_t sign) {
    uint8_t bytes[4];
    buffer_append(out, bytes, (size_t)utf8proc_encode_char(sign, bytes));
}
