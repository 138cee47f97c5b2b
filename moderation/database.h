/* Connections to the search index, for its writer and its readers, and SQLite's errors as errno codes. One thread at a time per
 * connection. */
#pragma once

#include <sqlite3.h>

#include "base/error.h"
#include "event/types.h"

/* Opens a connection. flags: SQLITE_OPEN_READONLY, or READWRITE | CREATE. *db is NULL after a failure. */
int database_open(const char *path, int flags, sqlite3 **db, struct error *error);

/* The reason of the connection's last failure. Returns -EBADMSG: the file is damaged or no database; -ENOSPC: the disk is full;
 * -ETIMEDOUT: interrupted; -EIO: anything else. */
int database_failed(sqlite3 *db, struct error *error);

/* Runs SQL that returns nothing. */
int database_run(sqlite3 *db, const char *sql, struct error *error);

int database_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **statement, struct error *error);

/* Runs a statement that returns nothing, and resets it with its bindings. */
int database_finish(sqlite3 *db, sqlite3_stmt *statement, struct error *error);

/* The bytes of a result's column, valid until the statement's next step; empty where it is null. */
struct event_text database_text(sqlite3_stmt *statement, int column);
