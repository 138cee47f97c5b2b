#include "comments/threads_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"

enum { BESIDE = 64 /* bytes of a row that the allocator and the map take */ };

struct threads_rows {
    struct map *rows; /* id -> struct kept_row */
    struct kept_row *newest, *oldest;
    size_t bytes, bytes_max;
};

struct threads_rows *threads_rows_new(size_t bytes) {
    return MEM_NEW(&(struct threads_rows){.rows = map_new(), .bytes_max = bytes});
}

void threads_rows_free(struct threads_rows *rows) {
    if (!rows) return;
    threads_rows_clear(rows);
    map_free(rows->rows);
    free(rows);
}

size_t threads_rows_bytes(const struct threads_rows *rows) { return rows->bytes; }

void threads_rows_give(struct kept_row *row) {
    if (row && --row->references == 0) free(row);
}

/* ---- the list ---- */

static void link_newest(struct threads_rows *rows, struct kept_row *row) {
    row->newer = NULL;
    row->older = rows->newest;
    if (rows->newest) rows->newest->newer = row;
    rows->newest = row;
    if (!rows->oldest) rows->oldest = row;
}

static void unlink_row(struct threads_rows *rows, struct kept_row *row) {
    if (row->newer)
        row->newer->older = row->older;
    else
        rows->newest = row->older;
    if (row->older)
        row->older->newer = row->newer;
    else
        rows->oldest = row->newer;
}

static size_t bytes_of(const struct kept_row *row) { return sizeof *row + row->size + BESIDE; }

/* A page that uses the row may go on. */
static void remove_row(struct threads_rows *rows, struct kept_row *row) {
    unlink_row(rows, row);
    map_remove(rows->rows, (uint64_t)row->id, NULL);
    rows->bytes -= bytes_of(row);
    threads_rows_give(row);
}

void threads_rows_clear(struct threads_rows *rows) {
    while (rows->oldest) remove_row(rows, rows->oldest);
}

void threads_rows_drop(struct threads_rows *rows, int64_t id) {
    struct kept_row *row = map_pointer(rows->rows, (uint64_t)id);
    if (row) remove_row(rows, row);
}

/* ---- rows ---- */

struct kept_row *threads_rows_get(struct threads_rows *rows, const struct event_text *subject, int64_t id) {
    struct kept_row *row = map_pointer(rows->rows, (uint64_t)id);
    if (!row || row->subject != hash_murmur2(subject->data, subject->size)) return NULL;
    if (row != rows->newest) {
        unlink_row(rows, row);
        link_newest(rows, row);
    }
    row->references++;
    return row;
}

struct kept_row *threads_rows_put(struct threads_rows *rows, const struct event_text *subject, int64_t id,
                                  const struct comment *comment, const struct event_text *text) {
    struct kept_row *row = mem_alloc(sizeof *row + text->size);
    *row = (struct kept_row){.references = 2,
                             .id = id,
                             .subject = hash_murmur2(subject->data, subject->size),
                             .comment = *comment,
                             .size = text->size};
    if (text->size) memcpy(row->text, text->data, text->size);
    threads_rows_drop(rows, id); // of another subject
    *map_put(rows->rows, (uint64_t)id, NULL) = (uint64_t)(uintptr_t)row;
    link_newest(rows, row);
    rows->bytes += bytes_of(row);
    while (rows->bytes > rows->bytes_max) remove_row(rows, rows->oldest);
    return row;
}
