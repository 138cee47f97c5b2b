/* Requests as a socket brings them to a server of HTTP: heads, addresses and chunked bodies. They are read alike in one piece and byte by byte. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "http/chunks.h"
#include "http/head.h"
#include "http/target.h"

/* The body's size and the sum of its bytes; -1: it is broken. */
static int64_t take_chunks(const char *bytes, size_t size, size_t step, size_t *end) {
    struct http_chunks chunks = {.state = CHUNK_SIZE};
    int64_t sum = 0;
    size_t at = 0;
    while (at < size && chunks.state != CHUNK_DONE) {
        size_t part, room = step < size - at ? step : size - at;
        ssize_t over = http_chunks_read(&chunks, bytes + at, room, &part);
        if (over < 0) return -1;
        fuzz_require((size_t)over + part > 0 && (size_t)over + part <= room);
        for (size_t i = 0; i < part; i++) sum += 256 + bytes[at + (size_t)over + i];
        at += (size_t)over + part;
    }
    *end = chunks.state == CHUNK_DONE ? at : 0;
    return sum;
}

static void take_body(const char *bytes, size_t size) {
    size_t whole = 0, slow = 0;
    int64_t sum = take_chunks(bytes, size, size, &whole);
    fuzz_require(take_chunks(bytes, size, 1, &slow) == sum && slow == whole);
}

static void take_target(char *target) {
    struct http_field parameters[HTTP_PARAMETERS_MAX];
    size_t count = HTTP_PARAMETERS_MAX;
    if (!http_target_read(target, parameters, &count)) return;
    fuzz_require(*target == '/' || *target == '*');
    for (size_t i = 0; i < count; i++)
        fuzz_require(strlen(parameters[i].name) + strlen(parameters[i].value) <= HTTP_TARGET_MAX);
}

static void take_head(char *text, size_t size) {
    static struct http_head head;
    struct http_fault fault = {.status = 0};
    struct buffer values = {.size = 0};
    if (http_head_read(text, size, &head, &fault)) {
        fuzz_require(fault.status >= 400 && *fault.code && *fault.detail);
        return;
    }
    fuzz_require(head.host || !head.minor);
    fuzz_require(!head.chunked || !head.length);
    for (size_t i = 0; i < head.field_count; i++) {
        fuzz_require(http_is_token(head.fields[i].name, strlen(head.fields[i].name)));
        fuzz_require(http_is_value(head.fields[i].value, strlen(head.fields[i].value)));
    }
    http_field_gather(head.fields, head.field_count, "X-Forwarded-For", &values);
    buffer_free(&values);
    take_target(head.target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = mem_alloc(size + 1);
    struct http_fault fault;
    memcpy(text, data, size);
    ssize_t whole = http_head_size(text, size, 0), slow = 0;
    for (size_t known = 0; known < size && !slow; known++) slow = http_head_size(text, known + 1, known);
    fuzz_require(slow == whole);
    http_head_exceeds(text, size, &fault);
    if (whole > 0) {
        take_body(text + whole, size - (size_t)whole);
        take_head(text, (size_t)whole);
    }
    free(text);
    return 0;
}
