/* The body of an answer while it is sent: bytes in memory, a file, or bytes that are packed on the way. Loop's thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_packing;

/* A zero-initialised one is empty. */
struct http_body {
    const char *bytes; /* the next ones; NULL: in a file, or not yet packed */
    uint64_t left;     /* unknown while it is packed */
    void *owned;       /* freed at the end; NULL: the bytes are somebody else's */
    bool lent;         /* the bytes are valid only until http_answer returns */
    bool file;
    bool plain; /* what is packed goes out without chunks, up to the connection's end */
    int fd;     /* of the file: read from its position, closed at the end */
    struct http_packing *packing;
};

void http_body_free(struct http_body *body); /* empty and valid afterwards */
size_t http_body_held(
    const struct http_body *body); /* bytes of memory that it has, or will have when the client takes its time */
