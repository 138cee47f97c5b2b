#include "state/ages.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"

struct ages {
    struct store *store;
    struct store_family *family;
    struct store_batch *batch;
    struct buffer value;
};

int ages_open(struct store *store, struct ages **out, struct error *error) {
    struct store_family *family;
    int code = store_family(store, "ages", &family, error);
    if (code) return code;
    struct ages *ages = MEM_NEW(&(struct ages){.store = store, .family = family, .batch = store_batch_new()});
    *out = ages;
    return 0;
}

void ages_close(struct ages *ages) {
    if (!ages) return;
    store_batch_free(ages->batch);
    buffer_free(&ages->value);
    free(ages);
}

/* 1: found; *time is then when the partition was current. */
static int find(struct ages *ages, int32_t partition, int64_t *time, struct error *error) {
    uint8_t key[4];
    bytes_put_be32(key, (uint32_t)partition);
    int code = store_get(ages->store, ages->family, key, sizeof key, &ages->value, error);
    if (code <= 0) return code;
    *time = ages->value.size == 8 ? (int64_t)bytes_get_be64(ages->value.data) : 0; // a damaged one is too old
    return 1;
}

int ages_too_old(struct ages *ages, int32_t partition, int64_t since, struct error *error) {
    int64_t time;
    int code = find(ages, partition, &time, error);
    return code <= 0 ? code : time < since;
}

int ages_touch(struct ages *ages, int32_t partition, int64_t now_ms, bool first, struct error *error) {
    uint8_t key[4], value[8];
    int64_t time;
    int code = first ? find(ages, partition, &time, error) : 0;
    if (code) return code < 0 ? code : 0;
    bytes_put_be32(key, (uint32_t)partition);
    bytes_put_be64(value, (uint64_t)now_ms);
    store_batch_clear(ages->batch);
    store_batch_put(ages->batch, ages->family, key, sizeof key, value, sizeof value);
    return store_write(ages->store, ages->batch, false, error);
}
