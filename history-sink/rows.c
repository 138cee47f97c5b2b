#include "history-sink/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "json/details.h"
#include "store/store.h"

enum { PARTITION_KEY_SIZE = 4, MARK_SIZE = 8, WIPED_SIZE = 16 };

struct rows {
    struct store *store;
    struct store_family *rows, *partitions, *wiped;
    struct store_batch *batch;
    struct buffer value;
};

int rows_open(const char *path, size_t cache_bytes, size_t memtable_bytes, struct rows **out, struct error *error) {
    // Queries walk ranges; nothing is looked up by a whole key. The store is written all the time, and read little.
    const struct store_options options = {
        .cache_bytes = cache_bytes, .memtable_bytes = memtable_bytes, .point_lookups = false, .merged_late = true};
    struct rows *rows = MEM_NEW(&(struct rows){
        .store = NULL, .rows = NULL, .partitions = NULL, .wiped = NULL, .batch = NULL, .value = {.data = NULL}});
    int code = store_open(path, &options, &rows->store, error);
    if (code == 0) code = store_family(rows->store, "rows", &rows->rows, error);
    if (code == 0) code = store_family(rows->store, "partitions", &rows->partitions, error);
    if (code == 0) code = store_family(rows->store, "wiped", &rows->wiped, error);
    if (code) {
        rows_close(rows);
        return code;
    }
    rows->batch = store_batch_new_sorted();
    *out = rows;
    return 0;
}

void rows_close(struct rows *rows) {
    if (!rows) return;
    store_batch_free(rows->batch);
    store_close(rows->store);
    buffer_free(&rows->value);
    free(rows);
}

void rows_key(uint8_t key[ROWS_KEY_SIZE], int64_t user, int64_t time, int64_t offset) {
    bytes_put_be64(key, (uint64_t)user);
    bytes_put_be64(key + 8, (uint64_t)time);
    bytes_put_be64(key + 16, (uint64_t)offset);
}

static void put_details(uint8_t *at, const struct report_details *details) {
    bytes_put_be32(at, (uint32_t)details->battery);
    bytes_put_be32(at + 4, (uint32_t)details->charging);
    bytes_put_be32(at + 8, (uint32_t)details->speed);
    bytes_put_be32(at + 12, (uint32_t)details->course);
    bytes_put_be32(at + 16, (uint32_t)details->vertical_accuracy);
    bytes_put_be32(at + 20, (uint32_t)details->activity);
}

static struct report_details read_details(const uint8_t *at) {
    return (struct report_details){
        .battery = (int32_t)bytes_get_be32(at),
        .charging = (int32_t)bytes_get_be32(at + 4),
        .speed = (int32_t)bytes_get_be32(at + 8),
        .course = (int32_t)bytes_get_be32(at + 12),
        .vertical_accuracy = (int32_t)bytes_get_be32(at + 16),
        .activity = (int32_t)bytes_get_be32(at + 20),
    };
}

void rows_put(struct rows *rows, const struct history_row *row) {
    uint8_t key[ROWS_KEY_SIZE], value[ROWS_VALUE_SIZE + ROWS_DETAILS_SIZE];
    const struct report_details details = {DETAILS_OF(row)};
    bool given = details_given(&details);
    rows_key(key, row->user, row->time, row->offset);
    bytes_put_be32(value, (uint32_t)row->lat);
    bytes_put_be32(value + 4, (uint32_t)row->lng);
    bytes_put_be32(value + 8, (uint32_t)row->accuracy);
    bytes_put_be64(value + 12, (uint64_t)row->received);
    if (given) put_details(value + ROWS_VALUE_SIZE, &details);
    store_batch_put(rows->batch, rows->rows, key, sizeof key, value,
                    given ? ROWS_VALUE_SIZE + ROWS_DETAILS_SIZE : ROWS_VALUE_SIZE);
}

void rows_put_mark(struct rows *rows, int32_t partition, int64_t next) {
    uint8_t key[PARTITION_KEY_SIZE], value[MARK_SIZE];
    bytes_put_be32(key, (uint32_t)partition);
    bytes_put_be64(value, (uint64_t)next);
    store_batch_put(rows->batch, rows->partitions, key, sizeof key, value, sizeof value);
}

size_t rows_waiting(const struct rows *rows) { return store_batch_count(rows->batch); }

int rows_write(struct rows *rows, struct error *error) {
    if (rows_waiting(rows) == 0) return 0;
    int code = store_write(rows->store, rows->batch, false, error);
    store_batch_clear(rows->batch);
    return code;
}

int rows_mark(struct rows *rows, int32_t partition, int64_t *next, struct error *error) {
    uint8_t key[PARTITION_KEY_SIZE];
    bytes_put_be32(key, (uint32_t)partition);
    int found = store_get(rows->store, rows->partitions, key, sizeof key, &rows->value, error);
    if (found < 0) return found;
    if (found && rows->value.size < MARK_SIZE)
        return error_set(error, -EBADMSG, "the store's entry of partition %d is malformed", partition);
    *next = found ? (int64_t)bytes_get_be64(rows->value.data) : 0;
    return 0;
}

static struct history_row read_row(const uint8_t *key, const uint8_t *value, size_t value_size) {
    struct report_details details = {DETAILS_NONE};
    if (value_size > ROWS_VALUE_SIZE) details = read_details(value + ROWS_VALUE_SIZE);
    return (struct history_row){
        .user = (int64_t)bytes_get_be64(key),
        .lat = (int32_t)bytes_get_be32(value),
        .lng = (int32_t)bytes_get_be32(value + 4),
        .time = (int64_t)bytes_get_be64(key + 8),
        .accuracy = (int32_t)bytes_get_be32(value + 8),
        .received = (int64_t)bytes_get_be64(value + 12),
        .partition = -1,
        .offset = (int64_t)bytes_get_be64(key + 16),
        DETAILS_OF(&details),
    };
}

/* The row at the cursor; false: the query's end. */
static bool row_at(const struct store_cursor *cursor, const struct rows_query *query, struct history_row *row) {
    size_t key_size, value_size;
    if (!store_cursor_valid(cursor)) return false;
    const uint8_t *key = store_cursor_key(cursor, &key_size);
    const uint8_t *value = store_cursor_value(cursor, &value_size);
    bool has_details = value_size == ROWS_VALUE_SIZE + ROWS_DETAILS_SIZE;
    if (key_size != ROWS_KEY_SIZE || (value_size != ROWS_VALUE_SIZE && !has_details)) return false;
    int64_t user = (int64_t)bytes_get_be64(key), time = (int64_t)bytes_get_be64(key + 8);
    // Times below 0 sort behind all others: the end, as `from` is never below 0.
    if (user != query->user || time < 0 || time >= query->to) return false;
    *row = read_row(key, value, value_size);
    return true;
}

int rows_find(struct rows *rows, const struct rows_query *query,
              void (*found)(void *context, const struct history_row *row), void *context, bool *more,
              struct error *error) {
    uint8_t key[ROWS_KEY_SIZE];
    struct history_row row;
    size_t count = 0;
    struct store_cursor *cursor = store_cursor_new(rows->store, rows->rows);
    bool behind = query->resume && query->after_time >= query->from;
    rows_key(key, query->user, behind ? query->after_time : query->from, behind ? query->after_offset : 0);
    store_cursor_seek(cursor, key, sizeof key);
    bool some = row_at(cursor, query, &row);
    if (some && behind && row.time == query->after_time && row.offset == query->after_offset) {
        store_cursor_next(cursor);
        some = row_at(cursor, query, &row);
    }
    for (; some && count < query->limit; count++) {
        found(context, &row);
        store_cursor_next(cursor);
        some = row_at(cursor, query, &row);
    }
    int code = store_cursor_error(cursor, error);
    store_cursor_free(cursor);
    if (code == 0) *more = some;
    return code;
}

int rows_expire(struct rows *rows, int64_t before, int users, int64_t *user, struct error *error) {
    uint8_t from[ROWS_KEY_SIZE], to[ROWS_KEY_SIZE];
    size_t size;
    bool more = true;
    struct store_cursor *cursor = store_cursor_new(rows->store, rows->rows);
    for (int i = 0; i < users && more; i++) {
        rows_key(from, *user, 0, 0);
        store_cursor_seek(cursor, from, sizeof from);
        if (!store_cursor_valid(cursor)) more = false;
        if (!more) break;
        const uint8_t *key = store_cursor_key(cursor, &size);
        int64_t found = (int64_t)bytes_get_be64(key);
        if ((int64_t)bytes_get_be64(key + 8) < before) {
            rows_key(from, found, 0, 0);
            rows_key(to, found, before, 0);
            store_batch_delete_range(rows->batch, rows->rows, from, sizeof from, to, sizeof to);
        }
        more = found >= 0 && found < INT64_MAX;
        if (more) *user = found + 1;
    }
    int code = store_cursor_error(cursor, error);
    store_cursor_free(cursor);
    if (code == 0)
        code = rows_write(rows, error);
    else
        store_batch_clear(rows->batch);
    return code ? code : more;
}

/* Rows that go and follow each other go by one range. */
struct wipe_run {
    uint8_t from[ROWS_KEY_SIZE];
    bool some;
};

static void run_end(struct rows *rows, struct wipe_run *run, const uint8_t to[ROWS_KEY_SIZE]) {
    if (run->some) store_batch_delete_range(rows->batch, rows->rows, run->from, ROWS_KEY_SIZE, to, ROWS_KEY_SIZE);
    run->some = false;
}

int rows_wipe(struct rows *rows, int64_t user, int64_t before, size_t limit, struct rows_place *at, int64_t *gone,
              struct error *error) {
    const struct rows_query all = {.user = user, .from = 0, .to = INT64_MAX};
    uint8_t key[ROWS_KEY_SIZE];
    struct wipe_run run = {.some = false};
    struct history_row row;
    int64_t count = 0;
    bool some = true;
    struct store_cursor *cursor = store_cursor_new(rows->store, rows->rows);
    rows_key(key, user, at->time, at->offset);
    store_cursor_seek(cursor, key, sizeof key);
    for (size_t i = 0; (some = row_at(cursor, &all, &row)) && i < limit; i++) {
        rows_key(key, user, row.time, row.offset);
        if (row.received >= before) {
            run_end(rows, &run, key);
        } else {
            if (!run.some) memcpy(run.from, key, sizeof key);
            run.some = true;
            count++;
        }
        *at = (struct rows_place){.time = row.time, .offset = row.offset + 1};
        store_cursor_next(cursor);
    }
    rows_key(key, user, at->time, at->offset);
    run_end(rows, &run, key);
    int code = store_cursor_error(cursor, error);
    store_cursor_free(cursor);
    if (code)
        store_batch_clear(rows->batch);
    else
        code = rows_write(rows, error);
    if (code) return code;
    *gone += count;
    return some;
}

int rows_wiped_mark(struct rows *rows, int32_t partition, struct rows_wiped *mark, struct error *error) {
    uint8_t key[PARTITION_KEY_SIZE];
    bytes_put_be32(key, (uint32_t)partition);
    int found = store_get(rows->store, rows->wiped, key, sizeof key, &rows->value, error);
    if (found < 0) return found;
    if (found && rows->value.size != WIPED_SIZE)
        return error_set(error, -EBADMSG, "the store's mark of erasures of partition %d is malformed", partition);
    *mark = (struct rows_wiped){.store = 0, .files = 0};
    if (!found) return 0;
    mark->store = (int64_t)bytes_get_be64(rows->value.data);
    mark->files = (int64_t)bytes_get_be64(rows->value.data + MARK_SIZE);
    return 0;
}

int rows_put_wiped_mark(struct rows *rows, int32_t partition, struct rows_wiped mark, struct error *error) {
    uint8_t key[PARTITION_KEY_SIZE], value[WIPED_SIZE];
    bytes_put_be32(key, (uint32_t)partition);
    bytes_put_be64(value, (uint64_t)mark.store);
    bytes_put_be64(value + MARK_SIZE, (uint64_t)mark.files);
    store_batch_put(rows->batch, rows->wiped, key, sizeof key, value, sizeof value);
    return rows_write(rows, error);
}

uint64_t rows_bytes(struct rows *rows) { return store_usage(rows->store).sst_files; }
