/* Many pieces of memory of one size, close together in large pages.
 *
 *     chunk (2 MiB, aligned)  | head | piece | piece | free | piece | ...      full chunks stand in no list
 *
 * Why large ones: mem_pages. The first chunk has small pages, so that a process with little in it stays small. Of the
 * chunks in which nothing is left one is kept, so that a load that goes to and fro over a chunk's edge does not map, zero and unmap
 * it each time; the others go back to the kernel. One thread at a time. Built with AddressSanitizer, pieces come from the heap, of which
 * that sees more.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stddef.h>

enum { POOL_PIECE_MAX = 64 * 1024 };

struct pool;

struct pool *pool_new(size_t size); /* of a piece: at most POOL_PIECE_MAX; a multiple of 64 is aligned to 64 */
void pool_free(struct pool *pool);  /* after the last piece was given back; NULL is fine */

void *pool_take(struct pool *pool);              /* uninitialised */
void pool_give(struct pool *pool, void *memory); /* back; NULL is fine */

size_t pool_bytes(const struct pool *pool); /* of all chunks, in use or not */

#endif
