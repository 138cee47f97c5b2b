#include "moderation/words.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "folding/folding.h"

/* Characters of one kind that stand together: a word, or a run. */
struct piece {
    const int32_t *signs;
    size_t count;
    bool run;
};

struct words {
    struct folding *folding;
    int32_t *signs; /* characters of runs */
    size_t sign_count, sign_capacity;
};

struct words *words_new(void) {
    return MEM_NEW(&(struct words){.folding = folding_new()});
}

void words_free(struct words *words) {
    if (!words) return;
    folding_free(words->folding);
    free(words->signs);
    free(words);
}

/* ---- pieces ---- */

/* The next piece of the text that is left, which it takes away. */
static bool next_piece(struct piece *left, struct piece *piece) {
    while (left->count && folding_kind(*left->signs) == FOLDED_BREAK) left->signs++, left->count--;
    if (!left->count) return false;
    enum folded_kind kind = folding_kind(*left->signs);
    *piece = (struct piece){.signs = left->signs, .run = kind == FOLDED_RUN};
    while (piece->count < left->count && folding_kind(piece->signs[piece->count]) == kind) piece->count++;
    left->signs += piece->count;
    left->count -= piece->count;
    return true;
}

/* The part of a word that counts: whole characters. */
static void put_word(struct buffer *out, const struct piece *word) {
    size_t begin = out->size;
    buffer_byte(out, 'w');
    for (size_t i = 0; i < word->count; i++) {
        size_t before = out->size;
        folding_put(out, word->signs[i]);
        if (out->size - begin <= WORDS_SIZE_MAX + 1) continue;
        out->size = before;
        return;
    }
}

/* Appends the pairs of a run of at least two characters: "w中国 w国人". */
static void put_pairs(struct buffer *out, const struct piece *run) {
    for (size_t i = 0; i + 1 < run->count; i++) {
        buffer_string(out, i ? " w" : "w");
        folding_put(out, run->signs[i]);
        folding_put(out, run->signs[i + 1]);
    }
}

/* ---- texts ---- */

static void add_signs(struct words *words, const struct piece *run) {
    for (size_t i = 0; i < run->count; i++) {
        MEM_ROOM(words->signs, words->sign_count, words->sign_capacity);
        words->signs[words->sign_count++] = run->signs[i];
    }
}

static int compare_signs(const void *a, const void *b) {
    int32_t first = *(const int32_t *)a, second = *(const int32_t *)b;
    return (first > second) - (first < second);
}

/* Each once: nobody asks where they are. */
static void put_signs(struct words *words, struct buffer *out) {
    if (words->sign_count > 1) qsort(words->signs, words->sign_count, sizeof *words->signs, compare_signs);
    for (size_t i = 0; i < words->sign_count; i++) {
        if (i && words->signs[i] == words->signs[i - 1]) continue;
        buffer_byte(out, 'c');
        folding_put(out, words->signs[i]);
        buffer_byte(out, ' ');
    }
}

void words_put_terms(struct words *words, struct buffer *out, const char *text, size_t size) {
    struct piece left = {.run = false}, piece;
    bool after_pair = false; // the last term is a pair: a run that follows needs a break
    words->sign_count = 0;
    left.count = folding_read(words->folding, text, size, &left.signs);
    while (next_piece(&left, &piece)) {
        if (piece.run) add_signs(words, &piece);
        if (piece.run && piece.count == 1) continue;
        if (piece.run && after_pair) buffer_string(out, "b ");
        if (piece.run)
            put_pairs(out, &piece);
        else
            put_word(out, &piece);
        buffer_byte(out, ' ');
        after_pair = piece.run;
    }
    put_signs(words, out);
}

/* ---- queries ---- */

size_t words_put_query(struct words *words, struct buffer *out, const char *query, size_t size) {
    struct piece left = {.run = false}, piece;
    size_t conditions = 0;
    left.count = folding_read(words->folding, query, size, &left.signs);
    for (; next_piece(&left, &piece); conditions++) {
        buffer_string(out, out->size ? " AND \"" : "\"");
        if (!piece.run) {
            put_word(out, &piece);
        } else if (piece.count > 1) {
            put_pairs(out, &piece);
        } else {
            buffer_byte(out, 'c');
            folding_put(out, *piece.signs);
        }
        buffer_byte(out, '"');
    }
    return conditions;
}
