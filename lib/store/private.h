/* Shared by lib/store's files; the only header that includes rocksdb/c.h. */
#pragma once

#include <rocksdb/c.h>

#include "store/store.h"

enum { STORE_TABLE = 64 << 20, STORE_SMALL_TABLE = 8 << 20 }; /* a table's size: what merging rewrites at a time */
enum { STORE_WRITE_BUFFER_MIN = 128 << 10 };                  /* of a family's memtable */

struct store_family {
    char *name;
    rocksdb_column_family_handle_t *handle;
};

struct store {
    rocksdb_t *db;
    rocksdb_options_t *options; /* of the database and of every family but */
    bool merged_late;           /* every family is one of */
    rocksdb_options_t *late;    /* those merged late, and */
    rocksdb_options_t *cold;    /* those compressed harder */
    rocksdb_cache_t *cache;
    rocksdb_readoptions_t *read, *scan;
    rocksdb_writeoptions_t *write, *write_sync;
    rocksdb_flushoptions_t *flush;
    struct store_family **families; /* pointers, as callers keep them */
    size_t family_count;
    size_t cache_bytes, memtable_bytes, table_bytes;
    rocksdb_perfcontext_t *counts; /* of the thread that opened it */
    size_t unchecked_bytes;        /* written since the memtables were last measured */
};

/* options.c: how RocksDB is set up. First memory_bytes is shared out to cache and memtables. */
struct store_options store_options_share(const struct store_options *wanted);
rocksdb_options_t *store_options_make(const struct store_options *shared, rocksdb_cache_t *cache);
rocksdb_options_t *store_options_make_late(const rocksdb_options_t *options); /* the same, for families merged late */

/* The same, for families compressed harder. */
rocksdb_options_t *store_options_make_cold(const rocksdb_options_t *options, const struct store_options *shared,
                                           rocksdb_cache_t *cache);

/* The rows of the batch, as RocksDB takes them. */
rocksdb_writebatch_t *store_batch_rows(struct store_batch *batch);

/* RocksDB's message as an error; frees it. 0 when there is none. */
int store_failed(char *message, const char *doing, struct error *error);
