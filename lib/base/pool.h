/* Many pieces of memory of one size, close together in large pages.
 *
 *     chunk (2 MiB, aligned)  | head | piece | piece | free | piece | ...      full chunks stand in no list
 *
 * mem_pages (base/mem.h) says why large pages pay. The first chunk has small pages, so that a process with few pieces stays small.
 * The pool keeps one empty chunk, so that a load that goes to and fro over a chunk's edge does not map, zero and unmap it each time;
 * it returns other empty chunks to the kernel. With AddressSanitizer, pieces come from the heap, where it finds more errors.
 * One thread at a time.
 */
#pragma once

#include <stddef.h>

enum { POOL_PIECE_MAX = 64 * 1024 };

struct pool;

struct pool *pool_new(size_t size); /* of a piece: at most POOL_PIECE_MAX; a multiple of 64 is aligned to 64 */
void pool_free(struct pool *pool);  /* after the last piece was given back; NULL is fine */

void *pool_take(struct pool *pool);              /* uninitialised */
void pool_give(struct pool *pool, void *memory); /* back; NULL is fine */

size_t pool_bytes(const struct pool *pool); /* of all chunks, in use or not */
