#include "base/hash.h"

#include "base/bytes.h"

/* Java's org.apache.kafka.common.utils.Utils.murmur2: Austin Appleby's MurmurHash2 with Kafka's seed, read little-endian. */
uint32_t hash_murmur2(const void *bytes, size_t size) {
    const uint32_t m = 0x5bd1e995u;
    const uint8_t *at = bytes;
    uint32_t h = 0x9747b28cu ^ (uint32_t)size;

    for (; size >= 4; size -= 4, at += 4) {
        uint32_t k = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        k *= m;
        k ^= k >> 24;
        k *= m;
        h *= m;
        h ^= k;
    }
    if (size) {
        for (size_t i = 0; i < size; i++) h ^= (uint32_t)at[i] << (8 * i);
        h *= m;
    }
    h ^= h >> 13;
    h *= m;
    h ^= h >> 15;
    return h;
}

int32_t hash_partition(const void *key, size_t size, int32_t partitions) {
    return (int32_t)((hash_murmur2(key, size) & 0x7fffffffu) % (uint32_t)partitions);
}

int32_t hash_user_partition(int64_t user, int32_t partitions) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    return hash_partition(key, sizeof key, partitions);
}
