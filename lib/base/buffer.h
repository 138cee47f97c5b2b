/* A growable run of bytes. The holder of the struct owns the bytes; a zero-initialised struct is empty and valid. One thread at a
 * time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct buffer {
    uint8_t *data;
    size_t size;     /* bytes in use */
    size_t capacity; /* bytes allocated */
};

void buffer_free(struct buffer *buffer); /* gives the memory back; the buffer is empty and valid afterwards */
static inline void buffer_clear(struct buffer *buffer) { buffer->size = 0; }

/* Makes room for at least `extra` more bytes and returns where they go; buffer_commit says how many were written. */
static inline uint8_t *buffer_reserve(struct buffer *buffer, size_t extra);
uint8_t *buffer_grow(struct buffer *buffer, size_t extra); /* the same, for when there may be no room */
static inline void buffer_commit(struct buffer *buffer, size_t written) { buffer->size += written; }

void buffer_append(struct buffer *buffer, const void *bytes, size_t size);
void buffer_string(struct buffer *buffer, const char *text);
void buffer_format(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline void buffer_byte(struct buffer *buffer, uint8_t byte);

/* Ends the content with a NUL that does not count in size, and returns it as a C string. */
const char *buffer_cstring(struct buffer *buffer);

static inline uint8_t *buffer_reserve(struct buffer *buffer, size_t extra) {
    return extra < buffer->capacity - buffer->size ? buffer->data + buffer->size : buffer_grow(buffer, extra);
}

static inline void buffer_byte(struct buffer *buffer, uint8_t byte) {
    *buffer_reserve(buffer, 1) = byte;
    buffer->size++;
}
