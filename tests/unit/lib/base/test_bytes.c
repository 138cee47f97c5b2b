/* Tests clock.c. Integers as bytes, hashes, and the clock. */
#include "base/bytes.h"
#include "unit/kit/kit.h"

TEST(big_endian) {
    uint8_t bytes[8];
    bytes_put_be64(bytes, 0x0123456789abcdef);
    assert_memory_equal(bytes, "\x01\x23\x45\x67\x89\xab\xcd\xef", 8);
    assert_true(bytes_get_be64(bytes) == 0x0123456789abcdef);
    bytes_put_be32(bytes, 0xfedcba98);
    assert_memory_equal(bytes, "\xfe\xdc\xba\x98", 4);
    assert_true(bytes_get_be32(bytes) == 0xfedcba98);
}

TEST(varints_go_there_and_back) {
    for (unsigned bit = 0; bit < 64; bit++) {
        for (int off = -1; off <= 1; off++) {
            uint64_t value = ((uint64_t)1 << bit) + (uint64_t)(int64_t)off, read = ~value;
            uint8_t bytes[VARINT_MAX];
            uint8_t *end = varint_put(bytes, value);
            assert_true(end - bytes >= 1 && end - bytes <= VARINT_MAX);
            assert_ptr_equal(varint_get(bytes, end, &read), end);
            assert_true(read == value);
            for (uint8_t *cut = bytes; cut < end; cut++) assert_null(varint_get(bytes, cut, &read));
        }
    }
}

TEST(varints_as_avro_writes_them) {
    static const struct {
        int64_t value;
        const char *bytes;
        size_t size;
    } CASES[] = {{0, "\0", 1},
                 {-1, "\x01", 1},
                 {1, "\x02", 1},
                 {-64, "\x7f", 1},
                 {64, "\x80\x01", 2},
                 {8192, "\x80\x80\x01", 3},
                 {INT64_MAX, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10},
                 {INT64_MIN, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        uint8_t bytes[VARINT_MAX];
        assert_int_equal(varint_put(bytes, zigzag(CASES[i].value)) - bytes, CASES[i].size);
        assert_memory_equal(bytes, CASES[i].bytes, CASES[i].size);
        assert_true(unzigzag(zigzag(CASES[i].value)) == CASES[i].value);
    }
}

TEST(varints_beyond_64_bits_are_refused) {
    uint8_t bytes[11];
    uint64_t value = 5;
    memset(bytes, 0x80, sizeof bytes);
    assert_null(varint_get(bytes, bytes + sizeof bytes, &value));
    memset(bytes, 0xff, 9);
    bytes[9] = 2;
    assert_null(varint_get(bytes, bytes + 10, &value));
    assert_true(value == 5);
}

/* The paper's example: key 00 01 ... 0f, message 00 01 ... 0e. And the first ones of the reference's list. */
TEST(siphash_as_in_its_paper) {
    uint8_t bytes[16];
    for (uint8_t i = 0; i < 16; i++) bytes[i] = i;
    assert_true(hash_sip(bytes, bytes, 15) == 0xa129ca6149be45e5u);
    assert_true(hash_sip(bytes, bytes, 0) == 0x726fdb47dd0e0e31u);
    assert_true(hash_sip(bytes, bytes, 8) == 0x93f5f5799a932462u);
}

TEST(murmur2_as_in_java) {
    // From Kafka's own UtilsTest.
    static const struct {
        const char *key;
        int32_t hash;
    } CASES[] = {{"21", -973932308},
                 {"foobar", -790332482},
                 {"a-little-bit-long-string", -985981536},
                 {"a-little-bit-longer-string", -1486304829},
                 {"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971},
                 {"abc", 479470107}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        size_t size = strlen(CASES[i].key);
        assert_int_equal((int32_t)hash_murmur2(CASES[i].key, size), CASES[i].hash);
        assert_int_equal(hash_partition(CASES[i].key, size, 64), (CASES[i].hash & 0x7fffffff) % 64);
    }
}

TEST(users_are_partitioned_by_their_big_endian_id) {
    int seen[7] = {0};
    for (int64_t user = 0; user < 7000; user++) {
        uint8_t key[8];
        bytes_put_be64(key, (uint64_t)user);
        int32_t partition = hash_user_partition(user, 7);
        assert_int_equal(partition, hash_partition(key, 8, 7));
        assert_true(partition >= 0 && partition < 7);
        seen[partition]++;
    }
    for (int i = 0; i < 7; i++) assert_true(seen[i] > 800 && seen[i] < 1200);
}

TEST(digest_hash_never_changes) {
    // splitmix64's published first outputs for the seeds 0 and 1234567.
    assert_true(hash_u64(0) == 0xe220a8397b1dcdafu);
    assert_true(hash_u64(1234567) == 6457827717110365317u);
}

TEST(clock_moves_forward) {
    int64_t before = clock_monotonic_us();
    assert_true(before > 0);
    assert_true(clock_monotonic_us() >= before);
    assert_true(clock_wall_ms() > 1735689600000); // 2025 began
}
