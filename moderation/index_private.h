/* Between moderation/index*.c and search.c: the tables of the search index. */
#pragma once

#include <stdatomic.h>

#include "base/buffer.h"
#include "moderation/database.h"
#include "moderation/index.h"
#include "moderation/words.h"

enum index_statement { INDEX_FIND, INDEX_PUT, INDEX_REMOVE, INDEX_ADD_TERMS, INDEX_REMOVE_TERMS, INDEX_STATEMENTS };

/* The columns of `comments` and `posts`, in the order in which index_read_row takes them. */
#define INDEX_COLUMNS                                                                                                  \
    "id, subject, owner, floor, root, answers, user, state, text, likes, replies, reports, time, version, edited, media"

struct index {
    char *path;
    int lock; /* a file beside it, locked while this process has the index */
    int partitions;
    int64_t cache;
    sqlite3 *db;
    sqlite3_stmt *statements[INDEX_KINDS][INDEX_STATEMENTS], *mark, *put_person;
    struct words *words;
    int64_t *next;    /* by partition; as committed */
    int64_t *reached; /* the same, in the transaction */
    int64_t rows, rows_then;
    struct buffer former, terms; /* of the row that is being written */
    struct buffer texts;         /* of the post that is being changed */
    atomic_uint generation;
};

/* Reads the row at which the statement stands; its texts are valid until the statement's next step. */
void index_read_row(sqlite3_stmt *statement, struct index_row *row);
/* The row of that id. 1: found, 0: there is none, or a negative code. With 1 the statement stands at it, and is to be reset. */
int index_find_row(struct index *index, enum index_kind kind, int64_t id, struct index_row *row, struct error *error);
int index_put_row(struct index *index, enum index_kind kind, const struct index_row *row, struct error *error);
int index_remove_row(struct index *index, enum index_kind kind, int64_t id, struct error *error);
/* Rolls the transaction back where the code is negative. Returns the code. */
int index_fail(struct index *index, int code);
