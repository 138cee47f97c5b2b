#include "moderation/search.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "moderation/index_private.h"

enum { STEPS_BETWEEN_LOOKS = 500 };

/* CROSS JOIN: the terms come first. */
#define BY_TERMS(rows, terms)                                                                                          \
    "SELECT " INDEX_COLUMNS " FROM " terms " CROSS JOIN " rows " ON id = " terms ".rowid"                              \
    " WHERE " terms " MATCH ?4 AND " terms ".rowid >= ?1 AND " terms ".rowid < ?2 AND state < 9"                       \
    " ORDER BY " terms ".rowid DESC LIMIT ?3"
#define BY_TIME(rows)                                                                                                  \
    "SELECT " INDEX_COLUMNS " FROM " rows " WHERE id >= ?1 AND id < ?2 AND state < 9 ORDER BY id DESC LIMIT ?3"
static const char *const TERMS_SQL[INDEX_KINDS] = {BY_TERMS("comments", "terms"), BY_TERMS("posts", "post_terms")},
                         *const TIME_SQL[INDEX_KINDS] = {BY_TIME("comments"), BY_TIME("posts")};
static const char PEOPLE[] = "SELECT user, reports, time, reason FROM people WHERE (time, user) < (?1, ?2)"
                             " AND (?3 < 0 OR user = ?3) ORDER BY time DESC, user DESC LIMIT ?4";

struct search {
    const struct index *index;
    int64_t cache;
    unsigned generation; /* of the file that is open */
    sqlite3 *db;
    sqlite3_stmt *by_terms[INDEX_KINDS], *by_time[INDEX_KINDS], *people;
    struct words *words;
    struct buffer expression;
    int64_t deadline_us;
};

static void shut(struct search *search) {
    for (int kind = 0; kind < INDEX_KINDS; kind++) {
        sqlite3_finalize(search->by_terms[kind]);
        sqlite3_finalize(search->by_time[kind]);
        search->by_terms[kind] = search->by_time[kind] = NULL;
    }
    sqlite3_finalize(search->people);
    sqlite3_close(search->db);
    search->people = NULL;
    search->db = NULL;
}

static int too_late(void *context) { return clock_monotonic_us() > ((const struct search *)context)->deadline_us; }

/* Preparing reads the file, so that it stays readable when a new one takes its place. */
static int open_file(struct search *search, struct error *error) {
    search->generation = index_generation(search->index);
    int code = database_open(index_path(search->index), SQLITE_OPEN_READONLY, &search->db, error);
    if (code) return code;
    char *settings = mem_format("PRAGMA cache_size=-%" PRId64, search->cache / 1024);
    code = database_run(search->db, settings, error);
    free(settings);
    for (int kind = 0; kind < INDEX_KINDS; kind++) {
        if (!code) code = database_prepare(search->db, TERMS_SQL[kind], &search->by_terms[kind], error);
        if (!code) code = database_prepare(search->db, TIME_SQL[kind], &search->by_time[kind], error);
    }
    if (!code) code = database_prepare(search->db, PEOPLE, &search->people, error);
    if (!code) sqlite3_progress_handler(search->db, STEPS_BETWEEN_LOOKS, too_late, search);
    if (code) shut(search);
    return code;
}

int search_new(const struct index *index, int64_t cache, struct search **out, struct error *error) {
    struct search *search =
        MEM_NEW(&(struct search){.index = index, .cache = cache, .words = words_new(), .deadline_us = INT64_MAX});
    int code = open_file(search, error);
    if (code) {
        search_free(search);
        return code;
    }
    *out = search;
    return 0;
}

void search_free(struct search *search) {
    if (!search) return;
    shut(search);
    words_free(search->words);
    buffer_free(&search->expression);
    free(search);
}

/* ---- the question ---- */

static struct buffer *condition(struct search *search) {
    if (search->expression.size) buffer_string(&search->expression, " AND ");
    return &search->expression;
}

static void put_encoded(struct search *search, char kind, const char *text) {
    buffer_byte(condition(search), (uint8_t)kind);
    index_put_encoded(&search->expression, text, strlen(text));
}

/* The expression of FTS5 for all conditions but time; empty: there are none. */
static int put_expression(struct search *search, const struct search_query *query, struct error *error) {
    buffer_clear(&search->expression);
    if (query->user >= 0) buffer_format(condition(search), "u%" PRId64, query->user);
    if (query->subject) put_encoded(search, 's', query->subject);
    if (query->type) put_encoded(search, 't', query->type);
    if (query->state >= 0) buffer_format(condition(search), "v%d", query->state);
    if (query->reported) buffer_string(condition(search), "r");
    if (query->text && !words_put_query(search->words, &search->expression, query->text, strlen(query->text)))
        return error_set(error, -EINVAL, "the text has no word to search for");
    return 0;
}

/* Opens the file that the index has now, unless it is too late. */
static int begin(struct search *search, int64_t deadline_us, struct error *error) {
    if (search->generation != index_generation(search->index)) shut(search);
    search->deadline_us = deadline_us;
    if (too_late(search)) return error_set(error, -ETIMEDOUT, "the search waited too long");
    return search->db ? 0 : open_file(search, error);
}

/* The statement has ended at that step. */
static int finish(struct search *search, sqlite3_stmt *statement, int step, struct error *error) {
    int code = step != SQLITE_ROW && step != SQLITE_DONE ? database_failed(search->db, error) : 0;
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return code;
}

int search_run(struct search *search, const struct search_query *query, int64_t deadline_us,
               bool (*found)(void *context, const struct index_row *row), void *context, bool *more,
               struct error *error) {
    int step;
    size_t count = 0;
    bool enough = false;
    int code = begin(search, deadline_us, error);
    if (!code) code = put_expression(search, query, error);
    if (code) return code;
    sqlite3_stmt *statement = (search->expression.size ? search->by_terms : search->by_time)[query->kind];
    sqlite3_bind_int64(statement, 1, query->from);
    sqlite3_bind_int64(statement, 2, query->to);
    sqlite3_bind_int64(statement, 3, (int64_t)query->limit + 1);
    if (search->expression.size)
        sqlite3_bind_text(statement, 4, (const char *)search->expression.data, (int)search->expression.size,
                          SQLITE_STATIC);
    while ((step = sqlite3_step(statement)) == SQLITE_ROW && !enough && count++ < query->limit) {
        struct index_row row;
        index_read_row(statement, &row);
        enough = !found(context, &row);
    }
    *more = step == SQLITE_ROW;
    return finish(search, statement, step, error);
}

int search_people(struct search *search, const struct people_query *query, int64_t deadline_us,
                  void (*found)(void *context, const struct found_person *person), void *context, bool *more,
                  struct error *error) {
    int step;
    size_t count = 0;
    int code = begin(search, deadline_us, error);
    if (code) return code;
    sqlite3_bind_int64(search->people, 1, query->before);
    sqlite3_bind_int64(search->people, 2, query->before_user);
    sqlite3_bind_int64(search->people, 3, query->user);
    sqlite3_bind_int64(search->people, 4, (int64_t)query->limit + 1);
    while ((step = sqlite3_step(search->people)) == SQLITE_ROW && count++ < query->limit)
        found(context, &(struct found_person){.user = sqlite3_column_int64(search->people, 0),
                                              .reports = sqlite3_column_int64(search->people, 1),
                                              .time = sqlite3_column_int64(search->people, 2),
                                              .reason = database_text(search->people, 3)});
    *more = step == SQLITE_ROW;
    return finish(search, search->people, step, error);
}
