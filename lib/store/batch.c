#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/private.h"

/* A put or a deletion that waits to be sorted. Keys lie close together, and values elsewhere: sorting looks at keys alone. */
struct row {
    struct store_family *family;
    size_t value;       /* where it begins */
    size_t at;          /* where the key begins, */
    const uint8_t *key; /* which is known when all are there */
    uint32_t key_size, value_size;
    uint32_t number; /* of two of the same key the higher one counts */
    bool deletes;
};

struct store_batch {
    rocksdb_writebatch_t *batch;
    bool sorted;
    struct buffer keys, values;
    struct row *rows;
    size_t count, capacity;
};

static struct store_batch *batch_new(bool sorted) {
    return MEM_NEW(&(struct store_batch){.batch = rocksdb_writebatch_create(), .sorted = sorted});
}

struct store_batch *store_batch_new(void) {
    return batch_new(false);
}

struct store_batch *store_batch_new_sorted(void) {
    return batch_new(true);
}

void store_batch_free(struct store_batch *batch) {
    if (!batch) return;
    rocksdb_writebatch_destroy(batch->batch);
    buffer_free(&batch->keys);
    buffer_free(&batch->values);
    free(batch->rows);
    free(batch);
}

static void rows_clear(struct store_batch *batch) {
    buffer_clear(&batch->keys);
    buffer_clear(&batch->values);
    batch->count = 0;
}

void store_batch_clear(struct store_batch *batch) {
    rocksdb_writebatch_clear(batch->batch);
    rows_clear(batch);
}

size_t store_batch_count(const struct store_batch *batch) {
    return (size_t)rocksdb_writebatch_count(batch->batch) + batch->count;
}

static void add_row(struct store_batch *batch, const struct row *row, const void *key, const void *value) {
    MEM_ROOM(batch->rows, batch->count, batch->capacity);
    struct row *added = &batch->rows[batch->count];
    *added = *row;
    added->at = batch->keys.size;
    added->value = batch->values.size;
    added->number = (uint32_t)batch->count++;
    buffer_append(&batch->keys, key, row->key_size);
    buffer_append(&batch->values, value, row->value_size);
}

void store_batch_put(struct store_batch *batch, struct store_family *family, const void *key, size_t key_size,
                     const void *value, size_t value_size) {
    const struct row row = {.family = family, .key_size = (uint32_t)key_size, .value_size = (uint32_t)value_size};
    if (batch->sorted)
        add_row(batch, &row, key, value);
    else
        rocksdb_writebatch_put_cf(batch->batch, family->handle, key, key_size, value, value_size);
}

void store_batch_delete(struct store_batch *batch, struct store_family *family, const void *key, size_t key_size) {
    const struct row row = {.family = family, .key_size = (uint32_t)key_size, .deletes = true};
    if (batch->sorted)
        add_row(batch, &row, key, NULL);
    else
        rocksdb_writebatch_delete_cf(batch->batch, family->handle, key, key_size);
}

void store_batch_delete_range(struct store_batch *batch, struct store_family *family, const void *from,
                              size_t from_size, const void *to, size_t to_size) {
    rocksdb_writebatch_delete_range_cf(batch->batch, family->handle, from, from_size, to, to_size);
}

/* ---- sorting ---- */

static int by_key(const void *a, const void *b) {
    const struct row *x = a, *y = b;
    if (x->family != y->family) return x->family < y->family ? -1 : 1;
    uint32_t size = x->key_size < y->key_size ? x->key_size : y->key_size;
    int order = memcmp(x->key, y->key, size);
    if (order) return order;
    return (x->key_size > y->key_size) - (x->key_size < y->key_size);
}

static int by_key_and_number(const void *a, const void *b) {
    const struct row *x = a, *y = b;
    int order = by_key(a, b);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

rocksdb_writebatch_t *store_batch_rows(struct store_batch *batch) {
    for (size_t i = 0; i < batch->count; i++) batch->rows[i].key = batch->keys.data + batch->rows[i].at;
    if (batch->count) qsort(batch->rows, batch->count, sizeof *batch->rows, by_key_and_number);
    for (size_t i = 0; i < batch->count; i++) {
        const struct row *row = &batch->rows[i];
        const char *key = (const char *)row->key, *values = (const char *)batch->values.data;
        if (i + 1 < batch->count && by_key(row, row + 1) == 0) continue; // written again since
        if (row->deletes)
            rocksdb_writebatch_delete_cf(batch->batch, row->family->handle, key, row->key_size);
        else
            rocksdb_writebatch_put_cf(batch->batch, row->family->handle, key, row->key_size,
                                      row->value_size ? values + row->value : "", row->value_size);
    }
    rows_clear(batch);
    return batch->batch;
}
