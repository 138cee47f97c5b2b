/* A map from texts to values. The map has copies of the texts; what the values mean is the caller's. One thread. */
#ifndef CLI_TEXT_MAP_H
#define CLI_TEXT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text_map;

struct text_map *text_map_new(void);
void text_map_free(struct text_map *texts); /* NULL is fine */

/* The value's place, 0 when it was just created. It stays valid until text_map_free. */
int64_t *text_map_put(struct text_map *texts, const char *text);
int64_t *text_map_find(const struct text_map *texts, const char *text); /* NULL: not there */

#endif
