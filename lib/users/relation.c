#include "users/relation.h"

#include "base/bytes.h"

enum { RELATION_AT = 8, OTHER_AT = 9 };

void relation_key_write(uint8_t key[RELATION_KEY_SIZE], const struct relation_half *half) {
    bytes_put_be64(key, (uint64_t)half->user);
    key[RELATION_AT] = (uint8_t)half->relation;
    bytes_put_be64(key + OTHER_AT, (uint64_t)half->other);
}

bool relation_key_read(const void *key, size_t size, struct relation_half *half) {
    const uint8_t *at = key;
    if (!key || size != RELATION_KEY_SIZE || at[RELATION_AT] < RELATION_FOLLOWING ||
        at[RELATION_AT] > RELATION_REQUESTING)
        return false;
    struct relation_half read = {
        .user = (int64_t)bytes_get_be64(at),
        .other = (int64_t)bytes_get_be64(at + OTHER_AT),
        .relation = (enum relation)at[RELATION_AT],
    };
    if (read.user < 0 || read.other < 0) return false;
    *half = read;
    return true;
}
