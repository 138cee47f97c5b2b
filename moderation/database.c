#include "moderation/database.h"

#include <errno.h>

enum { BUSY_MS = 5000 };

int database_failed(sqlite3 *db, struct error *error) {
    int code;
    switch (sqlite3_errcode(db) & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: code = -EBADMSG; break;
    case SQLITE_FULL: code = -ENOSPC; break;
    case SQLITE_INTERRUPT: code = -ETIMEDOUT; break;
    default: code = -EIO;
    }
    return error_set(error, code, "SQLite: %s", sqlite3_errmsg(db));
}

int database_open(const char *path, int flags, sqlite3 **out, struct error *error) {
    sqlite3 *db = NULL;
    int code = sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX, NULL) ? database_failed(db, error) : 0;
    *out = NULL;
    if (code) {
        sqlite3_close(db);
        return error_prefix(error, code, "%s", path);
    }
    sqlite3_busy_timeout(db, BUSY_MS);
    *out = db;
    return 0;
}

int database_run(sqlite3 *db, const char *sql, struct error *error) {
    return sqlite3_exec(db, sql, NULL, NULL, NULL) ? database_failed(db, error) : 0;
}

int database_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **statement, struct error *error) {
    return sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL) ? database_failed(db, error) : 0;
}

int database_finish(sqlite3 *db, sqlite3_stmt *statement, struct error *error) {
    int code = sqlite3_step(statement) == SQLITE_DONE ? 0 : database_failed(db, error);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return code;
}

struct event_text database_text(sqlite3_stmt *statement, int column) {
    const char *text = sqlite3_column_blob(statement, column);
    return (struct event_text){.data = text ? text : "", .size = (size_t)sqlite3_column_bytes(statement, column)};
}
