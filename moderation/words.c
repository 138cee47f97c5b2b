#include "moderation/words.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"

/* A part of a folded token: either a word, or a run of characters that stand without spaces. */
struct piece {
    const char *text;
    size_t size;
    bool run;
};

struct words {
    sqlite3 *db; /* in memory: the tokenizer comes from a connection */
    fts5_tokenizer methods;
    Fts5Tokenizer *tokenizer;
    void (*take)(struct words *words, const struct piece *piece); /* the pieces of the text that is being read */
    struct buffer *out;
    bool after_pair;   /* the last term is a pair: a run that follows needs a break */
    size_t conditions; /* of a query */
    uint32_t *signs;   /* characters of runs */
    size_t sign_count, sign_capacity;
};

/* ---- the tokenizer ---- */

static int find_tokenizer(struct words *words) {
    sqlite3_stmt *statement = NULL;
    fts5_api *api = NULL;
    void *data = NULL;
    static const char *const ARGUMENTS[] = {"remove_diacritics", "2"};
    if (sqlite3_prepare_v2(words->db, "SELECT fts5(?1)", -1, &statement, NULL)) return -ENOTSUP;
    sqlite3_bind_pointer(statement, 1, &api, "fts5_api_ptr", NULL);
    sqlite3_step(statement);
    sqlite3_finalize(statement);
    if (!api || api->xFindTokenizer(api, "unicode61", &data, &words->methods)) return -ENOTSUP;
    // The interface lacks a const; the arguments are only read.
    return words->methods.xCreate(data, (const char **)(uintptr_t)ARGUMENTS, ARRAY_SIZE(ARGUMENTS), &words->tokenizer)
               ? -ENOTSUP
               : 0;
}

int words_new(struct words **out, struct error *error) {
    struct words *words = mem_zero(1, sizeof *words);
    int code = sqlite3_open_v2(":memory:", &words->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL)
                   ? -ENOTSUP
                   : find_tokenizer(words);
    if (code) {
        words_free(words);
        return error_set(error, code, "this SQLite (%s) has no full-text search: FTS5", sqlite3_libversion());
    }
    *out = words;
    return 0;
}

void words_free(struct words *words) {
    if (!words) return;
    if (words->tokenizer) words->methods.xDelete(words->tokenizer);
    sqlite3_close(words->db);
    free(words->signs);
    free(words);
}

/* ---- characters ---- */

/* The character that the text begins with; tokens of unicode61 are valid UTF-8. Returns its size. */
static size_t read_character(const char *text, size_t size, uint32_t *character) {
    const uint8_t *bytes = (const uint8_t *)text;
    size_t length = bytes[0] < 0x80 ? 1 : bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
    if (length > size) length = size;
    *character = length == 1 ? bytes[0] : bytes[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) *character = *character << 6 | (bytes[i] & 0x3fu);
    return length;
}

/* Whether words of this script are written without spaces (in Korean: with endings that searchers leave out). */
static bool in_run(uint32_t c) {
    static const struct {
        uint32_t first, last;
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
        {0xff66, 0xffdc},   // kana and Hangul of half width
        {0x1aff0, 0x1b16f}, // kana
        {0x20000, 0x3fffd}, // Han
    };
    for (size_t i = 0; i < ARRAY_SIZE(RANGES); i++)
        if (c >= RANGES[i].first && c <= RANGES[i].last) return true;
    return false;
}

/* ---- pieces ---- */

static int take_token(void *context, int flags, const char *token, int token_size, int start, int end) {
    struct words *words = context;
    size_t size = (size_t)token_size, at = 0;
    (void)flags;
    (void)start;
    (void)end;
    while (at < size) {
        uint32_t c;
        size_t length = read_character(token + at, size - at, &c), next = at + length;
        struct piece piece = {.text = token + at, .run = in_run(c)};
        while (next < size) {
            length = read_character(token + next, size - next, &c);
            if (in_run(c) != piece.run) break;
            next += length;
        }
        piece.size = next - at;
        words->take(words, &piece);
        at = next;
    }
    return SQLITE_OK;
}

/* Running out of memory is all that can fail here. */
static void read_pieces(struct words *words, int reason, const char *text, size_t size) {
    if (words->methods.xTokenize(words->tokenizer, words, reason, text, (int)size, take_token)) abort();
}

/* The part of a word that counts: whole characters. */
static size_t cut(const char *word, size_t size) {
    if (size <= WORDS_SIZE_MAX) return size;
    size = WORDS_SIZE_MAX;
    while (((uint8_t)word[size] & 0xc0) == 0x80) size--;
    return size;
}

/* Appends the pairs of a run of at least two characters: "w中国 w国人". */
static void put_pairs(struct buffer *out, const struct piece *run) {
    uint32_t c;
    size_t first = 0, second = read_character(run->text, run->size, &c);
    while (second < run->size) {
        size_t end = second + read_character(run->text + second, run->size - second, &c);
        if (first) buffer_byte(out, ' ');
        buffer_byte(out, 'w');
        buffer_append(out, run->text + first, end - first);
        first = second;
        second = end;
    }
}

static bool is_single(const struct piece *run) {
    uint32_t c;
    return read_character(run->text, run->size, &c) == run->size;
}

/* ---- texts ---- */

static void add_signs(struct words *words, const struct piece *run) {
    for (size_t at = 0; at < run->size;) {
        if (words->sign_count == words->sign_capacity) {
            words->sign_capacity = 2 * words->sign_capacity + 64;
            words->signs = mem_resize(words->signs, words->sign_capacity, sizeof *words->signs);
        }
        at += read_character(run->text + at, run->size - at, &words->signs[words->sign_count++]);
    }
}

static void take_of_text(struct words *words, const struct piece *piece) {
    struct buffer *out = words->out;
    if (!piece->run) {
        buffer_byte(out, 'w');
        buffer_append(out, piece->text, cut(piece->text, piece->size));
        buffer_byte(out, ' ');
        words->after_pair = false;
        return;
    }
    add_signs(words, piece);
    if (is_single(piece)) return;
    if (words->after_pair) buffer_string(out, "b ");
    put_pairs(out, piece);
    buffer_byte(out, ' ');
    words->after_pair = true;
}

static int compare_signs(const void *a, const void *b) {
    uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    return (first > second) - (first < second);
}

static void put_sign(struct buffer *out, uint32_t c) {
    uint8_t bytes[4];
    size_t size = c < 0x10000 ? 3 : 4; // no run has others
    for (size_t i = size; i-- > 1; c >>= 6) bytes[i] = (uint8_t)(0x80 | (c & 0x3f));
    bytes[0] = (uint8_t)((size == 3 ? 0xe0 : 0xf0) | c);
    buffer_byte(out, 'c');
    buffer_append(out, bytes, size);
}

/* Each once: nobody asks where they are. */
static void put_signs(struct words *words) {
    if (words->sign_count > 1) qsort(words->signs, words->sign_count, sizeof *words->signs, compare_signs);
    for (size_t i = 0; i < words->sign_count; i++) {
        if (i && words->signs[i] == words->signs[i - 1]) continue;
        put_sign(words->out, words->signs[i]);
        buffer_byte(words->out, ' ');
    }
}

void words_put_terms(struct words *words, struct buffer *out, const char *text, size_t size) {
    words->take = take_of_text;
    words->out = out;
    words->after_pair = false;
    words->sign_count = 0;
    read_pieces(words, FTS5_TOKENIZE_DOCUMENT, text, size);
    put_signs(words);
}

/* ---- queries ---- */

static void take_of_query(struct words *words, const struct piece *piece) {
    struct buffer *out = words->out;
    words->conditions++;
    buffer_string(out, out->size ? " AND \"" : "\"");
    if (piece->run && !is_single(piece)) {
        put_pairs(out, piece);
    } else {
        buffer_byte(out, piece->run ? 'c' : 'w');
        buffer_append(out, piece->text, cut(piece->text, piece->size));
    }
    buffer_byte(out, '"');
}

size_t words_put_query(struct words *words, struct buffer *out, const char *query, size_t size) {
    words->take = take_of_query;
    words->out = out;
    words->conditions = 0;
    read_pieces(words, FTS5_TOKENIZE_QUERY, query, size);
    return words->conditions;
}
