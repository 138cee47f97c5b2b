#include "moderation/index_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "folding/folding.h"

/* Another layout, or other rules of terms: the file is begun anew. So it is with other tables of Unicode, by which letters may fold
 * otherwise: terms are removed by making them again. */
enum { VERSION = 4 };

/* Pages (4 KiB) in the write-ahead log: from CHECKPOINT_PAGES on each commit copies what it can into the file; from RESTART_PAGES
 * (64 MiB) on it also waits for the searches that still read the log. */
enum { CHECKPOINT_PAGES = 1000, RESTART_PAGES = 16384 };

/* Half of the seven days that Kafka keeps tombstones: older than that, a removal may have been missed. */
static const int64_t AGE_MAX_MS = 7LL * 24 * 3600 * 1000 / 2;

static const char SCHEMA[] =
    "CREATE TABLE comments(id INTEGER PRIMARY KEY, subject, owner, floor, root, answers, user, state, text, likes,"
    " replies, reports, time, version, edited, media);"
    "CREATE VIRTUAL TABLE terms USING fts5(body, content='', columnsize=0, tokenize='ascii');"
    "CREATE TABLE posts(id INTEGER PRIMARY KEY, subject, owner, floor, root, answers, user, state, text, likes,"
    " replies, reports, time, version, edited, media);"
    "CREATE VIRTUAL TABLE post_terms USING fts5(body, content='', columnsize=0, tokenize='ascii');"
    "CREATE TABLE people(user INTEGER PRIMARY KEY, reports, time, reason);"
    "CREATE INDEX people_by_time ON people(time, user);"
    "CREATE TABLE marks(name PRIMARY KEY, value) WITHOUT ROWID;";

/* In brackets: of strings that stand side by side in a list, one may have lost its comma. */
#define OF_KIND(rows, terms)                                                                                           \
    {                                                                                                                  \
        [INDEX_FIND] = ("SELECT " INDEX_COLUMNS " FROM " rows " WHERE id = ?1"),                                       \
        [INDEX_PUT] =                                                                                                  \
            ("REPLACE INTO " rows " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"),  \
        [INDEX_REMOVE] = ("DELETE FROM " rows " WHERE id = ?1"),                                                       \
        [INDEX_ADD_TERMS] = ("INSERT INTO " terms "(rowid, body) VALUES (?1, ?2)"),                                    \
        [INDEX_REMOVE_TERMS] = ("INSERT INTO " terms "(" terms ", rowid, body) VALUES ('delete', ?1, ?2)"),            \
    }
static const char *const SQL[INDEX_KINDS][INDEX_STATEMENTS] = {
    [INDEX_COMMENTS] = OF_KIND("comments", "terms"), [INDEX_POSTS] = OF_KIND("posts", "post_terms")};
static const char MARK[] = "REPLACE INTO marks VALUES (?1, ?2)";
static const char PUT_PERSON[] = "INSERT INTO people VALUES (?1, 1, ?2, ?3)"
                                 " ON CONFLICT(user) DO UPDATE SET reports = reports + 1, time = ?2, reason = ?3";

/* ---- terms ---- */

void index_put_encoded(struct buffer *out, const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if ((c >= 'a' && c <= 'z' && c != 'x') || (c >= '0' && c <= '9'))
            buffer_byte(out, (uint8_t)c);
        else
            buffer_format(out, "x%02x", (uint8_t)c);
    }
}

static void put_terms(struct index *index, struct buffer *out, const struct comment_wide *comment) {
    const char *subject = comment->subject.data;
    size_t size = comment->subject.size;
    const char *colon = size ? memchr(subject, ':', size) : NULL;
    buffer_clear(out);
    words_put_terms(index->words, out, comment->text.data, comment->text.size);
    buffer_format(out, "u%" PRId64 " v%d", comment->user, (int)comment->state);
    if (size) {
        buffer_string(out, " t");
        index_put_encoded(out, subject, colon ? (size_t)(colon - subject) : size);
        buffer_string(out, " s");
        index_put_encoded(out, subject, size);
    }
    if (comment->reports > 0) buffer_string(out, " r");
}

/* ---- statements ---- */

static void bind_text(sqlite3_stmt *statement, int at, const char *text, size_t size) {
    sqlite3_bind_text(statement, at, text, (int)size, SQLITE_STATIC);
}

static int mark(struct index *index, const char *name, int64_t value, struct error *error) {
    sqlite3_stmt *statement = index->mark;
    bind_text(statement, 1, name, strlen(name));
    sqlite3_bind_int64(statement, 2, value);
    return database_finish(index->db, statement, error);
}

static int write_terms(struct index *index, enum index_kind kind, enum index_statement what, int64_t id,
                       struct buffer *terms, struct error *error) {
    sqlite3_stmt *statement = index->statements[kind][what];
    sqlite3_bind_int64(statement, 1, id);
    bind_text(statement, 2, (const char *)terms->data, terms->size);
    return database_finish(index->db, statement, error);
}

void index_read_row(sqlite3_stmt *statement, struct index_row *row) {
    *row = (struct index_row){
        .comment =
            {
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
            },
        .media = database_text(statement, 15),
    };
}

int index_find_row(struct index *index, enum index_kind kind, int64_t id, struct index_row *row, struct error *error) {
    sqlite3_stmt *statement = index->statements[kind][INDEX_FIND];
    sqlite3_bind_int64(statement, 1, id);
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        index_read_row(statement, row);
        return 1;
    }
    int found = code == SQLITE_DONE ? 0 : database_failed(index->db, error);
    sqlite3_reset(statement);
    return found;
}

/* The terms of the row as it stands in the index go to `former`. 1: it is there, 0: it is not, negative: failure. */
static int find_former(struct index *index, enum index_kind kind, int64_t id, struct error *error) {
    struct index_row row;
    int found = index_find_row(index, kind, id, &row, error);
    if (found == 1) {
        put_terms(index, &index->former, &row.comment);
        sqlite3_reset(index->statements[kind][INDEX_FIND]);
    }
    return found;
}

static int write_row(struct index *index, enum index_kind kind, const struct index_row *row, struct error *error) {
    sqlite3_stmt *statement = index->statements[kind][INDEX_PUT];
    const struct comment_wide *comment = &row->comment;
    const int64_t numbers[] = {
        [3] = comment->owner,    [4] = comment->floor, [5] = comment->root,     [6] = comment->answers,
        [7] = comment->user,     [8] = comment->state, [10] = comment->likes,   [11] = comment->replies,
        [12] = comment->reports, [13] = comment->time, [14] = comment->version, [15] = comment->edited};
    sqlite3_bind_int64(statement, 1, comment->id);
    for (int i = 3; i <= 15; i++)
        if (i != 9) sqlite3_bind_int64(statement, i, numbers[i]);
    bind_text(statement, 2, comment->subject.data, comment->subject.size);
    bind_text(statement, 9, comment->text.data, comment->text.size);
    bind_text(statement, 16, row->media.data, row->media.size);
    return database_finish(index->db, statement, error);
}

/* ---- the file ---- */

static void shut(struct index *index) {
    for (int kind = 0; kind < INDEX_KINDS; kind++)
        for (int i = 0; i < INDEX_STATEMENTS; i++) sqlite3_finalize(index->statements[kind][i]);
    memset(index->statements, 0, sizeof index->statements);
    sqlite3_finalize(index->mark);
    sqlite3_finalize(index->put_person);
    sqlite3_close(index->db);
    index->mark = index->put_person = NULL;
    index->db = NULL;
}

static int prepare_all(struct index *index, struct error *error) {
    int code = 0;
    for (int kind = 0; kind < INDEX_KINDS; kind++)
        for (int i = 0; !code && i < INDEX_STATEMENTS; i++)
            code = database_prepare(index->db, SQL[kind][i], &index->statements[kind][i], error);
    if (!code) code = database_prepare(index->db, PUT_PERSON, &index->put_person, error);
    return code ? code : database_prepare(index->db, MARK, &index->mark, error);
}

/* After each commit. While searches overlap, checkpoints that wait for nobody never come to the log's end, and it would grow. A
 * checkpoint that fails is tried again at the next commit. */
static int committed(void *context, sqlite3 *db, const char *name, int pages) {
    int mode = pages >= RESTART_PAGES ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE;
    if (pages >= CHECKPOINT_PAGES) sqlite3_wal_checkpoint_v2(db, name, mode, NULL, NULL);
    return SQLITE_OK;
}

static int open_file(struct index *index, struct error *error) {
    int code = database_open(index->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &index->db, error);
    if (code) return code;
    char *settings =
        mem_format("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=67108864;"
                   "PRAGMA cache_size=-%" PRId64,
                   index->cache / 1024);
    code = database_run(index->db, settings, error);
    free(settings);
    sqlite3_wal_hook(index->db, committed, NULL);
    return code;
}

static void remove_files(struct index *index) {
    static const char *const ENDS[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++) {
        char *path = mem_format("%s%s", index->path, ENDS[i]);
        unlink(path);
        free(path);
    }
}

static int create(struct index *index, struct error *error) {
    shut(index);
    remove_files(index);
    char *stamp = mem_format("BEGIN;%s INSERT INTO marks VALUES ('unicode', '%s'), ('partitions', %d);"
                             "PRAGMA user_version=%d; COMMIT",
                             SCHEMA, folding_version(), index->partitions, VERSION);
    int code = open_file(index, error);
    if (!code) code = database_run(index->db, stamp, error);
    if (!code) code = prepare_all(index, error);
    free(stamp);
    if (code) return code;
    for (int p = 0; p < index->partitions; p++) index->next[p] = -1;
    index->rows = 0;
    return index_current(index, error);
}

/* The mark of that name; the fallback if there is none. */
static int64_t read_mark(struct index *index, const char *name, int64_t fallback) {
    sqlite3_stmt *statement = NULL;
    int64_t value = fallback;
    if (database_prepare(index->db, "SELECT value FROM marks WHERE name = ?1", &statement, NULL)) return fallback;
    bind_text(statement, 1, name, strlen(name));
    if (sqlite3_step(statement) == SQLITE_ROW) value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/* Whether the question has the answer 1. */
static bool is_true(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = NULL;
    if (database_prepare(db, sql, &statement, NULL)) return false;
    bool yes = sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0) == 1;
    sqlite3_finalize(statement);
    return yes;
}

/* Whether the file that is open can be gone on with. */
static bool usable(struct index *index) {
    char *question = mem_format("SELECT user_version = %d AND (SELECT value FROM marks WHERE name = 'unicode') = '%s'"
                                " FROM pragma_user_version",
                                VERSION, folding_version());
    bool yes = is_true(index->db, question);
    free(question);
    int64_t age = clock_wall_ms() - read_mark(index, "current", 0);
    return yes && read_mark(index, "partitions", 0) == index->partitions && age <= AGE_MAX_MS;
}

static void read_marks(struct index *index) {
    index->rows = read_mark(index, "rows", 0);
    for (int p = 0; p < index->partitions; p++) {
        char *name = mem_format("partition %d", p);
        index->next[p] = read_mark(index, name, -1);
        free(name);
    }
}

static int take_lock(struct index *index, struct error *error) {
    char *path = mem_format("%s.lock", index->path);
    index->lock = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    int code = 0;
    if (index->lock < 0)
        code = error_set(error, -errno, "cannot open %s: %s", path, strerror(errno));
    else if (flock(index->lock, LOCK_EX | LOCK_NB))
        code = error_set(error, -EBUSY, "another process has %s", index->path);
    free(path);
    return code;
}

static int open_or_create(struct index *index, struct error *error) {
    int code = take_lock(index, error);
    if (code) return code;
    code = open_file(index, error);
    if (code && code != -EBADMSG) return code;
    if (code || !usable(index) || prepare_all(index, error)) return create(index, error);
    read_marks(index);
    return 0;
}

int index_open(const char *path, int partitions, int64_t cache, struct index **out, struct error *error) {
    struct index *index = MEM_NEW(&(struct index){
        .path = mem_string(path),
        .lock = -1,
        .partitions = partitions,
        .cache = cache,
        .words = words_new(),
        .next = mem_zero((size_t)partitions, sizeof *index->next),
        .reached = mem_zero((size_t)partitions, sizeof *index->reached),
    });
    int code = open_or_create(index, error);
    if (code) {
        index_close(index);
        return code;
    }
    *out = index;
    return 0;
}

void index_close(struct index *index) {
    if (!index) return;
    shut(index);
    if (index->lock >= 0) close(index->lock);
    words_free(index->words);
    buffer_free(&index->former);
    buffer_free(&index->terms);
    buffer_free(&index->texts);
    free(index->next);
    free(index->reached);
    free(index->path);
    free(index);
}

int index_forget(struct index *index, struct error *error) {
    int code = create(index, error);
    atomic_fetch_add(&index->generation, 1);
    return code;
}

unsigned index_generation(const struct index *index) { return atomic_load(&index->generation); }

const char *index_path(const struct index *index) { return index->path; }

/* ---- changes ---- */

int64_t index_next(const struct index *index, int32_t partition) { return index->next[partition]; }

int64_t index_rows(const struct index *index) { return index->rows; }

int index_fail(struct index *index, int code) {
    if (code < 0 && index->db && !sqlite3_get_autocommit(index->db))
        sqlite3_exec(index->db, "ROLLBACK", NULL, NULL, NULL);
    return code;
}

int index_begin(struct index *index, struct error *error) {
    // After a forgetting that failed there is no file.
    if (!index->mark) return error_set(error, -EBADMSG, "the search index is not open");
    memcpy(index->reached, index->next, (size_t)index->partitions * sizeof *index->next);
    index->rows_then = index->rows;
    return index_fail(index, database_run(index->db, "BEGIN IMMEDIATE", error));
}

static bool same(const struct buffer *a, const struct buffer *b) {
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

int index_put_row(struct index *index, enum index_kind kind, const struct index_row *row, struct error *error) {
    int64_t id = row->comment.id;
    int found = find_former(index, kind, id, error), code = found < 0 ? found : 0;
    put_terms(index, &index->terms, &row->comment);
    bool keep = found == 1 && same(&index->former, &index->terms);
    if (!code && found && !keep) code = write_terms(index, kind, INDEX_REMOVE_TERMS, id, &index->former, error);
    if (!code && !keep) code = write_terms(index, kind, INDEX_ADD_TERMS, id, &index->terms, error);
    if (!code) code = write_row(index, kind, row, error);
    if (!code && !found && kind == INDEX_COMMENTS) index->rows_then++;
    return index_fail(index, code);
}

int index_put(struct index *index, const struct comment_wide *comment, struct error *error) {
    return index_put_row(index, INDEX_COMMENTS, &(struct index_row){.comment = *comment, .media = {"[]", 2}}, error);
}

int index_remove_row(struct index *index, enum index_kind kind, int64_t id, struct error *error) {
    int found = find_former(index, kind, id, error);
    if (found <= 0) return index_fail(index, found);
    int code = write_terms(index, kind, INDEX_REMOVE_TERMS, id, &index->former, error);
    if (!code) {
        sqlite3_bind_int64(index->statements[kind][INDEX_REMOVE], 1, id);
        code = database_finish(index->db, index->statements[kind][INDEX_REMOVE], error);
    }
    if (!code && kind == INDEX_COMMENTS) index->rows_then--;
    return index_fail(index, code);
}

int index_remove(struct index *index, int64_t id, struct error *error) {
    return index_remove_row(index, INDEX_COMMENTS, id, error);
}

void index_reached(struct index *index, int32_t partition, int64_t next) { index->reached[partition] = next; }

int index_commit(struct index *index, struct error *error) {
    int code = mark(index, "rows", index->rows_then, error);
    for (int p = 0; !code && p < index->partitions; p++) {
        if (index->reached[p] == index->next[p]) continue;
        char *name = mem_format("partition %d", p);
        code = mark(index, name, index->reached[p], error);
        free(name);
    }
    if (!code) code = database_run(index->db, "COMMIT", error);
    if (code) return index_fail(index, code);
    memcpy(index->next, index->reached, (size_t)index->partitions * sizeof *index->next);
    index->rows = index->rows_then;
    return 0;
}

int index_current(struct index *index, struct error *error) { return mark(index, "current", clock_wall_ms(), error); }
