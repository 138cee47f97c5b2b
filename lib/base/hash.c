#include "base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/bytes.h"

uint64_t hash_secret[2];

__attribute__((constructor)) static void draw_secret(void) {
    if (getrandom(hash_secret, sizeof hash_secret, 0) != sizeof hash_secret) abort();
    hash_secret[1] |= 1;
}

uint64_t hash_bytes(const void *bytes, size_t size) {
    const uint8_t *at = bytes;
    uint64_t hash = hash_secret[0] ^ size;
    for (; size >= 8; at += 8, size -= 8) hash = hash_multiply(hash ^ bytes_get_le64(at), hash_secret[1]);
    uint8_t rest[8] = {0};
    if (size) memcpy(rest, at, size);
    return hash_fold(hash_multiply(hash ^ bytes_get_le64(rest), hash_secret[1]));
}

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

static uint64_t rotated(uint64_t x, int by) { return x << by | x >> (64 - by); }

static void sip_rounds(uint64_t v[4], int count) {
    for (; count > 0; count--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotated(v[1], 13) ^ v[0];
        v[3] = rotated(v[3], 16) ^ v[2];
        v[0] = rotated(v[0], 32) + v[3];
        v[2] += v[1];
        v[1] = rotated(v[1], 17) ^ v[2];
        v[3] = rotated(v[3], 21) ^ v[0];
        v[2] = rotated(v[2], 32);
    }
}

/* As in Aumasson's and Bernstein's paper. */
uint64_t hash_sip(const uint8_t key[16], const void *bytes, size_t size) {
    const uint8_t *at = bytes;
    uint64_t k0 = bytes_get_le64(key), k1 = bytes_get_le64(key + 8), last = (uint64_t)size << 56;
    uint64_t v[4] = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                     k1 ^ 0x7465646279746573u};
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t word = bytes_get_le64(at);
        v[3] ^= word;
        sip_rounds(v, 2);
        v[0] ^= word;
    }
    for (size_t i = 0; i < size; i++) last |= (uint64_t)at[i] << (8 * i);
    v[3] ^= last;
    sip_rounds(v, 2);
    v[0] ^= last;
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

int32_t hash_partition(const void *key, size_t size, int32_t partitions) {
    return (int32_t)((hash_murmur2(key, size) & 0x7fffffffu) % (uint32_t)partitions);
}

int32_t hash_user_partition(int64_t user, int32_t partitions) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    return hash_partition(key, sizeof key, partitions);
}
