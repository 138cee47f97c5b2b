/* Words and phrases that are looked for in texts. A file has one in each line; lines that begin with # and blank ones say nothing. Texts are
 * compared as they are folded (folding/folding.h): a word is found as a whole word, in any case, with or without accents; a phrase where its
 * words follow each other with no other word between them; Chinese, Japanese and Korean signs and emoji wherever they stand in this order.
 * One thread at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum {
    WORD_LIST_LINES_MAX = 100000,
    WORD_LIST_LINE_MAX = 1000, /* bytes */
    WORD_LIST_WORDS_MAX = 16   /* of a phrase; each sign that stands without blanks counts as a word */
};

struct word_list;

/* Reads the file. -EINVAL: a line is too long, or has no word or too many, or there are too many of them; or another negative errno. Each
 * with the reason. Blocks. */
int word_list_read(const char *path, struct word_list **out, struct error *error);
void word_list_free(struct word_list *list); /* NULL is fine */

bool word_list_finds(struct word_list *list, const char *text, size_t size);
