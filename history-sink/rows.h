/* History on this machine's disk, for queries: RocksDB, rows sorted by user and time, and how far it reflects each
 * partition. One thread.
 *
 *     family "rows":        key   user 8 bytes, time 8 bytes, offset 8 bytes, all big-endian
 *                           value lat 4, lng 4, accuracy 4, received 8, all big-endian; of a row with details 24 bytes more: battery,
 *                                 charging, speed, course, vertical accuracy, activity
 *     family "partitions":  key   partition 4, big-endian
 *                           value next 8, big-endian (16 bytes more in stores of version 0.1)
 *     family "wiped":       key   partition 4, big-endian
 *                           value store 8, files 8, big-endian: erasures before these offsets are done
 *
 * Writing a row again writes the same key: reading a partition twice does no harm. A row's partition follows from its user.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "event/records.h"

struct rows;

int rows_open(const char *path, size_t cache_bytes, size_t memtable_bytes, struct rows **rows, struct error *error);
void rows_close(struct rows *rows); /* NULL is fine; unwritten rows are lost */

/* Gathers rows into one atomic batch, which rows_write writes; rows_waiting counts gathered rows. */
void rows_put(struct rows *rows, const struct history_row *row);
/* next: every row before this offset is in "rows" (later ones may be). */
void rows_put_mark(struct rows *rows, int32_t partition, int64_t next);
size_t rows_waiting(const struct rows *rows);
int rows_write(struct rows *rows, struct error *error);

/* How far the store reflects a partition; 0 when it was never written. */
int rows_mark(struct rows *rows, int32_t partition, int64_t *next, struct error *error);

enum { ROWS_KEY_SIZE = 24, ROWS_VALUE_SIZE = 20, ROWS_DETAILS_SIZE = 24 };
void rows_key(uint8_t key[ROWS_KEY_SIZE], int64_t user, int64_t time, int64_t offset);

struct rows_query {
    int64_t user, from, to; /* from <= time < to */
    bool resume;            /* only what lies behind (after_time, after_offset) */
    int64_t after_time, after_offset;
    size_t limit;
};

/* Calls found for each row in order of (time, offset), `limit` at most; *more: there are others behind. The rows' partition
 * is not set. */
int rows_find(struct rows *rows, const struct rows_query *query,
              void (*found)(void *context, const struct history_row *row), void *context, bool *more,
              struct error *error);

/* Forgets rows whose time is before `before`, of `users` users at most, going on at *user (0 at first). 1: there are others
 * to look at, *user says from where; 0: that were all; negative: failure. Not while something waits to be written. */
int rows_expire(struct rows *rows, int64_t before, int users, int64_t *user, struct error *error);

/* Removes a user's rows that arrived at Kafka before `before`, looking at `limit` rows at most from *at on (zeros at first); adds how many
 * went to *gone. 1: there are others to look at, *at says from where; 0: that were all; negative: failure. Not while something waits to be
 * written. */
struct rows_place {
    int64_t time, offset;
};
int rows_wipe(struct rows *rows, int64_t user, int64_t before, size_t limit, struct rows_place *at, int64_t *gone,
              struct error *error);

/* Which records of a partition of `erasures` are done: those before these offsets, in the store and in the files. Zeros: none. */
struct rows_wiped {
    int64_t store, files;
};
int rows_wiped_mark(struct rows *rows, int32_t partition, struct rows_wiped *mark, struct error *error);
int rows_put_wiped_mark(struct rows *rows, int32_t partition, struct rows_wiped mark,
                        struct error *error); /* writes it */

uint64_t rows_bytes(struct rows *rows); /* on disk */
