/* Allocation that cannot fail.
 *
 * A process that the kernel refuses memory is of no more use; it aborts and is replaced (REQUIREMENTS N11), and no
 * caller carries an error path that can never be tested. Any thread. Free with free(), but for pages.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

void *mem_alloc(size_t size);                              /* uninitialised */
void *mem_zero(size_t count, size_t size);                 /* like calloc */
void *mem_resize(void *memory, size_t count, size_t size); /* like reallocarray; overflow aborts */
char *mem_string(const char *text);                        /* like strdup; NULL gives NULL */
char *mem_stringn(const char *text, size_t length);
char *mem_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Pages from the kernel, zeroed and aligned to MEM_LARGE_PAGE. large: such pages are asked for, for what is looked at in random
 * order and is too much for the processor's caches: with small ones, finding the page costs as much as the look itself. The size
 * is a multiple of 4 KiB; given back with the same one. */
enum { MEM_LARGE_PAGE = 2 << 20 };
void *mem_pages(size_t size, bool large);
void mem_pages_free(void *memory, size_t size);

#endif
