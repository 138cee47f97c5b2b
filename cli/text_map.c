#include "cli/text_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"

struct word {
    struct word *next; /* of the same hash */
    int64_t value;
    char text[];
};

struct text_map {
    struct map *map; /* hash -> struct word */
};

static uint64_t hash_of(const char *text) {
    static const uint8_t KEY[16] = {0}; // the texts are the operator's own
    return hash_sip(KEY, text, strlen(text));
}

struct text_map *text_map_new(void) {
    struct text_map *texts = mem_alloc(sizeof *texts);
    texts->map = map_new();
    return texts;
}

void text_map_free(struct text_map *texts) {
    size_t cursor = 0;
    uint64_t hash, value;
    if (!texts) return;
    while (map_next(texts->map, &cursor, &hash, &value)) {
        for (struct word *word = (struct word *)(uintptr_t)value; word;) {
            struct word *next = word->next;
            free(word);
            word = next;
        }
    }
    map_free(texts->map);
    free(texts);
}

static struct word *find(const struct text_map *texts, const char *text, uint64_t hash) {
    struct word *word = map_pointer(texts->map, hash);
    while (word && strcmp(word->text, text) != 0) word = word->next;
    return word;
}

int64_t *text_map_find(const struct text_map *texts, const char *text) {
    struct word *word = find(texts, text, hash_of(text));
    return word ? &word->value : NULL;
}

int64_t *text_map_put(struct text_map *texts, const char *text) {
    uint64_t hash = hash_of(text);
    struct word *word = find(texts, text, hash);
    if (word) return &word->value;
    size_t size = strlen(text) + 1;
    word = mem_alloc(sizeof *word + size);
    *word = (struct word){.next = map_pointer(texts->map, hash)};
    memcpy(word->text, text, size);
    *map_put(texts->map, hash, NULL) = (uint64_t)(uintptr_t)word;
    return &word->value;
}
