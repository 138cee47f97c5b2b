/* Hashes. Pure; any thread. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Mixes all 64 bits (the finaliser of splitmix64): for tables, and for the order-free hash of a Digest (the wrapping sum of
 * hash_u64 over the set's members). Part of the wire protocol: never change it. */
static inline uint64_t hash_u64(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* One multiplication, folded: half the work of hash_u64, and as good for tables in memory (a unit test checks this for the shapes
 * that ids come in). The result must not leave the process. */
static inline uint64_t hash_fold(uint64_t x) {
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)(x ^ 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Murmur2 as Kafka's Java clients compute it over the key's bytes. */
uint32_t hash_murmur2(const void *bytes, size_t size);

/* SipHash-2-4: who does not know the key cannot tell which bytes a hash is of. */
uint64_t hash_sip(const uint8_t key[16], const void *bytes, size_t size);

/* The partition that Java's default partitioner, and ours, chooses for a key. */
int32_t hash_partition(const void *key, size_t size, int32_t partitions);

/* The same for a user: the key is the id as 8 bytes big-endian. */
int32_t hash_user_partition(int64_t user, int32_t partitions);

#endif
