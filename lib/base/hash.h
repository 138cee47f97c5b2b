/* Hashes. Pure; any thread. */
#pragma once

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

/* Drawn when the process starts; the second is odd. */
extern uint64_t hash_secret[2] __attribute__((visibility("hidden")));

static inline uint64_t hash_multiply(uint64_t x, uint64_t by) {
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)x * by;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* For tables in memory. Strangers choose keys, and must not be able to choose those that collide: another process hashes otherwise, and
 * the result must not leave this one. One multiplication, folded: half the work of hash_u64, and nearly as good (a unit test checks this for
 * the shapes that ids come in): with one secret in twenty a shape is spread two to five times less evenly than by chance. An added secret
 * would spread all evenly, but then a stranger could choose steps between keys that collide whatever it is. With a multiplier that is
 * secret, too, some processes would spread badly. */
static inline uint64_t hash_fold(uint64_t x) { return hash_multiply(x ^ hash_secret[0], 0xbf58476d1ce4e5b9u); }

/* The same for bytes. */
uint64_t hash_bytes(const void *bytes, size_t size);

/* Murmur2 as Kafka's Java clients compute it over the key's bytes. */
uint32_t hash_murmur2(const void *bytes, size_t size);

/* SipHash-2-4: who does not know the key cannot tell which bytes a hash is of. */
uint64_t hash_sip(const uint8_t key[16], const void *bytes, size_t size);

/* The partition that Java's default partitioner, and ours, chooses for a key. */
int32_t hash_partition(const void *key, size_t size, int32_t partitions);

/* The same for a user: the key is the id as 8 bytes big-endian. */
int32_t hash_user_partition(int64_t user, int32_t partitions);
