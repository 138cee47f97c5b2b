#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { SMALLEST = 64 };

void buffer_free(struct buffer *buffer) {
    free(buffer->data);
    *buffer = (struct buffer){0};
}

uint8_t *buffer_grow(struct buffer *buffer, size_t extra) {
    if (extra > buffer->capacity - buffer->size || !buffer->data) {
        if (extra > SIZE_MAX / 2 - buffer->size) abort(); // more than any address space: a length gone wrong
        size_t capacity = buffer->capacity ? buffer->capacity : SMALLEST;
        while (capacity < buffer->size + extra) capacity *= 2;
        buffer->data = mem_resize(buffer->data, capacity, 1);
        buffer->capacity = capacity;
    }
    return buffer->data + buffer->size;
}

void buffer_append(struct buffer *buffer, const void *bytes, size_t size) {
    if (!size) return; // bytes may be NULL then
    memcpy(buffer_reserve(buffer, size), bytes, size);
    buffer->size += size;
}

void buffer_string(struct buffer *buffer, const char *text) { buffer_append(buffer, text, strlen(text)); }

void buffer_format(struct buffer *buffer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    uint8_t *at = buffer_reserve(buffer, SMALLEST);
    size_t room = buffer->capacity - buffer->size;
    int length = vsnprintf((char *)at, room, format, arguments);
    if (length > 0 && (size_t)length >= room) {
        at = buffer_reserve(buffer, (size_t)length + 1);
        vsnprintf((char *)at, (size_t)length + 1, format, again);
    }
    if (length > 0) buffer->size += (size_t)length;
    va_end(again);
    va_end(arguments);
}

const char *buffer_cstring(struct buffer *buffer) {
    *buffer_reserve(buffer, 1) = '\0';
    return (const char *)buffer->data;
}
