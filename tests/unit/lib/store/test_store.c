/* Tests store.c, batch.c, checkpoint.c, cursor.c, file.c and options.c. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "base/bytes.h"
#include "store/store.h"
#include "unit/kit/kit.h"

struct fixture {
    char *root, *path;
    struct store *store;
    struct store_options options;
};

static void reopen(struct fixture *f) {
    store_close(f->store);
    f->store = NULL;
    if (store_open(f->path, &f->options, &f->store, &failure)) fail_msg("%s", failure.text);
}

SET_UP() {
    struct fixture *f = mem_alloc(sizeof *f);
    char *root = kit_folder();
    *f = (struct fixture){
        .root = root,
        .path = mem_format("%s/made/on/the/way", root),
        .options = {.cache_bytes = 8 << 20, .memtable_bytes = 4 << 20, .point_lookups = true},
    };
    reopen(f);
    return f;
}

TEAR_DOWN(struct fixture *f) {
    store_close(f->store);
    free(f->path);
    free(f);
}

static struct store_family *family(struct fixture *f, const char *name) {
    struct store_family *family = NULL;
    if (store_family(f->store, name, &family, &failure)) fail_msg("%s", failure.text);
    return family;
}

static void put(struct fixture *f, struct store_family *family, const char *key, const char *value) {
    struct store_batch *batch = store_batch_new();
    store_batch_put(batch, family, key, strlen(key), value, strlen(value));
    assert_int_equal(store_write(f->store, batch, false, NULL), 0);
    store_batch_free(batch);
}

static void assert_value(struct fixture *f, struct store_family *family, const char *key, const char *value) {
    FREED_BUFFER found = {.size = 0};
    int code = store_get(f->store, family, key, strlen(key), &found, NULL);
    assert_int_equal(code, value ? 1 : 0);
    if (value) assert_string_equal(buffer_cstring(&found), value);
}

TEST(test_batch_is_atomic_and_lasts, struct fixture *f) {
    struct store_family *a = family(f, "a"), *b = family(f, "b");
    put(f, a, "gone", "x");

    struct store_batch *batch = store_batch_new();
    store_batch_put(batch, a, "one", 3, "1", 1);
    store_batch_put(batch, b, "one", 3, "other family", 12);
    store_batch_put(batch, b, "empty", 5, "", 0);
    store_batch_delete(batch, a, "gone", 4);
    assert_int_equal(store_batch_count(batch), 4);
    assert_value(f, a, "one", NULL);
    assert_int_equal(store_write(f->store, batch, true, NULL), 0);
    store_batch_clear(batch);
    assert_int_equal(store_batch_count(batch), 0);
    store_batch_free(batch);

    reopen(f);
    a = family(f, "a");
    b = family(f, "b");
    assert_value(f, a, "one", "1");
    assert_value(f, a, "gone", NULL);
    assert_value(f, b, "one", "other family");
    assert_value(f, b, "empty", "");
}

/* Writes the same random rows as they come into one family, and sorted into another: both hold the same. */
TEST(test_a_sorted_batch_writes_what_came_last, struct fixture *f) {
    struct store_family *plain = family(f, "plain"), *sorted = family(f, "sorted"), *other = family(f, "other");
    struct store_batch *batches[] = {store_batch_new(), store_batch_new_sorted()};
    struct store_family *families[] = {plain, sorted};
    srand(3);
    for (int round = 0; round < 20; round++) {
        for (int n = 0; n < 500; n++) {
            char key[24], value[24];
            int size = snprintf(key, sizeof key, "%.*d", 1 + rand() % 12, rand() % 100);
            snprintf(value, sizeof value, "%d", round * 1000 + n);
            bool deletes = rand() % 4 == 0;
            for (int b = 0; b < 2; b++) {
                if (deletes)
                    store_batch_delete(batches[b], families[b], key, (size_t)size);
                else
                    store_batch_put(batches[b], families[b], key, (size_t)size, value, strlen(value));
            }
            store_batch_put(batches[1], other, key, (size_t)size, "", 0);
        }
        for (int b = 0; b < 2; b++) {
            assert_int_equal(store_batch_count(batches[b]), b ? 1000 : 500);
            assert_int_equal(store_write(f->store, batches[b], false, NULL), 0);
            store_batch_clear(batches[b]);
            assert_int_equal(store_batch_count(batches[b]), 0);
        }
    }
    struct store_cursor *a = store_cursor_new(f->store, plain), *b = store_cursor_new(f->store, sorted);
    store_cursor_seek(a, "", 0);
    store_cursor_seek(b, "", 0);
    size_t count = 0;
    for (; store_cursor_valid(a) && store_cursor_valid(b); store_cursor_next(a), store_cursor_next(b), count++) {
        size_t sizes[2];
        const uint8_t *keys[] = {store_cursor_key(a, &sizes[0]), store_cursor_key(b, &sizes[1])};
        assert_int_equal(sizes[0], sizes[1]);
        assert_memory_equal(keys[0], keys[1], sizes[0]);
        const uint8_t *values[] = {store_cursor_value(a, &sizes[0]), store_cursor_value(b, &sizes[1])};
        assert_int_equal(sizes[0], sizes[1]);
        assert_memory_equal(values[0], values[1], sizes[0]);
    }
    assert_true(count > 100);
    assert_true(!store_cursor_valid(a) && !store_cursor_valid(b));
    store_cursor_free(a);
    store_cursor_free(b);
    for (int i = 0; i < 2; i++) store_batch_free(batches[i]);
}

TEST(test_a_sorted_batch_deletes_ranges_first, struct fixture *f) {
    struct store_family *numbers = family(f, "numbers");
    struct store_batch *batch = store_batch_new_sorted();
    put(f, numbers, "b", "old");
    put(f, numbers, "c", "old");
    store_batch_put(batch, numbers, "b", 1, "dropped", 7);
    store_batch_clear(batch);
    store_batch_put(batch, numbers, "c", 1, "new", 3);
    store_batch_delete_range(batch, numbers, "a", 1, "z", 1);
    assert_int_equal(store_write(f->store, batch, false, NULL), 0);
    assert_value(f, numbers, "b", NULL);
    assert_value(f, numbers, "c", "new");
    store_batch_free(batch);
}

TEST(test_family_pointer_stays, struct fixture *f) {
    struct store_family *first = family(f, "f0");
    for (int i = 1; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        family(f, name);
    }
    assert_ptr_equal(family(f, "f0"), first);
}

TEST(test_dropped_family_is_empty_when_made_again, struct fixture *f) {
    put(f, family(f, "p7"), "key", "value");
    put(f, family(f, "p8"), "key", "value");
    assert_true(store_family_exists(f->store, "p7"));
    assert_int_equal(store_family_drop(f->store, "p7", NULL), 0);
    assert_int_equal(store_family_drop(f->store, "p7", NULL), 0);
    assert_false(store_family_exists(f->store, "p7"));
    assert_value(f, family(f, "p7"), "key", NULL);
    assert_value(f, family(f, "p8"), "key", "value");
    assert_int_equal(store_family_drop(f->store, "p7", NULL), 0);
    reopen(f);
    assert_false(store_family_exists(f->store, "p7"));
    assert_true(store_family_exists(f->store, "p8"));
}

TEST(test_pin_outlives_overwriting, struct fixture *f) {
    struct store_family *a = family(f, "a");
    put(f, a, "key", "before");
    struct store_pin pin;
    assert_int_equal(store_get_pinned(f->store, a, "key", 3, &pin, NULL), 1);
    put(f, a, "key", "after!");
    assert_int_equal(store_compact(f->store, a), 0);
    assert_int_equal(pin.size, 6);
    assert_memory_equal(pin.data, "before", 6);
    store_pin_release(&pin);
    store_pin_release(&pin);
    assert_int_equal(store_get_pinned(f->store, a, "none", 4, &pin, NULL), 0);
    assert_value(f, a, "key", "after!");
}

static void put_number(struct store_batch *batch, struct store_family *family, uint64_t n) {
    uint8_t key[8];
    bytes_put_be64(key, n);
    store_batch_put(batch, family, key, sizeof key, "v", 1);
}

TEST(test_cursor_walks_a_snapshot_in_order, struct fixture *f) {
    struct store_family *a = family(f, "a"), *b = family(f, "b");
    struct store_batch *batch = store_batch_new();
    for (uint64_t n = 100; n > 0; n--) put_number(batch, a, n * 3);
    put_number(batch, b, 5);
    assert_int_equal(store_write(f->store, batch, false, NULL), 0);
    store_batch_clear(batch);

    struct store_cursor *cursor = store_cursor_new(f->store, a);
    uint8_t from[8], to[8];
    bytes_put_be64(from, 0);
    bytes_put_be64(to, 1000);
    store_batch_delete_range(batch, a, from, sizeof from, to, sizeof to);
    assert_int_equal(store_write(f->store, batch, false, NULL), 0);
    store_batch_free(batch);

    bytes_put_be64(from, 151);
    uint64_t expected = 153;
    for (store_cursor_seek(cursor, from, sizeof from); store_cursor_valid(cursor); store_cursor_next(cursor)) {
        size_t key_size, value_size;
        const uint8_t *key = store_cursor_key(cursor, &key_size), *value = store_cursor_value(cursor, &value_size);
        assert_int_equal(key_size, 8);
        assert_int_equal(bytes_get_be64(key), expected);
        assert_int_equal(value_size, 1);
        assert_int_equal(*value, 'v');
        expected += 3;
    }
    assert_int_equal(expected, 303);
    assert_int_equal(store_cursor_error(cursor, NULL), 0);
    store_cursor_seek(cursor, "", 0);
    assert_true(store_cursor_valid(cursor));
    store_cursor_free(cursor);

    cursor = store_cursor_new(f->store, a);
    store_cursor_seek(cursor, "", 0);
    assert_false(store_cursor_valid(cursor));
    store_cursor_free(cursor);
}

static void file_put(struct store_file *file, uint64_t from, uint64_t to) {
    for (uint64_t n = from; n < to; n++) {
        uint8_t key[8];
        bytes_put_be64(key, n);
        if (store_file_put(file, key, sizeof key, &n, sizeof n, &failure)) fail_msg("%s", failure.text);
    }
}

static uint64_t count_keys(struct fixture *f, struct store_family *family) {
    uint64_t count = 0;
    struct store_cursor *cursor = store_cursor_new(f->store, family);
    for (store_cursor_seek(cursor, "", 0); store_cursor_valid(cursor); store_cursor_next(cursor)) count++;
    store_cursor_free(cursor);
    return count;
}

TEST(test_files_are_taken_in_together, struct fixture *f) {
    struct store_family *a = family(f, "a");
    FREED char *low = mem_format("%s/low", f->root), *high = mem_format("%s/high", f->root);
    FREED char *piece = mem_format("%s-0.sst", low);
    struct store_file *files[] = {store_file_new(f->store, low), store_file_new(f->store, high)};
    file_put(files[0], 0, 1000);
    file_put(files[1], 5000, 5010);
    assert_int_equal(count_keys(f, a), 0);
    assert_int_equal(store_ingest(f->store, a, files, 2, NULL), 0);
    assert_int_equal(count_keys(f, a), 1010);
    put(f, a, "further", "value");
    store_file_free(files[0]);
    store_file_free(files[1]);
    assert_int_not_equal(access(piece, F_OK), 0);
    reopen(f);
    assert_int_equal(count_keys(f, family(f, "a")), 1011);

    // One that is freed leaves nothing; an order that falls is refused; none at all is fine.
    struct store_file *left = store_file_new(f->store, low);
    file_put(left, 1, 2);
    uint8_t zero[8] = {0};
    assert_int_not_equal(store_file_put(left, zero, sizeof zero, "", 0, NULL), 0);
    assert_int_equal(access(piece, F_OK), 0);
    store_file_free(left);
    assert_int_not_equal(access(piece, F_OK), 0);
    struct store_file *empty = store_file_new(f->store, low);
    assert_int_equal(store_ingest(f->store, family(f, "a"), &empty, 1, NULL), 0);
    store_file_free(empty);
}

static void expect_store(struct fixture *f, const char *path, const char *value) {
    struct store *own = f->store;
    if (store_open(path, &f->options, &f->store, &failure)) fail_msg("%s", failure.text);
    assert_value(f, family(f, "a"), "key", value);
    store_close(f->store);
    f->store = own;
}

TEST(test_checkpoint_and_clone, struct fixture *f) {
    FREED char *checkpoint = mem_format("%s/kept/one", f->root), *clone = mem_format("%s/other/place", f->root);
    put(f, family(f, "a"), "key", "then");
    assert_int_equal(store_checkpoint(f->store, checkpoint, &failure), 0);
    put(f, family(f, "a"), "key", "now");
    assert_int_not_equal(store_checkpoint(f->store, checkpoint, &failure), 0); // there already
    assert_true(store_exists(checkpoint));
    assert_false(store_exists(clone));
    struct store_progress progress = {.cancelled = true};
    assert_int_equal(store_clone(checkpoint, clone, &progress, &failure), -ECANCELED);
    assert_false(store_exists(clone));
    progress = (struct store_progress){.cancelled = false};
    assert_int_equal(store_clone(checkpoint, clone, &progress, &failure), 0);
    assert_true(progress.bytes > 0 && progress.bytes == progress.total);
    assert_int_not_equal(store_clone(checkpoint, clone, NULL, &failure), 0);
    expect_store(f, clone, "then");
    assert_int_equal(store_remove(clone, &failure), 0);
    assert_int_equal(store_remove(clone, &failure), 0);
    assert_false(store_exists(clone));
    expect_store(f, checkpoint, "then");
    assert_int_equal(store_clone(f->root, clone, NULL, &failure), -ENOENT); // no store
    assert_value(f, family(f, "a"), "key", "now");
}

/* In memory and in tables, there and not there; also of a family that is merged late, which is one like any other. */
TEST(test_many_keys_at_once, struct fixture *f) {
    static const char *const NAMES[] = {"a", STORE_LATE "b"};
    for (size_t name = 0; name < ARRAY_SIZE(NAMES); name++) {
        uint8_t keys[STORE_MANY * 3];
        struct store_pin pins[STORE_MANY];
        char key[4], value[16];
        for (int i = 0; i < 100; i += 2) {
            snprintf(key, sizeof key, "%03d", i);
            snprintf(value, sizeof value, "value %d", i);
            put(f, family(f, NAMES[name]), key, value);
            if (i == 60) assert_int_equal(store_compact(f->store, family(f, NAMES[name])), 0);
            if (i == 80) reopen(f);
        }
        for (int count = 0; count <= STORE_MANY; count += 8) {
            for (int i = 0; i < count; i++) {
                snprintf(key, sizeof key, "%03d", 50 + i);
                memcpy(keys + i * 3, key, 3);
            }
            assert_int_equal(store_get_many(f->store, family(f, NAMES[name]), keys, 3, (size_t)count, pins, NULL), 0);
            for (int i = 0; i < count; i++) {
                snprintf(value, sizeof value, "value %d", 50 + i);
                assert_int_equal(pins[i].handle != NULL, i % 2 == 0);
                if (pins[i].handle) assert_int_equal(pins[i].size, strlen(value));
                if (pins[i].handle) assert_memory_equal(pins[i].data, value, pins[i].size);
                store_pin_release(&pins[i]);
            }
        }
    }
}

TEST(test_one_process_at_a_time, struct fixture *f) {
    struct store *second = NULL;
    struct error error = {""};
    assert_int_equal(store_open(f->path, &f->options, &second, &error), -EBUSY);
    assert_null(second);
    assert_non_null(strstr(error.text, f->path));
}

/* Has the store's lock until it is told to go. */
_Noreturn static void hold_lock(const char *path, int say, int hear) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int file = open(path, O_RDWR);
    bool told = !fcntl(file, F_SETLK, &lock) && write(say, "!", 1) == 1;
    char byte;
    _exit(told && read(hear, &byte, 1) == 0 ? 0 : 1);
}

TEST(test_one_of_another_process_is_busy, struct fixture *f) {
    char *path = mem_format("%s/LOCK", f->path), byte;
    int said[2], told[2], status = -1;
    store_close(f->store);
    f->store = NULL;
    assert_int_equal(pipe(said) | pipe(told), 0);
    pid_t child = fork();
    if (child == 0) {
        close(told[1]);
        hold_lock(path, said[1], told[0]);
    }
    close(said[1]);
    assert_int_equal(read(said[0], &byte, 1), 1);
    assert_int_equal(store_open(f->path, &f->options, &f->store, &failure), -EBUSY);
    close(told[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(told[0]);
    close(said[0]);
    reopen(f);
    free(path);
}

/* Turns the bytes in the middle of each table. */
static void damage_tables(const char *folder) {
    int damaged = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!strstr(entry->d_name, ".sst")) continue;
        char *path = mem_format("%s/%s", folder, entry->d_name), bytes[4096];
        int file = open(path, O_RDWR);
        assert_true(file >= 0);
        ssize_t size = pread(file, bytes, sizeof bytes, 64);
        assert_true(size > 0);
        for (ssize_t i = 0; i < size / 4; i++) bytes[i] = (char)~bytes[i];
        assert_int_equal(pwrite(file, bytes, (size_t)size, 64), size);
        close(file);
        free(path);
        damaged++;
    }
    closedir(dir);
    assert_true(damaged > 0);
}

/* "block checksum mismatch" is no lock. */
TEST(test_a_damaged_table_is_not_busy, struct fixture *f) {
    struct store_family *a = family(f, "a");
    struct store_pin pin;
    struct error error = {""};
    for (int i = 0; i < 1000; i++) {
        char key[16];
        snprintf(key, sizeof key, "key %04d", i);
        put(f, a, key, "a value that takes some room in the table");
    }
    assert_int_equal(store_compact(f->store, a), 0);
    store_close(f->store);
    f->store = NULL;
    damage_tables(f->path);
    reopen(f);
    assert_int_equal(store_get_pinned(f->store, family(f, "a"), "key 0000", 8, &pin, &error), -EIO);
    assert_non_null(strstr(error.text, "Corruption"));
    struct store_pin pins[STORE_MANY];
    error.text[0] = 0;
    assert_int_equal(store_get_many(f->store, family(f, "a"), (const uint8_t *)"absent  key 0000", 8, 2, pins, &error),
                     -EIO);
    assert_non_null(strstr(error.text, "Corruption"));
}

TEST(test_no_directory_is_a_clear_error) {
    struct store *store = NULL;
    struct store_options options = {.cache_bytes = 0, .memtable_bytes = 0, .point_lookups = false};
    assert_fails(store_open("/dev/null/store", &options, &store, &failure), -ENOTDIR, "/dev/null");
}

/* RocksDB alone went to many times the limit with this many families. */
TEST(test_memtables_and_cache_stay_within_their_limits, struct fixture *f) {
    enum { FAMILIES = 64, ROUNDS = 60 };
    struct store_family *families[FAMILIES];
    for (int i = 0; i < FAMILIES; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        families[i] = family(f, name);
    }
    char value[8192];
    unsigned seed = 1;
    for (size_t i = 0; i < sizeof value; i++) value[i] = (char)rand_r(&seed);
    // A cursor that stays open pins memtables for ever: the throttle must not wait for those.
    struct store_cursor *cursor = store_cursor_new(f->store, families[0]);
    struct store_batch *batch = store_batch_new();
    uint64_t most = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < FAMILIES; i++) {
            uint8_t key[8];
            bytes_put_be64(key, round);
            store_batch_put(batch, families[i], key, sizeof key, value, sizeof value);
            assert_int_equal(store_write(f->store, batch, false, NULL), 0);
            store_batch_clear(batch);
        }
        uint64_t now = store_usage(f->store).memtables;
        if (now > most) most = now;
    }
    store_batch_free(batch);
    store_cursor_free(cursor);
    assert_in_range(most, 1, 2 * f->options.memtable_bytes);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < FAMILIES; i++) {
            uint8_t key[8];
            struct store_pin pin;
            bytes_put_be64(key, round);
            assert_int_equal(store_get_pinned(f->store, families[i], key, sizeof key, &pin, NULL), 1);
            assert_memory_equal(pin.data, value, sizeof value);
            store_pin_release(&pin);
        }
    }
    struct store_usage usage = store_usage(f->store);
    assert_in_range(usage.block_cache, 1, f->options.cache_bytes);
    assert_true(usage.cache_hits > 0 && usage.cache_misses > 0);
    store_reserve(f->store, 2 * f->options.cache_bytes);
    assert_in_range(store_usage(f->store).block_cache, 1, f->options.cache_bytes / 2);
    assert_true(usage.sst_files > (uint64_t)ROUNDS * FAMILIES * sizeof value / 2);
}

/* A process that owns 64 partitions has a family of each kind for each of them. */
TEST(test_many_families_with_a_few_keys_stay_in_memory, struct fixture *f) {
    enum { FAMILIES = 320, ROUNDS = 20 };
    char value[1024] = {0};
    f->options = (struct store_options){.memory_bytes = 192 << 20, .point_lookups = true};
    reopen(f);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < FAMILIES; i++) {
            char name[16], key[16];
            snprintf(name, sizeof name, "f-%d", i);
            snprintf(key, sizeof key, "%d", round);
            memset(value, 'a' + round, sizeof value - 1);
            put(f, family(f, name), key, value);
        }
    }
    struct store_usage usage = store_usage(f->store);
    assert_int_equal(usage.sst_files, 0);
    assert_in_range(usage.memtables, 1, (uint64_t)FAMILIES * (64 << 10));
}

/* The rest is as large as if the range had never been, although nothing else is written. */
TEST(test_what_a_deleted_range_takes_is_given_back, struct fixture *f) {
    enum { KEYS = 40000, DELETED = 30000 };
    struct store_family *late = family(f, STORE_LATE "a");
    struct store_batch *batch = store_batch_new();
    struct store_pin pin;
    uint8_t key[4], from[4], to[4], value[100];
    FREED char *aside = mem_format("%s/aside", f->root);
    for (uint32_t lot = 0; lot < 10; lot++) {
        store_batch_clear(batch);
        for (uint32_t i = lot; i < KEYS; i += 10) {
            bytes_put_be32(key, i);
            for (size_t b = 0; b < sizeof value; b++)
                value[b] = (uint8_t)(i * 2654435761u >> (b % 24)); // does not shrink much
            store_batch_put(batch, late, key, sizeof key, value, sizeof value);
        }
        assert_int_equal(store_write(f->store, batch, false, &failure), 0);
        if (lot == 7) assert_int_equal(store_compact(f->store, late), 0); // below, and the rest on top
    }
    assert_int_equal(store_checkpoint(f->store, aside, &failure), 0); // which writes everything out
    bytes_put_be32(from, 0);
    bytes_put_be32(to, DELETED);
    store_batch_clear(batch);
    store_batch_delete_range(batch, late, from, sizeof from, to, sizeof to);
    assert_int_equal(store_write(f->store, batch, false, &failure), 0);
    store_batch_free(batch);
    uint64_t before = store_usage(f->store).sst_files, after = before;
    if (store_reclaim(f->store, late, from, sizeof from, to, sizeof to, &failure)) fail_msg("%s", failure.text);
    for (int waited = 0; waited < 1000 && after > before / 2; waited++) {
        usleep(10000);
        after = store_usage(f->store).sst_files;
    }
    assert_in_range(after, 1, before / 2);
    for (uint32_t i = 0; i < KEYS; i++) {
        bytes_put_be32(key, i);
        assert_int_equal(store_get_pinned(f->store, late, key, sizeof key, &pin, &failure), i >= DELETED);
        if (i >= DELETED) store_pin_release(&pin);
    }
}
