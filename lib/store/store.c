#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/folders.h"
#include "base/mem.h"
#include "store/private.h"

/* Of all memtables, what may be written before they are measured again. */
enum { CHECK_SHARE = 16 };

enum { COMPACT_LAST_LEVEL_TOO = 3 }; /* RocksDB's kForceOptimized, which its C API has no name for */

static bool begins(const char *text, const char *with) { return !strncmp(text, with, strlen(with)); }

static bool ends(const char *text, const char *with) {
    size_t size = strlen(text), tail = strlen(with);
    return size >= tail && !strcmp(text + size - tail, with);
}

/* Open already: here, or in another process. RocksDB has only words for it, and "lock" is in "block" and in many a path. */
static bool is_busy(const char *message) {
    if (begins(message, "IO error: lock hold by current process")) return true;
    return begins(message, "IO error: While lock file: ") && ends(message, strerror(EAGAIN));
}

/* The message names the file, and ends with the system's words for the failure. */
static bool is_full(const char *message) { return ends(message, strerror(ENOSPC)) || ends(message, strerror(EDQUOT)); }

int store_failed(char *message, const char *doing, struct error *error) {
    if (!message) return 0;
    int code = is_busy(message) ? -EBUSY : is_full(message) ? -ENOSPC : -EIO;
    error_set(error, code, "%s: %s", doing, message);
    rocksdb_free(message);
    return code;
}

static rocksdb_options_t *family_options(const struct store *store, const char *name) {
    if (begins(name, STORE_COLD)) return store->cold;
    return store->merged_late || begins(name, STORE_LATE) ? store->late : store->options;
}

static struct store_family *family_add(struct store *store, const char *name, rocksdb_column_family_handle_t *handle) {
    struct store_family *family = MEM_NEW(&(struct store_family){.name = mem_string(name), .handle = handle});
    store->families = mem_resize(store->families, store->family_count + 1, sizeof(struct store_family *));
    store->families[store->family_count++] = family;
    return family;
}

/* RocksDB opens a database only with all families that are in it. */
static int open_all(struct store *store, const char *path, struct error *error) {
    size_t listed_count = 0;
    char *failure = NULL;
    char **listed = rocksdb_list_column_families(store->options, path, &listed_count, &failure);
    bool fresh = failure != NULL; // no database yet; any other trouble shows when it is opened
    if (failure) rocksdb_free(failure);
    failure = NULL;

    static const char *const DEFAULT[] = {"default"};
    const char *const *names = fresh ? DEFAULT : (const char *const *)listed;
    size_t count = fresh ? 1 : listed_count;
    const rocksdb_options_t **options = mem_alloc(count * sizeof(rocksdb_options_t *));
    rocksdb_column_family_handle_t **handles = mem_zero(count, sizeof(rocksdb_column_family_handle_t *));
    for (size_t i = 0; i < count; i++) options[i] = family_options(store, names[i]);
    store->db = rocksdb_open_column_families(store->options, path, (int)count, names, options, handles, &failure);
    int code = store_failed(failure, path, error);
    for (size_t i = 0; !code && i < count; i++) family_add(store, names[i], handles[i]);
    free(options);
    free(handles);
    rocksdb_list_column_families_destroy(listed, listed_count); // there is something to free after a failure, too
    return code;
}

int store_open(const char *path, const struct store_options *options, struct store **out, struct error *error) {
    struct store_options shared = store_options_share(options);
    int code = folders_make(path, error);
    if (code) return code;
    rocksdb_cache_t *cache = rocksdb_cache_create_lru_with_strict_capacity_limit(shared.cache_bytes);
    struct store *store = MEM_NEW(&(struct store){
        .options = store_options_make(&shared, cache),
        .cache = cache,
        .read = rocksdb_readoptions_create(),
        .scan = rocksdb_readoptions_create(),
        .merged_late = options->merged_late,
        .write = rocksdb_writeoptions_create(),
        .write_sync = rocksdb_writeoptions_create(),
        .flush = rocksdb_flushoptions_create(),
        .cache_bytes = shared.cache_bytes,
        .memtable_bytes = shared.memtable_bytes,
        .table_bytes = options->memory_bytes ? STORE_SMALL_TABLE : STORE_TABLE,
        .counts = rocksdb_perfcontext_create(),
    });
    store->late = store_options_make_late(store->options);
    store->cold = store_options_make_cold(store->options, &shared, cache);
    rocksdb_set_perf_level(rocksdb_enable_count);
    // A walk through a family should not push out what point lookups need.
    rocksdb_readoptions_set_fill_cache(store->scan, 0);
    rocksdb_writeoptions_set_sync(store->write_sync, 1);
    rocksdb_flushoptions_set_wait(store->flush, 1);
    code = open_all(store, path, error);
    if (code) {
        store_close(store);
        return code;
    }
    *out = store;
    return 0;
}

static void family_free(struct store_family *family) {
    rocksdb_column_family_handle_destroy(family->handle);
    free(family->name);
    free(family);
}

void store_close(struct store *store) {
    if (!store) return;
    for (size_t i = 0; i < store->family_count; i++) family_free(store->families[i]);
    free(store->families);
    if (store->db) rocksdb_close(store->db);
    rocksdb_perfcontext_destroy(store->counts);
    rocksdb_flushoptions_destroy(store->flush);
    rocksdb_writeoptions_destroy(store->write_sync);
    rocksdb_writeoptions_destroy(store->write);
    rocksdb_readoptions_destroy(store->scan);
    rocksdb_readoptions_destroy(store->read);
    rocksdb_options_destroy(store->options);
    rocksdb_options_destroy(store->late);
    rocksdb_options_destroy(store->cold);
    rocksdb_cache_destroy(store->cache);
    free(store);
}

/* family_count when there is none. */
static size_t family_index(const struct store *store, const char *name) {
    size_t i = 0;
    while (i < store->family_count && strcmp(store->families[i]->name, name)) i++;
    return i;
}

bool store_family_exists(struct store *store, const char *name) {
    return family_index(store, name) < store->family_count;
}

int store_family(struct store *store, const char *name, struct store_family **family, struct error *error) {
    size_t index = family_index(store, name);
    if (index < store->family_count) {
        *family = store->families[index];
        return 0;
    }
    char *failure = NULL;
    rocksdb_column_family_handle_t *handle =
        rocksdb_create_column_family(store->db, family_options(store, name), name, &failure);
    int code = store_failed(failure, name, error);
    if (code) {
        rocksdb_column_family_handle_destroy(handle); // there is one after a failure, too
        return code;
    }
    *family = family_add(store, name, handle);
    return 0;
}

int store_family_drop(struct store *store, const char *name, struct error *error) {
    size_t index = family_index(store, name);
    if (index == store->family_count) return 0;
    char *failure = NULL;
    rocksdb_drop_column_family(store->db, store->families[index]->handle, &failure);
    int code = store_failed(failure, name, error);
    if (code) return code;
    family_free(store->families[index]);
    store->families[index] = store->families[--store->family_count];
    return 0;
}

static uint64_t family_property(const struct store *store, size_t index, const char *property) {
    uint64_t value = 0;
    return rocksdb_property_int_cf(store->db, store->families[index]->handle, property, &value) ? 0 : value;
}

static uint64_t total_property(const struct store *store, const char *property) {
    uint64_t total = 0;
    for (size_t i = 0; i < store->family_count; i++) total += family_property(store, i, property);
    return total;
}

/* RocksDB's own limit on all memtables starts flushes but waits for none, and many families outrun it (8 to 18 times
 * the limit was seen). So the writer waits: the largest are written out until the rest fits. */
static int throttle(struct store *store, struct error *error) {
    store->unchecked_bytes = 0;
    // "cur": without those written out already that a cursor still pins, which no flush would make smaller.
    while (total_property(store, "rocksdb.cur-size-all-mem-tables") > store->memtable_bytes) {
        size_t largest = 0;
        uint64_t most = 0;
        for (size_t i = 0; i < store->family_count; i++) {
            uint64_t size = family_property(store, i, "rocksdb.cur-size-all-mem-tables");
            if (size <= most) continue;
            most = size;
            largest = i;
        }
        // As many families as fill the limit with empty memtables alone: there is nothing to write out.
        if (most <= STORE_WRITE_BUFFER_MIN) break;
        char *failure = NULL;
        rocksdb_flush_cf(store->db, store->flush, store->families[largest]->handle, &failure);
        int code = store_failed(failure, "writing out a memtable", error);
        if (code) return code;
    }
    return 0;
}

int store_write(struct store *store, struct store_batch *batch, bool sync, struct error *error) {
    size_t size = 0;
    rocksdb_writebatch_t *rows = store_batch_rows(batch);
    rocksdb_writebatch_data(rows, &size);
    char *failure = NULL;
    rocksdb_write(store->db, sync ? store->write_sync : store->write, rows, &failure);
    int code = store_failed(failure, "writing to the store", error);
    if (code) return code;
    store->unchecked_bytes += size;
    return store->unchecked_bytes > store->memtable_bytes / CHECK_SHARE ? throttle(store, error) : 0;
}

int store_reclaim(struct store *store, struct store_family *family, const void *from, size_t from_size, const void *to,
                  size_t to_size, struct error *error) {
    char *failure = NULL;
    rocksdb_delete_file_in_range_cf(store->db, family->handle, from, from_size, to, to_size, &failure);
    // Merging heeds only what is written out, the deletion included.
    if (!failure) rocksdb_flush_cf(store->db, store->flush, family->handle, &failure);
    if (!failure) rocksdb_suggest_compact_range_cf(store->db, family->handle, from, from_size, to, to_size, &failure);
    return store_failed(failure, "reclaiming what was deleted", error);
}

int store_get_pinned(struct store *store, struct store_family *family, const void *key, size_t key_size,
                     struct store_pin *pin, struct error *error) {
    char *failure = NULL;
    rocksdb_pinnableslice_t *slice =
        rocksdb_get_pinned_cf(store->db, store->read, family->handle, key, key_size, &failure);
    int code = store_failed(failure, "reading from the store", error);
    if (code) return code;
    if (!slice) return 0;
    size_t size = 0;
    const char *data = rocksdb_pinnableslice_value(slice, &size);
    *pin = (struct store_pin){.data = (const uint8_t *)data, .size = size, .handle = slice};
    return 1;
}

int store_get_many(struct store *store, struct store_family *family, const uint8_t *keys, size_t key_size, size_t count,
                   struct store_pin pins[STORE_MANY], struct error *error) {
    const char *at[STORE_MANY] = {NULL};
    size_t sizes[STORE_MANY] = {0};
    rocksdb_pinnableslice_t *slices[STORE_MANY];
    char *failures[STORE_MANY];
    int code = 0;
    for (size_t i = 0; i < count; i++) {
        at[i] = (const char *)keys + i * key_size;
        sizes[i] = key_size;
    }
    rocksdb_batched_multi_get_cf(store->db, store->read, family->handle, count, at, sizes, slices, failures, true);
    for (size_t i = 0; i < count; i++) {
        int failed = store_failed(failures[i], "reading from the store", code ? NULL : error);
        if (!code) code = failed;
        pins[i] = (struct store_pin){.data = NULL, .size = 0, .handle = slices[i]};
        if (slices[i]) pins[i].data = (const uint8_t *)rocksdb_pinnableslice_value(slices[i], &pins[i].size);
    }
    for (size_t i = 0; code && i < count; i++) store_pin_release(&pins[i]);
    return code;
}

void store_pin_release(struct store_pin *pin) {
    if (pin->handle) rocksdb_pinnableslice_destroy(pin->handle);
    *pin = (struct store_pin){.data = NULL, .size = 0, .handle = NULL};
}

int store_get(struct store *store, struct store_family *family, const void *key, size_t key_size, struct buffer *value,
              struct error *error) {
    struct store_pin pin;
    int found = store_get_pinned(store, family, key, key_size, &pin, error);
    if (found != 1) return found;
    buffer_clear(value);
    buffer_append(value, pin.data, pin.size);
    store_pin_release(&pin);
    return 1;
}

struct store_usage store_usage(struct store *store) {
    return (struct store_usage){
        .memtables = total_property(store, "rocksdb.size-all-mem-tables"),
        .table_readers = total_property(store, "rocksdb.estimate-table-readers-mem"),
        .block_cache = rocksdb_cache_get_usage(store->cache),
        .sst_files = total_property(store, "rocksdb.total-sst-files-size"),
        .cache_hits = rocksdb_perfcontext_metric(store->counts, rocksdb_block_cache_hit_count),
        .cache_misses = rocksdb_perfcontext_metric(store->counts, rocksdb_block_read_count),
    };
}

void store_reserve(struct store *store, size_t bytes) {
    size_t most = store->cache_bytes / 2; // a strict cache without room fails what reads
    rocksdb_cache_set_capacity(store->cache, store->cache_bytes - (bytes < most ? bytes : most));
}

int store_compact(struct store *store, struct store_family *family) {
    char *failure = NULL;
    rocksdb_flush_cf(store->db, store->flush, family->handle, &failure);
    int code = store_failed(failure, "compacting", NULL);
    if (code) return code;
    // By itself RocksDB moves a table whose keys no other has to the last level as it is, tombstones included.
    rocksdb_compactoptions_t *options = rocksdb_compactoptions_create();
    rocksdb_compactoptions_set_bottommost_level_compaction(options, COMPACT_LAST_LEVEL_TOO);
    rocksdb_compact_range_cf_opt(store->db, family->handle, options, NULL, 0, NULL, 0);
    rocksdb_compactoptions_destroy(options);
    return 0;
}
