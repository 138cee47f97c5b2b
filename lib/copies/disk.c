#include "copies/disk.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "store/store.h"

/* Half of the seven days that Kafka keeps tombstones: older than that, a removal may have been missed. */
static const int64_t AGE_MAX_MS = 7LL * 24 * 3600 * 1000 / 2;

struct copy_disk {
    char *path, *topic;
    struct store *store; /* NULL after a failure, and the families with it */
    struct store_family *values, *offsets;
    struct store_batch *batch;
    int partitions;
    int64_t *next; /* by partition; as written or in the batch */
    bool moved;    /* some of them since they were written */
};

static void store_shut(struct copy_disk *disk) {
    store_batch_clear(disk->batch);
    store_close(disk->store);
    disk->store = NULL;
    disk->values = disk->offsets = NULL;
    disk->moved = false;
}

static int get_number(struct copy_disk *disk, const void *key, size_t size, int64_t *number, struct error *error) {
    struct store_pin pin;
    int found = store_get_pinned(disk->store, disk->offsets, key, size, &pin, error);
    if (found != 1) return found;
    *number = pin.size == 8 ? (int64_t)bytes_get_be64(pin.data) : -1;
    store_pin_release(&pin);
    return 1;
}

static void put_number(struct copy_disk *disk, const void *key, size_t size, int64_t number) {
    uint8_t value[8];
    bytes_put_be64(value, (uint64_t)number);
    store_batch_put(disk->batch, disk->offsets, key, size, value, sizeof value);
}

static int open_families(struct copy_disk *disk, struct error *error) {
    int code = store_family(disk->store, disk->topic, &disk->values, error);
    return code ? code : store_family(disk->store, "offsets", &disk->offsets, error);
}

static int load(struct copy_disk *disk, struct error *error) {
    int64_t partitions = -1, time = -1;
    int found = get_number(disk, "partitions", 10, &partitions, error);
    if (found >= 0) found = get_number(disk, "time", 4, &time, error);
    if (found < 0) return found;
    if (partitions != disk->partitions || time < clock_wall_ms() - AGE_MAX_MS) return copy_disk_forget(disk, error);
    for (int32_t p = 0; p < disk->partitions; p++) {
        uint8_t key[4];
        bytes_put_be32(key, (uint32_t)p);
        disk->next[p] = -1;
        found = get_number(disk, key, sizeof key, &disk->next[p], error);
        if (found < 0) return found;
    }
    return 0;
}

int copy_disk_reopen(struct copy_disk *disk, struct error *error) {
    const struct store_options options = {.cache_bytes = 32 << 20, .memtable_bytes = 16 << 20, .point_lookups = true};
    store_shut(disk);
    int code = store_open(disk->path, &options, &disk->store, error);
    if (!code) code = open_families(disk, error);
    if (!code) code = load(disk, error);
    if (code) store_shut(disk);
    return code;
}

int copy_disk_open(const char *folder, const char *topic, int partitions, struct copy_disk **out, struct error *error) {
    struct copy_disk *disk = MEM_NEW(&(struct copy_disk){
        .path = mem_format("%s/%s", folder, topic),
        .topic = mem_string(topic),
        .batch = store_batch_new(),
        .partitions = partitions,
        .next = mem_alloc((size_t)partitions * sizeof *disk->next),
    });
    int code = copy_disk_reopen(disk, error);
    if (code) {
        copy_disk_close(disk);
        return code;
    }
    *out = disk;
    return 0;
}

void copy_disk_close(struct copy_disk *disk) {
    if (!disk) return;
    store_shut(disk);
    store_batch_free(disk->batch);
    free(disk->next);
    free(disk->topic);
    free(disk->path);
    free(disk);
}

static int shut(struct error *error) { return error_set(error, -EIO, "the copy on disk is closed after a failure"); }

int64_t copy_disk_next(const struct copy_disk *disk, int32_t partition) { return disk->next[partition]; }

int copy_disk_forget(struct copy_disk *disk, struct error *error) {
    if (!disk->store) return shut(error);
    store_batch_clear(disk->batch);
    for (int p = 0; p < disk->partitions; p++) disk->next[p] = -1;
    // The offsets first: values without offsets are read anew, offsets without values would never be.
    int code = store_family_drop(disk->store, "offsets", error);
    if (!code) code = store_family_drop(disk->store, disk->topic, error);
    if (!code) code = open_families(disk, error);
    // A family that was dropped and could not be made again is not there: the next opening forgets the rest.
    if (code) {
        store_shut(disk);
        return code;
    }
    put_number(disk, "partitions", 10, disk->partitions);
    put_number(disk, "time", 4, clock_wall_ms());
    return copy_disk_write(disk, error);
}

void copy_disk_put(struct copy_disk *disk, const void *key, size_t key_size, const void *value, size_t value_size) {
    if (!disk->store) return;
    if (value)
        store_batch_put(disk->batch, disk->values, key, key_size, value, value_size);
    else
        store_batch_delete(disk->batch, disk->values, key, key_size);
}

void copy_disk_reached(struct copy_disk *disk, int32_t partition, int64_t next) {
    disk->next[partition] = next;
    disk->moved = true;
}

int copy_disk_write(struct copy_disk *disk, struct error *error) {
    if (!disk->store) return shut(error);
    if (!disk->moved && !store_batch_count(disk->batch)) return 0;
    for (int32_t p = 0; disk->moved && p < disk->partitions; p++) {
        uint8_t key[4];
        bytes_put_be32(key, (uint32_t)p);
        if (disk->next[p] >= 0) put_number(disk, key, sizeof key, disk->next[p]);
    }
    int code = store_write(disk->store, disk->batch, false, error);
    store_batch_clear(disk->batch);
    disk->moved = false;
    if (code) store_shut(disk);
    return code;
}

int copy_disk_current(struct copy_disk *disk, struct error *error) {
    if (!disk->store) return shut(error);
    put_number(disk, "time", 4, clock_wall_ms());
    return copy_disk_write(disk, error);
}

int copy_disk_get(struct copy_disk *disk, const void *key, size_t key_size, struct buffer *value, struct error *error) {
    if (!disk->store) return shut(error);
    return store_get(disk->store, disk->values, key, key_size, value, error);
}
