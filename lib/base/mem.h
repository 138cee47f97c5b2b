/* Allocation that cannot fail.
 *
 * When the kernel refuses memory, the process aborts and its supervisor replaces it. So no caller carries an error path that can
 * never be tested. Any thread. Free with free(), except pages.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

void *mem_alloc(size_t size);                              /* uninitialised */
void *mem_zero(size_t count, size_t size);                 /* like calloc */
void *mem_resize(void *memory, size_t count, size_t size); /* like reallocarray; overflow aborts */

void *mem_copy(const void *memory, size_t size);
/* A copy on the heap of a value that is small enough for the stack: MEM_NEW(&(struct point){.x = 1}). */
#define MEM_NEW(...) mem_copy(__VA_ARGS__, sizeof *(__VA_ARGS__))

/* Makes room for one more item behind `count` of them: an array that is full doubles. */
#define MEM_ROOM(items, count, capacity)                                                                               \
    do {                                                                                                               \
        if ((count) < (capacity)) break;                                                                               \
        (capacity) = (capacity) ? 2 * (capacity) : 4;                                                                  \
        (items) = mem_resize((items), (capacity), sizeof *(items));                                                    \
    } while (0)

/* The same for a queue, whose items begin at `first`: it moves to the front, or doubles. */
#define MEM_ROOM_BEHIND(items, first, count, capacity)                                                                 \
    do {                                                                                                               \
        if ((first) + (count) < (capacity)) break;                                                                     \
        if ((first) > (capacity) / 2) {                                                                                \
            memmove((items), (items) + (first), (count) * sizeof *(items));                                            \
            (first) = 0;                                                                                               \
        } else {                                                                                                       \
            (capacity) = (capacity) ? 2 * (capacity) : 4;                                                              \
            (items) = mem_resize((items), (capacity), sizeof *(items));                                                \
        }                                                                                                              \
    } while (0)

/* Makes room for so many items: an array that has less gets room for twice as many. */
#define MEM_FIT(items, wanted, capacity)                                                                               \
    do {                                                                                                               \
        if ((wanted) <= (capacity)) break;                                                                             \
        (capacity) = 2 * (wanted);                                                                                     \
        (items) = mem_resize((items), (capacity), sizeof *(items));                                                    \
    } while (0)

char *mem_string(const char *text); /* like strdup; NULL gives NULL */
char *mem_stringn(const char *text, size_t length);
char *mem_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Pages from the kernel, zeroed and aligned to MEM_LARGE_PAGE. large: asks the kernel for large pages. They pay for tables that are
 * read in random order and are larger than the processor's caches: with small pages, finding the page costs as much as the read
 * itself. The size is a multiple of 4 KiB; mem_pages_free takes the same size. */
enum { MEM_LARGE_PAGE = 2 << 20 };
void *mem_pages(size_t size, bool large);
void mem_pages_free(void *memory, size_t size);
