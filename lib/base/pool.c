#include "base/pool.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"

#ifdef __SANITIZE_ADDRESS__
enum { ON_HEAP = 1 };
#else
enum { ON_HEAP = 0 };
#endif

enum { CHUNK = MEM_LARGE_PAGE, LINE = 64 };

struct free_piece {
    struct free_piece *next;
};

struct chunk {
    struct chunk *next, **link; /* pool->open, while a piece is free; link NULL: it is full, or the spare one */
    struct chunk *all_next, **all_link;
    struct free_piece *given; /* pieces that were given back */
    uint32_t fresh;           /* pieces from here on were never taken */
    uint32_t taken;
};

struct pool {
    size_t size;
    uint32_t pieces; /* of a chunk */
    uint32_t chunks;
    struct chunk *open, *all;
    struct chunk *spare; /* in which nothing is left, in no list; or NULL */
};

struct pool *pool_new(size_t size) {
    assert(size >= sizeof(struct free_piece) && size <= POOL_PIECE_MAX);
    return MEM_NEW(&(struct pool){.size = size, .pieces = (uint32_t)((CHUNK - LINE) / size)});
}

static void list_add(struct pool *pool, struct chunk *chunk) {
    chunk->next = pool->open;
    chunk->link = &pool->open;
    if (chunk->next) chunk->next->link = &chunk->next;
    pool->open = chunk;
}

static void list_remove(struct chunk *chunk) {
    *chunk->link = chunk->next;
    if (chunk->next) chunk->next->link = chunk->link;
    chunk->link = NULL;
}

static struct chunk *chunk_new(struct pool *pool) {
    struct chunk *chunk = mem_pages(CHUNK, pool->chunks > 0);
    *chunk = (struct chunk){.all_next = pool->all, .all_link = &pool->all};
    if (pool->all) pool->all->all_link = &chunk->all_next;
    pool->all = chunk;
    pool->chunks++;
    list_add(pool, chunk);
    return chunk;
}

static void chunk_free(struct pool *pool, struct chunk *chunk) {
    *chunk->all_link = chunk->all_next;
    if (chunk->all_next) chunk->all_next->all_link = chunk->all_link;
    pool->chunks--;
    mem_pages_free(chunk, CHUNK);
}

void pool_free(struct pool *pool) {
    if (!pool) return;
    while (pool->all) chunk_free(pool, pool->all);
    free(pool);
}

static struct chunk *chunk_open(struct pool *pool) {
    struct chunk *chunk = pool->spare;
    if (!chunk) return chunk_new(pool);
    pool->spare = NULL;
    list_add(pool, chunk);
    return chunk;
}

void *pool_take(struct pool *pool) {
    if (ON_HEAP) return mem_alloc(pool->size);
    struct chunk *chunk = pool->open ? pool->open : chunk_open(pool);
    if (++chunk->taken == pool->pieces) list_remove(chunk);
    struct free_piece *piece = chunk->given;
    if (!piece) return (uint8_t *)chunk + LINE + chunk->fresh++ * pool->size;
    chunk->given = piece->next;
    return piece;
}

void pool_give(struct pool *pool, void *memory) {
    if (!memory) return;
    if (ON_HEAP) {
        free(memory);
        return;
    }
    struct chunk *chunk = (struct chunk *)((uintptr_t)memory & ~(uintptr_t)(CHUNK - 1));
    struct free_piece *piece = memory;
    piece->next = chunk->given;
    chunk->given = piece;
    chunk->taken--;
    if (!chunk->link) list_add(pool, chunk);
    if (chunk->taken) return;
    list_remove(chunk);
    if (pool->spare)
        chunk_free(pool, chunk);
    else
        pool->spare = chunk;
}

size_t pool_bytes(const struct pool *pool) { return sizeof *pool + pool->chunks * (size_t)CHUNK; }
