/* hash_fold over the shapes that user ids come in: the parts of it that presence uses spread nearly as evenly as chance does,
 * with nearly every secret. */
#include "unit/kit/kit.h"

enum { USERS = 1 << 20, CELLS = 1 << 16 };

static uint64_t user(int shape, uint64_t i) {
    switch (shape) {
    case 0: return i;
    case 1: return i * 10;
    case 2: return i << 8;
    case 3: return i << 20;
    case 4: return i << 40;
    case 5: return i / 64 << 22 | i % 64; /* a time and a counter */
    case 6: return i % 1000 << 40 | i / 1000;
    case 7: return i * 1000003;
    case 8: return i << 16 | 5;
    case 9: return i * 4294967297u;
    default: return hash_u64(i) >> 1;
    }
}

/* Chi-square over its degrees of freedom: 1 is chance, less is more even. */
static double unevenness(int shape, int shift) {
    uint32_t *cells = mem_zero(CELLS, sizeof *cells);
    double expected = (double)USERS / CELLS, sum = 0;
    for (uint64_t i = 0; i < USERS; i++) cells[hash_fold(user(shape, i)) >> shift & (CELLS - 1)]++;
    for (size_t c = 0; c < CELLS; c++) sum += (cells[c] - expected) * (cells[c] - expected) / expected;
    free(cells);
    return sum / CELLS;
}

/* Of the shape that is spread worst. */
static double worst(void) {
    static const int SHIFTS[] = {48, 42, 23, 7, 0};
    double found = 0;
    for (int shape = 0; shape <= 10; shape++) {
        for (size_t s = 0; s < sizeof SHIFTS / sizeof *SHIFTS; s++) {
            double value = unevenness(shape, SHIFTS[s]);
            if (value > found) found = value;
        }
    }
    return found;
}

/* One secret in twenty meets a shape that it spreads two to five times less evenly than chance. */
TEST(test_even_for_nearly_every_secret) {
    enum { SECRETS = 12 };
    uint64_t drawn = hash_secret[0];
    size_t even = 0;
    for (uint64_t i = 0; i < SECRETS; i++) {
        hash_secret[0] = hash_u64(i);
        double value = worst();
        assert_true(value < 8);
        even += value < 2;
    }
    hash_secret[0] = drawn;
    assert_true(even >= SECRETS - 2);
}

TEST(test_another_process_hashes_otherwise) {
    uint64_t of_id = hash_fold(7), of_bytes = hash_bytes("feed:7", 6);
    assert_int_not_equal(hash_bytes("feed:7", 6), hash_bytes("feed:8", 6));
    assert_int_not_equal(hash_bytes("feed:7", 6), hash_bytes("feed:7\0", 7));
    assert_int_equal(hash_secret[1] & 1, 1);
    hash_secret[0]++;
    assert_int_not_equal(of_id, hash_fold(7));
    assert_int_not_equal(of_bytes, hash_bytes("feed:7", 6));
    hash_secret[0]--;
}

/* One multiplication that is not folded leaves the lower bits what they were. */
TEST(test_the_measure_sees_a_bad_hash) {
    uint32_t *cells = mem_zero(CELLS, sizeof *cells);
    double expected = (double)USERS / CELLS, sum = 0;
    for (uint64_t i = 0; i < USERS; i++) cells[(user(2, i) * 0xbf58476d1ce4e5b9u) & (CELLS - 1)]++;
    for (size_t c = 0; c < CELLS; c++) sum += (cells[c] - expected) * (cells[c] - expected) / expected;
    free(cells);
    assert_true(sum / CELLS > 2);
}
