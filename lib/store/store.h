/* A RocksDB database on this machine's disk: families of sorted keys, atomic batches. The only door to rocksdb/c.h.
 *
 * A family is a column family. Reads and writes: any one thread at a time. Memory is bounded: one strict LRU block cache
 * (index and filter blocks in it), small write buffers, and a throttle that flushes when all memtables together pass their
 * share.
 *
 * A full disk is -ENOSPC, with the file's name in the error. RocksDB then refuses all further writes, also when there is room
 * again: the store must be closed and opened anew. Every write that succeeded before is still there.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct store;
struct store_family;
struct store_batch;
struct store_cursor;

struct store_options {
    size_t memory_bytes;   /* of everything (options.c says how it is shared out); 0: the sum of the next two */
    size_t cache_bytes;    /* block cache; 0: 64 MiB */
    size_t memtable_bytes; /* of all families together; 0: 32 MiB */
    bool point_lookups;    /* bloom filters on whole keys */
    /* Most batches are of store_batch_new_sorted, and keys that lie near each other begin with the same byte. A range that is deleted
     * must begin with another byte than any key: RocksDB 7.8 takes the place where it last wrote a key for one among its ranges. */
    bool sorted_batches;
    bool merged_late; /* all families are as STORE_LATE describes it, whatever their names */
};

/* Creates directories. -EBUSY: the store is open, here or in another process; -ENOSPC: the disk is full; -EIO: the disk or its content
 * is damaged. */
int store_open(const char *path, const struct store_options *options, struct store **store, struct error *error);
void store_close(struct store *store); /* families die with it; NULL is fine */

/* Opens or creates a family; the store owns the pointer, which stays the same for a name. A name that begins with STORE_LATE is for a
 * family that is written much, hardly read and dropped by ranges: RocksDB merges its tables late, so it rewrites a key less often,
 * and a look-up asks more tables. */
#define STORE_LATE "late-"
/* A name that begins with this is for values that are hardly read any more: they are compressed harder (zstd), in larger blocks. */
#define STORE_COLD "cold-"
int store_family(struct store *store, const char *name, struct store_family **family, struct error *error);
int store_family_drop(struct store *store, const char *name,
                      struct error *error); /* with all its keys; its pointer is dead; absent is fine */
bool store_family_exists(struct store *store, const char *name);

struct store_batch *store_batch_new(void);
/* One whose puts and deletions are written in the order of their keys, whatever order they came in; of those of the same key only the last
 * counts. A memtable takes many scattered keys faster that way. Ranges are deleted before all of them. */
struct store_batch *store_batch_new_sorted(void);
void store_batch_free(struct store_batch *batch);
void store_batch_clear(struct store_batch *batch);
size_t store_batch_count(const struct store_batch *batch);
void store_batch_put(struct store_batch *batch, struct store_family *family, const void *key, size_t key_size,
                     const void *value, size_t value_size);
void store_batch_delete(struct store_batch *batch, struct store_family *family, const void *key, size_t key_size);
void store_batch_delete_range(struct store_batch *batch, struct store_family *family, const void *from,
                              size_t from_size, const void *to, size_t to_size);
int store_write(struct store *store, struct store_batch *batch, bool sync,
                struct error *error); /* WAL always on; sync: fsync it */

/* Gives the space of a deleted range back to the disk: whole tables at once, the rest soon, by merging in the background. RocksDB by
 * itself would do that only after enough other writes (it still does for tables that were never merged). Takes as long as writing
 * out a memtable. `to` is not a key itself. */
int store_reclaim(struct store *store, struct store_family *family, const void *from, size_t from_size, const void *to,
                  size_t to_size, struct error *error);

/* 1: found (value replaced), 0: none, negative: failure. */
int store_get(struct store *store, struct store_family *family, const void *key, size_t key_size, struct buffer *value,
              struct error *error);

/* The same without a copy: valid until store_pin_release on the same pin. */
struct store_pin {
    const uint8_t *data;
    size_t size;
    void *handle;
};
int store_get_pinned(struct store *store, struct store_family *family, const void *key, size_t key_size,
                     struct store_pin *pin, struct error *error);
void store_pin_release(struct store_pin *pin);

/* Gets several keys of one size at once, which is cheaper than one by one. They stand one behind the other in `keys`, in rising order.
 * The pin of a missing key has no handle. 0, or a failure with nothing pinned. */
enum { STORE_MANY = 32 };
int store_get_many(struct store *store, struct store_family *family, const uint8_t *keys, size_t key_size, size_t count,
                   struct store_pin pins[STORE_MANY], struct error *error);

/* Walks keys in order within a family from a consistent snapshot. */
struct store_cursor *store_cursor_new(struct store *store, struct store_family *family);
void store_cursor_free(struct store_cursor *cursor);
void store_cursor_seek(struct store_cursor *cursor, const void *key, size_t key_size); /* first key >= */
bool store_cursor_valid(const struct store_cursor *cursor);
void store_cursor_next(struct store_cursor *cursor);
const uint8_t *store_cursor_key(const struct store_cursor *cursor, size_t *size);
const uint8_t *store_cursor_value(const struct store_cursor *cursor, size_t *size);
int store_cursor_error(const struct store_cursor *cursor, struct error *error);

/* A few sorted files outside of the store, written in rising order of keys, which a family then ingests whole: no log, no memtable,
 * no compaction. The files are `PATH-0.sst`, ... Any one thread; the store's thread may use the store meanwhile. */
struct store_file;
struct store_file *store_file_new(struct store *store, const char *path);
void store_file_free(struct store_file *file); /* deletes files that were not ingested; NULL is fine */
int store_file_put(struct store_file *file, const void *key, size_t key_size, const void *value, size_t value_size,
                   struct error *error);

/* Ingests all of the files or none, whatever crashes; they are synced. Their keys must not overlap, nor be in the family already. A
 * worker thread may call it while the store's own thread uses other families. */
int store_ingest(struct store *store, struct store_family *family, struct store_file *const *files, size_t count,
                 struct error *error);

/* Writes the whole store as it is now to a new path: complete or not at all. Links files where the filesystem allows it, else copies
 * them. It may take long: a worker thread may call it while the store is used, but not closed. */
int store_checkpoint(struct store *store, const char *path, struct error *error);

/* The progress of a copy, for threads other than the one that makes it; cancelled gives the copy up. Begins with zeros. */
struct store_progress {
    _Atomic uint64_t bytes, total;
    atomic_bool cancelled;
};

/* Clones a checkpoint, or any store that is not open, to a new path: by links or copies, complete or not at all. progress: may be NULL.
 * -ECANCELED: given up. Any thread. */
int store_clone(const char *from, const char *path, struct store_progress *progress, struct error *error);
bool store_exists(const char *path);
int store_remove(const char *path,
                 struct error *error); /* absent is fine; not an open store; a half-removed store no longer exists */

struct store_usage {
    uint64_t memtables, table_readers, block_cache, sst_files; /* bytes */
    uint64_t cache_hits,
        cache_misses; /* of the calling thread's reads, if it is the one that opened the store, ever since */
};
struct store_usage store_usage(struct store *store);
void store_reserve(struct store *store,
                   size_t bytes); /* that much less for the block cache, half at most, until called again */
int store_compact(struct store *store, struct store_family *family);
