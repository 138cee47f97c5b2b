#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static void *checked(void *memory) {
    if (!memory) {
        fputs("out of memory\n", stderr);
        abort();
    }
    return memory;
}

void *mem_alloc(size_t size) { return checked(malloc(size ? size : 1)); }

void *mem_zero(size_t count, size_t size) { return checked(count && size ? calloc(count, size) : calloc(1, 1)); }

void *mem_copy(const void *memory, size_t size) { return memcpy(mem_alloc(size), memory, size); }

void *mem_resize(void *memory, size_t count, size_t size) {
    // realloc to nothing would free the memory and return NULL.
    return checked(count && size ? reallocarray(memory, count, size) : realloc(memory, 1));
}

char *mem_string(const char *text) { return text ? mem_stringn(text, strlen(text)) : NULL; }

char *mem_stringn(const char *text, size_t length) {
    char *copy = mem_alloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *mem_format(const char *format, ...) {
    char *text;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) text = NULL;
    va_end(arguments);
    return checked(text);
}

void *mem_pages(size_t size, bool large) {
    void *mapped = mmap(NULL, size + MEM_LARGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *memory = checked(mapped == MAP_FAILED ? NULL : mapped);
    size_t before = (MEM_LARGE_PAGE - (uintptr_t)memory % MEM_LARGE_PAGE) % MEM_LARGE_PAGE;
    if (before) munmap(memory, before);
    munmap(memory + before + size, MEM_LARGE_PAGE - before);
    if (large) madvise(memory + before, size, MADV_HUGEPAGE);
    return memory + before;
}

void mem_pages_free(void *memory, size_t size) { munmap(memory, size); }
