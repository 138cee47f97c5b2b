#include <stdint.h>

#include "store/private.h"

enum {
    CACHE_DEFAULT = 64 << 20,
    MEMTABLE_DEFAULT = 32 << 20,
    ARENA_BLOCK = 32 << 10,
    WRITE_BUFFER_SHARE = 4, /* of all memtables that one may fill before it is written out */
    BLOOM_BITS = 10,
    LEVEL_FATAL = 4,  /* RocksDB's InfoLogLevel */
    LATE_TABLES = 32, /* of a family merged late, before they are; the limits at which writers wait are far beyond */
    LATE_LEVEL = 256 << 20,
    COLD_BLOCK = 16 << 10,
    ZSTD_WINDOW = -14, /* RocksDB's default; zstd has no use for it */
    COLD_EFFORT = 6,   /* zstd's level */
    COLD_DICTIONARY = 16 << 10,
    COLD_TRAINING = 1 << 20,
    COLD_BUFFER = 4 << 20, /* of a table that waits for its dictionary */
    MEMTABLE_SHARE = 20,   /* of memory_bytes, in percent */
    CACHE_SHARE = 70, /* the same, less what nothing counts: open files, buffers of the log and of compactions, and */
    UNCOUNTED = 6 << 20, /* the allocator's gaps (measured: bench graph) */
};

struct store_options store_options_share(const struct store_options *wanted) {
    struct store_options options = *wanted;
    if (!options.cache_bytes) options.cache_bytes = CACHE_DEFAULT;
    if (!options.memtable_bytes) options.memtable_bytes = MEMTABLE_DEFAULT;
    if (!options.memory_bytes) return options;
    options.memtable_bytes = options.memory_bytes / 100 * MEMTABLE_SHARE;
    size_t cache = options.memory_bytes / 100 * CACHE_SHARE, least = options.memory_bytes / 4;
    options.cache_bytes = cache > UNCOUNTED + least ? cache - UNCOUNTED : least;
    return options;
}

/* RocksDB keeps a text file LOG beside its tables. On a full disk it writes there once more after a write there has failed, which
 * the assertions of Debian's build take for a bug: they abort the process. So the file stays empty: everything is below that
 * level, headers too, as long as the file is not limited in size. Errors carry all that RocksDB would say there of a failure. */
static void leave_text_log_empty(rocksdb_options_t *options) {
    rocksdb_options_set_info_log_level(options, LEVEL_FATAL);
    rocksdb_options_set_keep_log_file_num(options, 2);
}

/* Sets what the C API has no function for: it takes the text form. Without it everything works as well. */
static void set_by_text(rocksdb_options_t *options, const char *text) {
    rocksdb_options_t *base = rocksdb_options_create_copy(options);
    char *failure = NULL;
    rocksdb_get_options_from_string(base, text, options, &failure);
    rocksdb_free(failure);
    rocksdb_options_destroy(base);
}

static void set_memtables(rocksdb_options_t *options, const struct store_options *shared) {
    // A filter, too: most keys that are looked up are not there, and walking a memtable to find that out is half the cost of a look-up.
    // A family takes the whole filter for its first key. A process has hundreds of families, so none can be a large share of a buffer, or
    // the filters alone fill the limit, and memtables that hold nearly nothing are written out all the time.
    if (shared->point_lookups)
        set_by_text(options, "memtable_whole_key_filtering=true;memtable_prefix_bloom_size_ratio=0.001");
    // A key's place is sought from that of the last key with the same first byte on, not from the top of the memtable: near in a sorted
    // batch.
    if (shared->sorted_batches)
        set_by_text(options, "memtable_insert_with_hint_prefix_extractor=rocksdb.FixedPrefix.1");
}

/* Makes the options of tables. block_bytes 0: RocksDB's 4 KiB. */
static void set_tables(rocksdb_options_t *options, const struct store_options *shared, rocksdb_cache_t *cache,
                       size_t block_bytes) {
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_block_cache(table, cache);
    // Index and filters count in the cache. In pieces of a block's size, as the strict cache fails a read whose block
    // has no room, and a whole filter of a large file is bigger than a shard of a small cache.
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
    rocksdb_block_based_options_set_index_type(table, rocksdb_block_based_table_index_type_two_level_index_search);
    rocksdb_block_based_options_set_format_version(table, 5);
    if (shared->point_lookups) {
        rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(BLOOM_BITS));
        rocksdb_block_based_options_set_whole_key_filtering(table, 1);
        rocksdb_block_based_options_set_partition_filters(table, 1);
    }
    if (block_bytes) rocksdb_block_based_options_set_block_size(table, block_bytes);
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_block_based_options_destroy(table);
}

rocksdb_options_t *store_options_make(const struct store_options *shared, rocksdb_cache_t *cache) {
    size_t memtable_bytes = shared->memtable_bytes;
    rocksdb_options_t *options = rocksdb_options_create();
    set_tables(options, shared, cache, 0);
    size_t buffer = memtable_bytes / WRITE_BUFFER_SHARE;
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_options_set_write_buffer_size(options, buffer > STORE_WRITE_BUFFER_MIN ? buffer : STORE_WRITE_BUFFER_MIN);
    rocksdb_options_set_max_write_buffer_number(options, 2);
    // A family takes this for its first key; RocksDB's eighth of a buffer, times many families, would be most of the
    // limit.
    rocksdb_options_set_arena_block_size(options, ARENA_BLOCK);
    rocksdb_options_set_db_write_buffer_size(options, memtable_bytes);
    // A family that is hardly written keeps the log of all others alive until it is written out.
    rocksdb_options_set_max_total_wal_size(options, 4 * memtable_bytes);
    rocksdb_options_set_compression(options, rocksdb_lz4_compression);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1);
    if (shared->memory_bytes) {
        // Small tables and levels, as a memtable of scattered keys is merged with whole tables of the level below: changes of
        // friend lists cost 0.6 of the CPU that they do with RocksDB's 64 and 256 MB.
        rocksdb_options_set_target_file_size_base(options, STORE_SMALL_TABLE);
        rocksdb_options_set_max_bytes_for_level_base(options, memtable_bytes > STORE_SMALL_TABLE ? memtable_bytes
                                                                                                 : STORE_SMALL_TABLE);
    }
    rocksdb_options_set_max_background_jobs(options, 2);
    rocksdb_options_set_max_open_files(options, 512);
    rocksdb_options_set_bytes_per_sync(options, 1 << 20);
    rocksdb_options_set_stats_dump_period_sec(options, 0);
    leave_text_log_empty(options);
    set_memtables(options, shared);
    return options;
}

rocksdb_options_t *store_options_make_late(const rocksdb_options_t *options) {
    rocksdb_options_t *late = rocksdb_options_create_copy((rocksdb_options_t *)(uintptr_t)options);
    rocksdb_options_set_level0_file_num_compaction_trigger(late, LATE_TABLES);
    rocksdb_options_set_level0_slowdown_writes_trigger(late, LATE_TABLES * 4);
    rocksdb_options_set_level0_stop_writes_trigger(late, LATE_TABLES * 8);
    rocksdb_options_set_max_bytes_for_level_base(late, LATE_LEVEL);
    return late;
}

/* Cold families have a dictionary: short texts repeat each other much, and themselves little. */
rocksdb_options_t *store_options_make_cold(const rocksdb_options_t *options, const struct store_options *shared,
                                           rocksdb_cache_t *cache) {
    rocksdb_options_t *cold = rocksdb_options_create_copy((rocksdb_options_t *)(uintptr_t)options);
    set_tables(cold, shared, cache, COLD_BLOCK);
    rocksdb_options_set_compression(cold, rocksdb_zstd_compression);
    rocksdb_options_set_compression_options(cold, ZSTD_WINDOW, COLD_EFFORT, 0, COLD_DICTIONARY);
    rocksdb_options_set_compression_options_zstd_max_train_bytes(cold, COLD_TRAINING);
    rocksdb_options_set_compression_options_max_dict_buffer_bytes(cold, COLD_BUFFER);
    return cold;
}
