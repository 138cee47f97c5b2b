#include "moderation/search.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "moderation/database.h"
#include "moderation/words.h"

enum { STEPS_BETWEEN_LOOKS = 500 };

#define COLUMNS                                                                                                        \
    "comments.id, subject, owner, floor, root, answers, user, state, text, likes, replies, reports, time, "            \
    "version, edited FROM "

/* CROSS JOIN: the terms come first. */
static const char BY_TERMS[] = "SELECT " COLUMNS "terms CROSS JOIN comments ON comments.id = terms.rowid"
                               " WHERE terms MATCH ?4 AND terms.rowid >= ?1 AND terms.rowid < ?2"
                               " ORDER BY terms.rowid DESC LIMIT ?3";
static const char BY_TIME[] = "SELECT " COLUMNS "comments WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3";

struct search {
    const struct index *index;
    int64_t cache;
    unsigned generation; /* of the file that is open */
    sqlite3 *db;
    sqlite3_stmt *by_terms, *by_time;
    struct words *words;
    struct buffer expression;
    int64_t deadline_us;
};

static void shut(struct search *search) {
    sqlite3_finalize(search->by_terms);
    sqlite3_finalize(search->by_time);
    sqlite3_close(search->db);
    search->by_terms = search->by_time = NULL;
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
    if (!code) code = database_prepare(search->db, BY_TERMS, &search->by_terms, error);
    if (!code) code = database_prepare(search->db, BY_TIME, &search->by_time, error);
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

static struct comment_wide column_comment(sqlite3_stmt *statement) {
    return (struct comment_wide){
        .id = sqlite3_column_int64(statement, 0),
        .subject = database_text(statement, 1),
        .owner = sqlite3_column_int64(statement, 2),
        .floor = sqlite3_column_int(statement, 3),
        .root = sqlite3_column_int64(statement, 4),
        .answers = sqlite3_column_int64(statement, 5),
        .user = sqlite3_column_int64(statement, 6),
        .state = (enum comment_wide_state)sqlite3_column_int(statement, 7),
        .text = database_text(statement, 8),
        .likes = sqlite3_column_int64(statement, 9),
        .replies = sqlite3_column_int(statement, 10),
        .reports = sqlite3_column_int(statement, 11),
        .time = sqlite3_column_int64(statement, 12),
        .version = sqlite3_column_int64(statement, 13),
        .edited = sqlite3_column_int64(statement, 14),
    };
}

int search_run(struct search *search, const struct search_query *query, int64_t deadline_us,
               bool (*found)(void *context, const struct comment_wide *comment), void *context, bool *more,
               struct error *error) {
    int code = 0, step;
    size_t count = 0;
    bool enough = false;
    if (search->generation != index_generation(search->index)) shut(search);
    search->deadline_us = deadline_us;
    if (too_late(search)) return error_set(error, -ETIMEDOUT, "the search waited too long");
    if (!search->db) code = open_file(search, error);
    if (!code) code = put_expression(search, query, error);
    if (code) return code;
    sqlite3_stmt *statement = search->expression.size ? search->by_terms : search->by_time;
    sqlite3_bind_int64(statement, 1, query->from);
    sqlite3_bind_int64(statement, 2, query->to);
    sqlite3_bind_int64(statement, 3, (int64_t)query->limit + 1);
    if (search->expression.size)
        sqlite3_bind_text(statement, 4, (const char *)search->expression.data, (int)search->expression.size,
                          SQLITE_STATIC);
    while ((step = sqlite3_step(statement)) == SQLITE_ROW && !enough && count++ < query->limit) {
        struct comment_wide comment = column_comment(statement);
        enough = !found(context, &comment);
    }
    *more = step == SQLITE_ROW;
    if (step != SQLITE_ROW && step != SQLITE_DONE) code = database_failed(search->db, error);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return code;
}
