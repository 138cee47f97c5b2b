#include "folding/word_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "folding/folding.h"

/* A phrase is known by a hash of its words, which is secret: nobody can choose texts that seem to have one. */
struct word_list {
    struct folding *folding;
    struct map *phrases;
    size_t longest;  /* phrase, in words */
    uint64_t *words; /* hashes of the words of the text that is looked at */
    size_t count, capacity;
};

static void put_word(struct word_list *list, const int32_t *signs, size_t count) {
    MEM_ROOM(list->words, list->count, list->capacity);
    list->words[list->count++] = hash_bytes(signs, count * sizeof *signs);
}

/* Splits a text into the hashes of its words. */
static void read_words(struct word_list *list, const char *text, size_t size) {
    const int32_t *signs;
    size_t count = folding_read(list->folding, text, size, &signs), begin = 0;
    list->count = 0;
    for (size_t at = 0; at <= count; at++) {
        enum folded_kind kind = at < count ? folding_kind(signs[at]) : FOLDED_BREAK;
        if (kind == FOLDED_WORD) continue;
        if (at > begin) put_word(list, signs + begin, at - begin);
        if (kind == FOLDED_RUN) put_word(list, signs + at, 1);
        begin = at + 1;
    }
}

static uint64_t with_word(uint64_t phrase, uint64_t word) { return hash_fold(phrase + hash_u64(word)); }

static int add_line(struct word_list *list, const char *line, size_t size, struct error *error) {
    uint64_t phrase = 0;
    read_words(list, line, size);
    if (!list->count) return error_set(error, -EINVAL, "it has no word");
    if (list->count > WORD_LIST_WORDS_MAX)
        return error_set(error, -EINVAL, "it has more than %d words", WORD_LIST_WORDS_MAX);
    if (map_count(list->phrases) == WORD_LIST_LINES_MAX)
        return error_set(error, -EINVAL, "there are more than %d lines", WORD_LIST_LINES_MAX);
    for (size_t i = 0; i < list->count; i++) phrase = with_word(phrase, list->words[i]);
    *map_put(list->phrases, phrase, NULL) = 1;
    if (list->count > list->longest) list->longest = list->count;
    return 0;
}

static int read_lines(struct word_list *list, FILE *file, const char *path, struct error *error) {
    char line[WORD_LIST_LINE_MAX + 2]; // with the newline, and the end
    int code = 0;
    for (int number = 1; !code && fgets(line, sizeof line, file); number++) {
        size_t size = strlen(line);
        bool whole = size < sizeof line - 1 || line[size - 1] == '\n';
        size_t first = strspn(line, " \t\r\n");
        if (!whole)
            code = error_set(error, -EINVAL, "it has more than %d bytes", WORD_LIST_LINE_MAX);
        else if (line[first] && line[first] != '#')
            code = add_line(list, line, size, error);
        if (code) error_prefix(error, code, "%s:%d", path, number);
    }
    return !code && ferror(file) ? error_set(error, -EIO, "%s cannot be read", path) : code;
}

int word_list_read(const char *path, struct word_list **out, struct error *error) {
    FILE *file = fopen(path, "re");
    if (!file) return error_set(error, -errno, "%s: %s", path, strerror(errno));
    struct word_list *list = MEM_NEW(&(struct word_list){.folding = folding_new(), .phrases = map_new()});
    int code = read_lines(list, file, path, error);
    fclose(file);
    if (code)
        word_list_free(list);
    else
        *out = list;
    return code;
}

void word_list_free(struct word_list *list) {
    if (!list) return;
    folding_free(list->folding);
    map_free(list->phrases);
    free(list->words);
    free(list);
}

bool word_list_finds(struct word_list *list, const char *text, size_t size) {
    read_words(list, text, size);
    for (size_t i = 0; i < list->count; i++) {
        uint64_t phrase = 0;
        for (size_t n = 0; n < list->longest && i + n < list->count; n++) {
            phrase = with_word(phrase, list->words[i + n]);
            if (map_find(list->phrases, phrase)) return true;
        }
    }
    return false;
}
