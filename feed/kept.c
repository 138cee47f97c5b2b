#include "feed/kept.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"

static const uint8_t NEXT[] = {0xff};

struct kept_part {
    struct store_family *family; /* NULL: never attached */
    int64_t next;
};

struct kept {
    struct store *store;
    char *name;
    struct store_batch *batch;
    struct kept_part *parts; /* by partition */
    struct buffer value;
};

struct kept *kept_new(struct store *store, const char *name, int32_t partitions) {
    struct kept *kept = mem_alloc(sizeof *kept);
    *kept = (struct kept){
        .store = store,
        .name = mem_string(name),
        .batch = store_batch_new(),
        .parts = mem_zero((size_t)partitions, sizeof *kept->parts),
    };
    return kept;
}

void kept_free(struct kept *kept) {
    if (!kept) return;
    store_batch_free(kept->batch);
    buffer_free(&kept->value);
    free(kept->name);
    free(kept->parts);
    free(kept);
}

static void name_of_family(const struct kept *kept, int32_t partition, char name[40]) {
    snprintf(name, 40, "%s-%d", kept->name, (int)partition);
}

int kept_attach(struct kept *kept, int32_t partition, int64_t *next, struct error *error) {
    struct kept_part *part = &kept->parts[partition];
    char family[40];
    name_of_family(kept, partition, family);
    int code = store_family(kept->store, family, &part->family, error);
    if (!code) code = kept_get(kept, partition, NEXT, sizeof NEXT, &kept->value, error);
    if (code < 0) return code;
    if (code && kept->value.size != 8) return error_set(error, -EBADMSG, "the offset of %s is damaged", kept->name);
    *next = part->next = code ? (int64_t)bytes_get_be64(kept->value.data) : -1;
    return 0;
}

int kept_reset(struct kept *kept, int32_t partition, struct error *error) {
    char family[40];
    int64_t next;
    name_of_family(kept, partition, family);
    store_batch_clear(kept->batch); // of a batch of records that was not written, as a store is damaged
    int code = store_family_drop(kept->store, family, error);
    return code ? code : kept_attach(kept, partition, &next, error);
}

void kept_take(struct kept *kept, int32_t partition, int64_t offset, const void *key, size_t key_size,
               const void *value, size_t size) {
    struct kept_part *part = &kept->parts[partition];
    uint8_t next[8];
    if (offset < part->next) return;
    part->next = offset + 1;
    bytes_put_be64(next, (uint64_t)part->next);
    if (value)
        store_batch_put(kept->batch, part->family, key, key_size, value, size);
    else
        store_batch_delete(kept->batch, part->family, key, key_size);
    store_batch_put(kept->batch, part->family, NEXT, sizeof NEXT, next, sizeof next);
}

void kept_drop(struct kept *kept, int32_t partition, const void *key, size_t key_size) {
    store_batch_delete(kept->batch, kept->parts[partition].family, key, key_size);
}

int kept_write(struct kept *kept, struct error *error) {
    int code = store_batch_count(kept->batch) ? store_write(kept->store, kept->batch, false, error) : 0;
    store_batch_clear(kept->batch);
    return code;
}

int64_t kept_next(const struct kept *kept, int32_t partition) { return kept->parts[partition].next; }

int kept_get(struct kept *kept, int32_t partition, const void *key, size_t key_size, struct buffer *value,
             struct error *error) {
    return store_get(kept->store, kept->parts[partition].family, key, key_size, value, error);
}

struct store_cursor *kept_cursor(struct kept *kept, int32_t partition) {
    return store_cursor_new(kept->store, kept->parts[partition].family);
}
