#include <stdlib.h>

#include "base/mem.h"
#include "store/private.h"

struct store_cursor {
    rocksdb_iterator_t *iterator;
};

struct store_cursor *store_cursor_new(struct store *store, struct store_family *family) {
    return MEM_NEW(
        &(struct store_cursor){.iterator = rocksdb_create_iterator_cf(store->db, store->scan, family->handle)});
}

void store_cursor_free(struct store_cursor *cursor) {
    if (!cursor) return;
    rocksdb_iter_destroy(cursor->iterator);
    free(cursor);
}

void store_cursor_seek(struct store_cursor *cursor, const void *key, size_t key_size) {
    rocksdb_iter_seek(cursor->iterator, key, key_size);
}

bool store_cursor_valid(const struct store_cursor *cursor) { return rocksdb_iter_valid(cursor->iterator); }

void store_cursor_next(struct store_cursor *cursor) { rocksdb_iter_next(cursor->iterator); }

const uint8_t *store_cursor_key(const struct store_cursor *cursor, size_t *size) {
    return (const uint8_t *)rocksdb_iter_key(cursor->iterator, size);
}

const uint8_t *store_cursor_value(const struct store_cursor *cursor, size_t *size) {
    return (const uint8_t *)rocksdb_iter_value(cursor->iterator, size);
}

int store_cursor_error(const struct store_cursor *cursor, struct error *error) {
    char *failure = NULL;
    rocksdb_iter_get_error(cursor->iterator, &failure);
    return store_failed(failure, "walking the store", error);
}
