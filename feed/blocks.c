#include "feed/blocks.h"

#include "base/bytes.h"

enum { KEY_SIZE = 16 };

static void write_key(uint8_t key[KEY_SIZE], int64_t user, int64_t other) {
    bytes_put_be64(key, (uint64_t)user);
    bytes_put_be64(key + 8, (uint64_t)other);
}

void blocks_take(struct table_store *blocks, int32_t partition, int64_t offset, int64_t user, int64_t other,
                 bool blocked) {
    uint8_t key[KEY_SIZE];
    write_key(key, user, other);
    table_store_put(blocks, partition, offset, key, sizeof key, blocked ? "" : NULL, 0);
}

int blocks_has(struct table_store *blocks, int32_t partition, int64_t user, int64_t other, bool *blocked,
               struct error *error) {
    uint8_t key[KEY_SIZE];
    write_key(key, user, other);
    int code = table_store_get(blocks, partition, key, sizeof key, NULL, error);
    if (code >= 0) *blocked = code;
    return code < 0 ? code : 0;
}
