/* The search index of moderators: a million comments are written as the daemon writes them, and searched. The comments are of 50,000
 * users under 20,000 subjects within 30 days, half of them Chinese; users, subjects and words are as unequal as such things are.
 * Each search is done with many values, the frequent ones included. */
#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "bench/arguments.h"
#include "ids/ids.h"
#include "moderation/search.h"

enum {
    PARTITIONS = 8,
    BATCH = 1000,
    USERS = 50000,
    SUBJECTS = 20000,
    WORDS = 20000,
    SIGNS = 3000,
    DAYS = 30,
    TRIES = 200,
    PAGE = 20
};
enum { CACHE = 32 << 20 };
static const int64_t DAY_MS = 24 * 3600 * 1000, BEGIN_MS = INT64_C(1767225600000); // 2026-01-01

static uint64_t seed = 14;

static uint64_t draw(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* From 0 to below count; the first ones much more often. */
static int64_t unequal(int64_t count) {
    double x = (double)(draw() >> 11) / (double)(1ull << 53);
    return (int64_t)(pow((double)count + 1, x) - 1) % count;
}

/* ---- comments ---- */

static void put_sign(struct buffer *out, int64_t number) {
    uint32_t c = 0x4e00 + (uint32_t)number;
    buffer_byte(out, (uint8_t)(0xe0 | c >> 12));
    buffer_byte(out, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
    buffer_byte(out, (uint8_t)(0x80 | (c & 0x3f)));
}

static void put_word(struct buffer *out, int64_t number) {
    for (int i = 0; i < 3 || number; i++, number /= 26) buffer_byte(out, (uint8_t)('a' + number % 26));
}

static void put_text(struct buffer *out) {
    bool chinese = draw() % 2;
    int64_t length = chinese ? 5 + (int64_t)(draw() % 60) : 3 + (int64_t)(draw() % 30);
    buffer_clear(out);
    for (int64_t i = 0; i < length; i++) {
        if (chinese && i % 12 == 11) buffer_string(out, "，");
        if (chinese)
            put_sign(out, unequal(SIGNS));
        else
            put_word(out, unequal(WORDS));
        if (!chinese) buffer_byte(out, ' ');
    }
}

static struct comment_wide make(int64_t number, int64_t rows, struct buffer *text, char subject[32]) {
    int64_t time = BEGIN_MS + DAYS * DAY_MS / rows * number;
    int32_t partition = (int32_t)(draw() % PARTITIONS);
    put_text(text);
    snprintf(subject, 32, "post:%" PRId64, unequal(SUBJECTS));
    return (struct comment_wide){
        .id = ids_make(ids_tick(time, number, -1), partition),
        .subject = {subject, strlen(subject)},
        .user = unequal(USERS),
        .state = draw() % 50 ? COMMENT_WIDE_VISIBLE : COMMENT_WIDE_HIDDEN,
        .text = {(const char *)text->data, text->size},
        .reports = draw() % 100 == 0,
        .time = time,
    };
}

static void check(int code, const struct error *error) {
    if (code) bench_fail(error->text);
}

static void fill(struct index *index, int64_t rows) {
    struct buffer text = {0};
    char subject[32];
    struct error error;
    for (int64_t i = 0; i < rows; i++) {
        if (i % BATCH == 0) check(index_begin(index, &error), &error);
        struct comment_wide comment = make(i, rows, &text, subject);
        check(index_put(index, &comment, &error), &error);
        index_reached(index, 0, i + 1);
        if (i % BATCH == BATCH - 1 || i == rows - 1) check(index_commit(index, &error), &error);
    }
    buffer_free(&text);
}

/* ---- searches ---- */

enum {
    WORD = 1,
    USER = 2,
    DAY = 4,
    SUBJECT = 8,
    REPORTED = 16,
    LATIN = 32,
    LONG = 64,
    ABSENT = 128,
    STATE = 256,
    COMMON = 512
};

static const struct {
    const char *name;
    int conditions;
} SEARCHES[] = {
    {"a Chinese word of two characters", WORD},
    {"a Chinese word of four characters", WORD | LONG},
    {"two words", LATIN},
    {"two frequent characters, apart", COMMON},
    {"a word that nobody wrote", WORD | ABSENT},
    {"a user's comments of a day", USER | DAY},
    {"all reported ones of a subject", SUBJECT | REPORTED},
    {"hidden and reported ones", STATE | REPORTED},
    {"all comments of a day", DAY},
    {"a Chinese word, by a user, of a day, reported, of a subject", WORD | USER | DAY | SUBJECT | REPORTED},
    {"a Chinese word, visible, of a day, of a subject", WORD | DAY | SUBJECT | STATE},
};

static bool count_one(void *context, const struct index_row *comment) {
    (void)comment;
    ++*(int64_t *)context;
    return true;
}

static struct search_query draw_query(int conditions, struct buffer *text, char subject[32]) {
    struct search_query query = {.user = -1, .state = -1, .to = INT64_MAX, .limit = PAGE};
    buffer_clear(text);
    for (int i = conditions & LONG ? 4 : 2; conditions & WORD && i; i--)
        put_sign(text, conditions & ABSENT ? SIGNS + i : unequal(SIGNS));
    if (conditions & COMMON) {
        put_sign(text, unequal(20));
        buffer_byte(text, ' ');
        put_sign(text, unequal(20));
    }
    if (conditions & LATIN) {
        put_word(text, unequal(WORDS));
        buffer_byte(text, ' ');
        put_word(text, unequal(WORDS));
    }
    if (text->size) query.text = buffer_cstring(text);
    if (conditions & USER) query.user = unequal(USERS);
    if (conditions & STATE) query.state = conditions & REPORTED ? COMMENT_WIDE_HIDDEN : COMMENT_WIDE_VISIBLE;
    if (conditions & REPORTED) query.reported = true;
    if (conditions & SUBJECT) {
        snprintf(subject, 32, "post:%" PRId64, unequal(SUBJECTS));
        query.subject = subject;
    }
    if (conditions & DAY) {
        int64_t day = BEGIN_MS + (int64_t)(draw() % DAYS) * DAY_MS;
        query.from = ids_first_at(day);
        query.to = ids_first_at(day + DAY_MS);
    }
    return query;
}

static void print(FILE *json, const char *name, double *ms, double found) {
    bench_sort(ms, TRIES);
    printf("%-62s %8.2f %8.2f %8.2f %8.1f\n", name, ms[TRIES / 2], ms[TRIES * 99 / 100], ms[TRIES - 1], found);
    if (json)
        fprintf(json, ",\"%s\":{\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f,\"found\":%.1f}", name, ms[TRIES / 2],
                ms[TRIES * 99 / 100], ms[TRIES - 1], found);
}

static void search_all(struct search *search, FILE *json) {
    struct buffer text = {0};
    char subject[32];
    struct error error;
    double ms[TRIES];
    for (size_t i = 0; i < ARRAY_SIZE(SEARCHES); i++) {
        int64_t found = 0;
        for (int n = 0; n < TRIES; n++) {
            struct search_query query = draw_query(SEARCHES[i].conditions, &text, subject);
            bool more;
            int64_t began = clock_monotonic_us();
            check(search_run(search, &query, INT64_MAX, count_one, &found, &more, &error), &error);
            ms[n] = (double)(clock_monotonic_us() - began) / 1000;
        }
        print(json, SEARCHES[i].name, ms, (double)found / TRIES);
    }
    buffer_free(&text);
}

/* ---- the floor: SQLite alone, on the same file ---- */

static void run_floor(sqlite3 *db, FILE *json, const char *name, const char *sql, int tries) {
    sqlite3_stmt *statement;
    double ms[TRIES], found = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL)) exit(1);
    for (int n = 0; n < TRIES; n++) {
        if (n >= tries) {
            ms[n] = ms[n % tries];
            continue;
        }
        int64_t began = clock_monotonic_us();
        sqlite3_bind_int64(statement, 1, ids_first_at(BEGIN_MS + (int64_t)(draw() % (uint64_t)(DAYS * DAY_MS))));
        while (sqlite3_step(statement) == SQLITE_ROW) found++;
        sqlite3_reset(statement);
        ms[n] = (double)(clock_monotonic_us() - began) / 1000;
    }
    sqlite3_finalize(statement);
    print(json, name, ms, found / tries);
}

static void run_floors(const char *path, FILE *json) {
    sqlite3 *db;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL)) exit(1);
    run_floor(db, json, "floor: 20 rows by key", "SELECT * FROM comments WHERE id < ?1 ORDER BY id DESC LIMIT 20",
              TRIES);
    run_floor(db, json, "peer: a scan for a word (LIKE)",
              "SELECT * FROM comments WHERE id < ?1 AND text LIKE '%一丂%' AND user = -1", 3);
    sqlite3_close(db);
}

/* ---- */

static double megabytes(const char *path) {
    struct stat status;
    return stat(path, &status) ? 0 : (double)status.st_size / 1e6;
}

static void run(const char *path, int64_t rows, FILE *json) {
    struct index *index;
    struct search *search;
    struct error error;
    check(index_open(path, PARTITIONS, CACHE, &index, &error), &error);
    double cpu = bench_cpu_s();
    int64_t began = clock_monotonic_us();
    fill(index, rows);
    double s = (double)(clock_monotonic_us() - began) / 1e6;
    cpu = bench_cpu_s() - cpu;
    check(search_new(index, CACHE, &search, &error), &error);
    printf("%" PRId64 " comments written in %.1f s (%.0f/s, %.1f s CPU), %.0f MB\n\n%-62s %8s %8s %8s %8s\n", rows, s,
           (double)rows / s, cpu, megabytes(path), "search (ms)", "p50", "p99", "max", "found");
    if (json)
        fprintf(json, "\"rows\":%" PRId64 ",\"written_s\":%.2f,\"written_cpu_s\":%.2f,\"mb\":%.1f", rows, s, cpu,
                megabytes(path));
    search_all(search, json);
    run_floors(path, json);
    printf("peak memory %.0f MB\n", bench_peak_rss() / 1e6);
    search_free(search);
    index_close(index);
}

int main(int argc, char **argv) {
    int64_t rows = 1000000;
    FILE *json = NULL;
    const struct argument known[] = {ARGUMENT("--rows", &rows), ARGUMENT("--json", &json)};
    if (arguments_read(argc, argv, known, ARRAY_SIZE(known)) != 1 || rows < 1)
        bench_fail("its head says which arguments there are");
    if (json) fprintf(json, "{");
    bench_print_machine(stdout, json, "moderation");
    char *folder = bench_folder(), *path = mem_format("%s/comments.db", folder);
    run(path, rows, json);
    bench_folder_remove(folder);
    free(path);
    if (json) fprintf(json, "}\n");
    return json && fclose(json);
}
