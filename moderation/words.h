/* The terms that the search index knows a text by, and the expression that finds texts.
 *
 * Texts are folded (moderation/folding.h), and split where there are no letters, numbers or symbols. Chinese, Japanese, Korean and emoji
 * have no spaces between words, so such a *run* of characters is known by its single characters and by all pairs of neighbours. A word of two characters then is one term, and a longer one is a phrase of pairs:
 *
 *     text      Café 中国人, 国                  query     中国人 CAFE
 *     terms     wcafe w中国 w国人 b c中 c人 c国   expression  "w中国 w国人" AND "wcafe"
 *
 * Terms begin with their kind: w a word or a pair, c a character, b a break, so that no phrase reaches from one run into the next.
 * Other letters are free for terms of other kinds. Terms hold a-z, 0-9 and bytes from 0x80, and nothing else: what somebody types
 * cannot become syntax of the expression.
 *
 * A text matches a query if it has all of the query's words (whole words, of which WORDS_SIZE_MAX bytes count) and, for each of the
 * query's runs, a run that contains it. One thread at a time per object.
 */
#pragma once

#include "base/buffer.h"

enum { WORDS_SIZE_MAX = 96 }; /* bytes of a word that count */

struct words;

struct words *words_new(void);
void words_free(struct words *words); /* NULL is fine */

/* Appends the terms of a text, each followed by a space. */
void words_put_terms(struct words *words, struct buffer *out, const char *text, size_t size);

/* Appends the expression for a query, with " AND " before each condition where out is not empty. Returns the number of its
 * conditions; 0: the query has no word, and nothing was appended. */
size_t words_put_query(struct words *words, struct buffer *out, const char *query, size_t size);
