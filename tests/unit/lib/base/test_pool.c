/* Pieces of one size: that none is given to two, and that what is empty goes back. */
#include <sys/resource.h>

#include "base/pool.h"
#include "unit/kit/kit.h"

enum { PIECES = 900, STEPS = 40000 };

/* Each piece is filled with its own byte, so that whoever else has it shows. */
static void fill(uint8_t *piece, size_t size, size_t which) { memset(piece, (int)(which % 251), size); }

static void check(const uint8_t *piece, size_t size, size_t which) {
    for (size_t i = 0; i < size; i += 7) assert_int_equal(piece[i], which % 251);
}

TEST(pieces_are_nobody_elses) {
    static const size_t SIZES[] = {16, 64, 448, 12288, POOL_PIECE_MAX};
    for (size_t s = 0; s < sizeof SIZES / sizeof *SIZES; s++) {
        size_t size = SIZES[s], most = 0;
        struct pool *pool = pool_new(size);
        uint8_t **pieces = mem_zero(PIECES, sizeof *pieces);
        for (uint64_t step = 0; step < STEPS; step++) {
            size_t which = hash_u64(step) % PIECES;
            bool filling = step / PIECES % 4 != 3; /* mostly full, and now and then nearly empty */
            if (pieces[which]) {
                check(pieces[which], size, which);
                if (filling && step % 3) continue;
                pool_give(pool, pieces[which]);
                pieces[which] = NULL;
            } else if (filling) {
                pieces[which] = pool_take(pool);
                fill(pieces[which], size, which);
            }
            if (pool_bytes(pool) > most) most = pool_bytes(pool);
        }
        for (size_t i = 0; i < PIECES; i++) pool_give(pool, pieces[i]);
        assert_true(pool_bytes(pool) <= most);
        pool_free(pool);
        free(pieces);
    }
}

#ifndef __SANITIZE_ADDRESS__
TEST(what_is_empty_goes_back) {
    enum { SIZE = 4096, MANY = 5000 };
    static void *pieces[MANY];
    struct pool *pool = pool_new(SIZE);
    for (size_t i = 0; i < MANY; i++) pieces[i] = pool_take(pool);
    size_t full = pool_bytes(pool);
    assert_true(full >= (size_t)MANY * SIZE && full < (size_t)MANY * SIZE + (4 << 20));
    for (size_t i = 0; i < MANY; i++) assert_int_equal((uintptr_t)pieces[i] % 64, 0);
    for (size_t i = 0; i < MANY; i++) pool_give(pool, pieces[i]);
    assert_true(pool_bytes(pool) <= 3 << 20);
    for (size_t i = 0; i < MANY; i++) pieces[i] = pool_take(pool);
    assert_int_equal(pool_bytes(pool), full);
    for (size_t i = MANY; i > 0; i--) pool_give(pool, pieces[i - 1]);
    pool_give(pool, NULL);
    pool_free(pool);
}

/* Page faults tell: a chunk that was unmapped and mapped again is touched for the first time again. */
static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

TEST(to_and_fro_over_an_edge_costs_nothing) {
    enum { SIZE = 4096, ROUNDS = 1000, KEPT = 2 };
    static void *pieces[2048];
    struct pool *pool = pool_new(SIZE);
    size_t count = 0;
    while (pool_bytes(pool) < (KEPT + 1) * (size_t)MEM_LARGE_PAGE) pieces[count++] = pool_take(pool);
    size_t bytes = pool_bytes(pool);
    long before = faults();
    for (int round = 0; round < ROUNDS; round++) { /* the newest piece is the one over the edge */
        pool_give(pool, pieces[count - 1]);
        assert_int_equal(pool_bytes(pool), bytes);
        pieces[count - 1] = pool_take(pool);
        memset(pieces[count - 1], 1, SIZE);
        assert_int_equal(pool_bytes(pool), bytes);
    }
    assert_true(faults() - before < ROUNDS / 2);
    /* One is kept, not every one. */
    while (count) pool_give(pool, pieces[--count]);
    assert_true(pool_bytes(pool) < 2 * (size_t)MEM_LARGE_PAGE);
    /* And it is whole: its pieces are nobody else's. */
    while (pool_bytes(pool) < bytes) {
        pieces[count] = pool_take(pool);
        fill(pieces[count], SIZE, count);
        count++;
    }
    for (size_t i = 0; i < count; i++) check(pieces[i], SIZE, i);
    while (count) pool_give(pool, pieces[--count]);
    pool_free(pool);
}
#endif
