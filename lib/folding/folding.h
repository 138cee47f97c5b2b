/* Text as the search knows it, whatever its normal form: characters of which people think as the same one are the same. Compatibility
 * forms (full width, ligatures) are taken apart, case is folded, and accents, vowel points, skin tones and invisible characters are left
 * out, as are strokes of Latin letters. Hangul and voiced kana are put together. So are NFC and NFD the same. One thread per object. */
#pragma once

#include "base/buffer.h"

enum folded_kind {
    FOLDED_BREAK, /* blanks, punctuation, bytes that are no text */
    FOLDED_WORD,  /* letters and numbers of words with blanks between them */
    FOLDED_RUN /* signs that stand without blanks: Chinese, Japanese and Korean characters, emoji and other symbols */
};

struct folding;

struct folding *folding_new(void);
void folding_free(struct folding *folding); /* NULL is fine */

/* Folds the text. *signs: its characters, valid until the next call. Returns how many. */
size_t folding_read(struct folding *folding, const char *text, size_t size, const int32_t **signs);

enum folded_kind folding_kind(int32_t sign);
void folding_put(struct buffer *out, int32_t sign); /* as UTF-8 */

/* Which version of Unicode's tables it goes by. */
const char *folding_version(void);
