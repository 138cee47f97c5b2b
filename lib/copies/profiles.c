#include "copies/profiles.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "store/store.h"

/* Half of the seven days that Kafka keeps tombstones: older than that, a removal may have been missed. */
static const int64_t AGE_MAX_MS = 7LL * 24 * 3600 * 1000 / 2;

struct profiles {
    struct store *store;
    struct store_family *values, *offsets;
    struct store_batch *batch;
    int partitions;
    int64_t *next; /* by partition; as written or in the batch */
    bool moved;    /* some of them since they were written */
};

static int get_number(struct profiles *profiles, const void *key, size_t size, int64_t *number, struct error *error) {
    struct store_pin pin;
    int found = store_get_pinned(profiles->store, profiles->offsets, key, size, &pin, error);
    if (found != 1) return found;
    *number = pin.size == 8 ? (int64_t)bytes_get_be64(pin.data) : -1;
    store_pin_release(&pin);
    return 1;
}

static void put_number(struct profiles *profiles, const void *key, size_t size, int64_t number) {
    uint8_t value[8];
    bytes_put_be64(value, (uint64_t)number);
    store_batch_put(profiles->batch, profiles->offsets, key, size, value, sizeof value);
}

static int load(struct profiles *profiles, struct error *error) {
    int64_t partitions = -1, time = -1;
    int found = get_number(profiles, "partitions", 10, &partitions, error);
    if (found >= 0) found = get_number(profiles, "time", 4, &time, error);
    if (found < 0) return found;
    if (partitions != profiles->partitions || time < clock_wall_ms() - AGE_MAX_MS) {
        return profiles_forget(profiles, error);
    }
    for (int32_t p = 0; p < profiles->partitions; p++) {
        uint8_t key[4];
        bytes_put_be32(key, (uint32_t)p);
        found = get_number(profiles, key, sizeof key, &profiles->next[p], error);
        if (found < 0) return found;
    }
    return 0;
}

int profiles_open(const char *path, int partitions, struct profiles **out, struct error *error) {
    struct profiles *profiles = mem_alloc(sizeof *profiles);
    *profiles = (struct profiles){
        .store = NULL,
        .values = NULL,
        .offsets = NULL,
        .batch = store_batch_new(),
        .partitions = partitions,
        .next = mem_alloc((size_t)partitions * sizeof *profiles->next),
        .moved = false,
    };
    for (int p = 0; p < partitions; p++) profiles->next[p] = -1;
    struct store_options options = {.cache_bytes = 32 << 20, .memtable_bytes = 16 << 20, .point_lookups = true};
    int code = store_open(path, &options, &profiles->store, error);
    if (!code) code = store_family(profiles->store, "profiles", &profiles->values, error);
    if (!code) code = store_family(profiles->store, "offsets", &profiles->offsets, error);
    if (!code) code = load(profiles, error);
    if (code) {
        profiles_close(profiles);
        return code;
    }
    *out = profiles;
    return 0;
}

void profiles_close(struct profiles *profiles) {
    if (!profiles) return;
    store_batch_free(profiles->batch);
    store_close(profiles->store);
    free(profiles->next);
    free(profiles);
}

int64_t profiles_offset(const struct profiles *profiles, int32_t partition) { return profiles->next[partition]; }

int profiles_forget(struct profiles *profiles, struct error *error) {
    // The offsets first: values without offsets are read anew, offsets without values would never be.
    store_batch_clear(profiles->batch);
    int code = store_family_drop(profiles->store, "offsets", error);
    if (!code) code = store_family_drop(profiles->store, "profiles", error);
    if (!code) code = store_family(profiles->store, "profiles", &profiles->values, error);
    if (!code) code = store_family(profiles->store, "offsets", &profiles->offsets, error);
    if (code) return code;
    for (int p = 0; p < profiles->partitions; p++) profiles->next[p] = -1;
    put_number(profiles, "partitions", 10, profiles->partitions);
    put_number(profiles, "time", 4, clock_wall_ms());
    return profiles_write(profiles, error);
}

void profiles_put(struct profiles *profiles, int64_t user, const void *value, size_t size) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    store_batch_put(profiles->batch, profiles->values, key, sizeof key, value, size);
}

void profiles_remove(struct profiles *profiles, int64_t user) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    store_batch_delete(profiles->batch, profiles->values, key, sizeof key);
}

void profiles_reached(struct profiles *profiles, int32_t partition, int64_t next) {
    profiles->next[partition] = next;
    profiles->moved = true;
}

int profiles_write(struct profiles *profiles, struct error *error) {
    if (!profiles->moved && !store_batch_count(profiles->batch)) return 0;
    for (int32_t p = 0; profiles->moved && p < profiles->partitions; p++) {
        uint8_t key[4];
        bytes_put_be32(key, (uint32_t)p);
        if (profiles->next[p] >= 0) put_number(profiles, key, sizeof key, profiles->next[p]);
    }
    int code = store_write(profiles->store, profiles->batch, false, error);
    store_batch_clear(profiles->batch);
    if (!code) profiles->moved = false;
    return code;
}

int profiles_current(struct profiles *profiles, struct error *error) {
    put_number(profiles, "time", 4, clock_wall_ms());
    return profiles_write(profiles, error);
}

int profiles_get(struct profiles *profiles, int64_t user, struct buffer *value, struct error *error) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    return store_get(profiles->store, profiles->values, key, sizeof key, value, error);
}
