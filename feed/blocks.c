#include "feed/blocks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"

enum { KEY_SIZE = 16 };

static const uint8_t NEXT[] = {0xff}; /* a user's first byte is below 0x80 */

struct blocks_part {
    struct store_family *family; /* NULL: never attached */
    int64_t next;
};

struct blocks {
    struct store *store;
    struct store_batch *batch;
    struct blocks_part *parts; /* by partition */
    struct buffer value;
};

struct blocks *blocks_new(struct store *store, int32_t partitions) {
    struct blocks *blocks = mem_alloc(sizeof *blocks);
    *blocks = (struct blocks){
        .store = store, .batch = store_batch_new(), .parts = mem_zero((size_t)partitions, sizeof *blocks->parts)};
    return blocks;
}

void blocks_free(struct blocks *blocks) {
    if (!blocks) return;
    store_batch_free(blocks->batch);
    buffer_free(&blocks->value);
    free(blocks->parts);
    free(blocks);
}

static void name_of(char name[24], int32_t partition) { snprintf(name, 24, "blocks-%d", (int)partition); }

int blocks_attach(struct blocks *blocks, int32_t partition, int64_t *next, struct error *error) {
    struct blocks_part *part = &blocks->parts[partition];
    char name[24];
    name_of(name, partition);
    int code = store_family(blocks->store, name, &part->family, error);
    if (code) return code;
    code = store_get(blocks->store, part->family, NEXT, sizeof NEXT, &blocks->value, error);
    if (code < 0) return code;
    if (code && blocks->value.size != 8) return error_set(error, -EBADMSG, "the offset of blocks is damaged");
    *next = part->next = code ? (int64_t)bytes_get_be64(blocks->value.data) : -1;
    return 0;
}

int blocks_reset(struct blocks *blocks, int32_t partition, struct error *error) {
    char name[24];
    int64_t next;
    name_of(name, partition);
    store_batch_clear(blocks->batch); // of a batch of records that was not written, as a store is damaged
    int code = store_family_drop(blocks->store, name, error);
    return code ? code : blocks_attach(blocks, partition, &next, error);
}

static void write_key(uint8_t key[KEY_SIZE], int64_t user, int64_t other) {
    bytes_put_be64(key, (uint64_t)user);
    bytes_put_be64(key + 8, (uint64_t)other);
}

void blocks_take(struct blocks *blocks, int32_t partition, int64_t offset, int64_t user, int64_t other, bool blocked) {
    struct blocks_part *part = &blocks->parts[partition];
    uint8_t key[KEY_SIZE], next[8];
    if (offset < part->next) return;
    write_key(key, user, other);
    part->next = offset + 1;
    bytes_put_be64(next, (uint64_t)part->next);
    if (blocked)
        store_batch_put(blocks->batch, part->family, key, sizeof key, NULL, 0);
    else
        store_batch_delete(blocks->batch, part->family, key, sizeof key);
    store_batch_put(blocks->batch, part->family, NEXT, sizeof NEXT, next, sizeof next);
}

int blocks_write(struct blocks *blocks, struct error *error) {
    int code = store_batch_count(blocks->batch) ? store_write(blocks->store, blocks->batch, false, error) : 0;
    store_batch_clear(blocks->batch);
    return code;
}

int64_t blocks_next(const struct blocks *blocks, int32_t partition) { return blocks->parts[partition].next; }

int blocks_has(struct blocks *blocks, int32_t partition, int64_t user, int64_t other, bool *blocked,
               struct error *error) {
    uint8_t key[KEY_SIZE];
    write_key(key, user, other);
    int code = store_get(blocks->store, blocks->parts[partition].family, key, sizeof key, &blocks->value, error);
    if (code >= 0) *blocked = code;
    return code < 0 ? code : 0;
}
