#include "cli/words.h"

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

struct words {
    struct map *map; /* hash -> struct word */
};

static uint64_t hash_of(const char *text) {
    static const uint8_t KEY[16] = {0}; // the texts are the operator's own
    return hash_sip(KEY, text, strlen(text));
}

struct words *words_new(void) {
    struct words *words = mem_alloc(sizeof *words);
    words->map = map_new();
    return words;
}

void words_free(struct words *words) {
    size_t cursor = 0;
    uint64_t hash, value;
    if (!words) return;
    while (map_next(words->map, &cursor, &hash, &value)) {
        for (struct word *word = (struct word *)(uintptr_t)value; word;) {
            struct word *next = word->next;
            free(word);
            word = next;
        }
    }
    map_free(words->map);
    free(words);
}

static struct word *find(const struct words *words, const char *text, uint64_t hash) {
    struct word *word = map_pointer(words->map, hash);
    while (word && strcmp(word->text, text) != 0) word = word->next;
    return word;
}

int64_t *words_find(const struct words *words, const char *text) {
    struct word *word = find(words, text, hash_of(text));
    return word ? &word->value : NULL;
}

int64_t *words_put(struct words *words, const char *text) {
    uint64_t hash = hash_of(text);
    struct word *word = find(words, text, hash);
    if (word) return &word->value;
    size_t size = strlen(text) + 1;
    word = mem_alloc(sizeof *word + size);
    *word = (struct word){.next = map_pointer(words->map, hash)};
    memcpy(word->text, text, size);
    *map_put(words->map, hash, NULL) = (uint64_t)(uintptr_t)word;
    return &word->value;
}
