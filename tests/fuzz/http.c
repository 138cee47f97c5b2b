/* Requests as anybody sends them to the HTTP servers: the head, and a chunked body, which is read the same in one piece and byte by
 * byte. */
#include <string.h>

#include "fuzz.h"
#include "service/http_parse.h"

/* The code; what was read goes into body and used. */
static int read_body(const char *text, size_t size, size_t step, struct buffer *body, size_t *used) {
    enum { ROOM = 64 };
    struct http_chunks chunks = {0};
    uint64_t excess = 0;
    int code = 0;
    for (*used = 0; code == 0 && *used < size;) {
        size_t here, part = size - *used < step ? size - *used : step;
        code = http_chunks_read(&chunks, text + *used, part, &here, body, ROOM, &excess);
        fuzz_require(here <= part && body->size <= ROOM);
        *used += here;
    }
    return code;
}

static void check_body(const char *text, size_t size) {
    struct buffer whole = {0}, bytes = {0};
    size_t whole_used, bytes_used;
    int code = read_body(text, size, size, &whole, &whole_used);
    fuzz_require(read_body(text, size, 1, &bytes, &bytes_used) == code);
    fuzz_require(whole.size == bytes.size && (!whole.size || !memcmp(whole.data, bytes.data, whole.size)));
    fuzz_require(code < 0 || whole_used == bytes_used);
    buffer_free(&whole);
    buffer_free(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct http_fault fault = {0};
    struct http_head head;
    const char *text = (const char *)data;
    size_t seen = 0;
    int end = http_head_end(text, size, &seen, &fault);
    fuzz_require(end >= 0 || (fault.status >= 400 && *fault.code));
    if (end <= 0) return 0;
    fuzz_require((size_t)end <= size);
    if (http_head_parse(text, (size_t)end, &head, &fault) == 0) {
        fuzz_require(*head.method && *head.path && !(head.chunked && head.length));
        if (head.chunked) check_body(text + end, size - (size_t)end);
    } else
        fuzz_require(fault.status >= 400 && *fault.detail);
    http_head_free(&head);
    return 0;
}
