/* A map from texts to values. The map has copies of the texts; what the values mean is the caller's. One thread. */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct words;

struct words *words_new(void);
void words_free(struct words *words); /* NULL is fine */

/* The value's place, 0 when it was just created. It stays valid until words_free. */
int64_t *words_put(struct words *words, const char *text);
int64_t *words_find(const struct words *words, const char *text); /* NULL: not there */

#endif
