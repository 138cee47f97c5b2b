/* A full disk under a store: every failure is an error with the file's name, never the process's end, and all that was written
 * before is there when there is room again. On a small file system of its own, in memory; skipped where nobody may mount one. */
#include "base/bytes.h"
#include "unit/kit/kit.h"
#include "unit/lib/store/small_disk.h"
#include "store/store.h"

enum { VALUE = 1000, KEYS_MAX = 20000 };

static const struct store_options OPTIONS = {.cache_bytes = 8 << 20, .memtable_bytes = 4 << 20, .point_lookups = true};

/* How much room is left when a disk counts as full: what fails first depends on it. */
static const long ROOM[] = {0, 4096, 8192, 16384, 65536, 262144, 1000000, 3000000, 6000000};

static void assert_full(const struct small_disk *disk, int code, const struct error *error) {
    if (code != -ENOSPC) fail_msg("code %d: %s", code, error->text);
    assert_non_null(strstr(error->text, disk->folder)); // names the file
}

/* Bytes that no compression makes smaller. */
static void fill_value(uint8_t value[VALUE], uint32_t number) {
    for (size_t i = 0; i < VALUE; i += 8) bytes_put_be64(value + i, hash_u64((uint64_t)number << 32 | i));
}

static struct store *store_at(const struct small_disk *disk, struct store_family **family) {
    struct store *store = NULL;
    if (store_open(disk->path, &OPTIONS, &store, &failure)) fail_msg("%s", failure.text);
    if (store_family(store, "numbers", family, &failure)) fail_msg("%s", failure.text);
    return store;
}

static int put(struct store *store, struct store_family *family, uint32_t number, struct error *error) {
    struct store_batch *batch = store_batch_new();
    uint8_t key[4], value[VALUE];
    bytes_put_be32(key, number);
    fill_value(value, number);
    store_batch_put(batch, family, key, sizeof key, value, sizeof value);
    int code = store_write(store, batch, false, error);
    store_batch_free(batch);
    return code;
}

/* Writes numbers until the disk is full; how many were written. */
static uint32_t put_until_full(const struct small_disk *disk, struct store *store, struct store_family *family) {
    uint32_t number = 0;
    int code = 0;
    while (!code && number < KEYS_MAX) code = put(store, family, number++, &failure);
    assert_full(disk, code, &failure);
    return number - 1;
}

static void assert_written(const struct small_disk *disk, uint32_t count) {
    struct store_family *family;
    struct store *store = store_at(disk, &family);
    FREED_BUFFER found = {.size = 0};
    for (uint32_t number = 0; number < count; number++) {
        uint8_t key[4], value[VALUE];
        bytes_put_be32(key, number);
        fill_value(value, number);
        assert_int_equal(store_get(store, family, key, sizeof key, &found, NULL), 1);
        assert_int_equal(found.size, VALUE);
        assert_memory_equal(found.data, value, VALUE);
    }
    assert_int_equal(put(store, family, count, NULL), 0);
    store_close(store);
}

/* Opening works or says why not. */
static void open_on_full_disk(const struct small_disk *disk, long room) {
    struct store *store = NULL;
    small_disk_fill(disk, room);
    int code = store_open(disk->path, &OPTIONS, &store, &failure);
    if (code) assert_full(disk, code, &failure);
    store_close(store);
    small_disk_make_room(disk);
}

SET_UP_ONCE() { return small_disk_new(); }

TEST(test_a_full_disk_loses_nothing, const struct small_disk *disk) {
    for (size_t i = 0; disk && i < sizeof ROOM / sizeof *ROOM; i++) {
        struct store_family *family;
        open_on_full_disk(disk, ROOM[i]); // where there is none yet
        struct store *store = store_at(disk, &family);
        small_disk_fill(disk, ROOM[i]);
        uint32_t written = put_until_full(disk, store, family);
        assert_full(disk, put(store, family, KEYS_MAX, &failure), &failure);
        small_disk_make_room(disk);
        assert_int_equal(put(store, family, KEYS_MAX, &failure), -ENOSPC); // until it is opened anew
        store_close(store);
        open_on_full_disk(disk, ROOM[i]);
        assert_written(disk, written);
        assert_int_equal(store_remove(disk->path, NULL), 0);
    }
}

/* Writes numbers aside and has the store take them in, until either fails. */
static int ingest(const struct small_disk *disk, struct store *store, struct store_family *family,
                  struct error *error) {
    struct store_file *file = store_file_new(store, disk->aside);
    int code = 0;
    for (uint32_t number = 0; !code && number < KEYS_MAX; number++) {
        uint8_t key[4], value[VALUE];
        bytes_put_be32(key, number);
        fill_value(value, number);
        code = store_file_put(file, key, sizeof key, value, sizeof value, error);
    }
    if (!code) code = store_ingest(store, family, &file, 1, error);
    store_file_free(file);
    return code;
}

TEST(test_files_aside_and_checkpoints_say_so, const struct small_disk *disk) {
    for (size_t i = 0; disk && i < sizeof ROOM / sizeof *ROOM; i++) {
        struct store_family *family;
        struct store *store = store_at(disk, &family);
        for (uint32_t number = 0; number < 2000; number++)
            if (put(store, family, number, &failure)) fail_msg("%s", failure.text);
        FREED char *copy = mem_format("%s/copy", disk->folder);
        small_disk_fill(disk, ROOM[i]);
        assert_full(disk, ingest(disk, store, family, &failure), &failure);
        int code = store_checkpoint(store, copy, &failure);
        if (code) assert_full(disk, code, &failure);
        store_close(store);
        small_disk_make_room(disk);
        assert_written(disk, 2000);
        assert_int_equal(store_remove(disk->path, NULL), 0);
        assert_int_equal(store_remove(copy, NULL), 0);
    }
}
