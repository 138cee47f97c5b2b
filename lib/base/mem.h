/* Allocation that cannot fail.
 *
 * A process that the kernel refuses memory is of no more use; it aborts and is replaced (REQUIREMENTS N11), and no
 * caller carries an error path that can never be tested. Any thread. Free with free().
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t size);                              /* uninitialised */
void *mem_zero(size_t count, size_t size);                 /* like calloc */
void *mem_resize(void *memory, size_t count, size_t size); /* like reallocarray; overflow aborts */
char *mem_string(const char *text);                        /* like strdup; NULL gives NULL */
char *mem_stringn(const char *text, size_t length);
char *mem_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
