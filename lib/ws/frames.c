#include "ws/frames.h"

#include <string.h>

enum { OPCODE = 0x0f, RESERVED = 0x70, MASKED = 0x80, LENGTH = 0x7f, LENGTH_16 = 126, LENGTH_64 = 127, MASK = 4 };

/* The fault of the first byte; NULL: it has none. */
static const char *first_fault(const struct frame_reader *reader) {
    uint8_t first = reader->head[0], opcode = first & OPCODE;
    bool control = opcode & FRAME_CLOSE, starts = opcode == FRAME_TEXT || opcode == FRAME_BINARY;
    if (opcode > FRAME_PONG || (opcode > FRAME_BINARY && opcode < FRAME_CLOSE)) return "bad opc";
    if (control && !(first & FRAME_FINAL)) return "frag ctl";
    if (!control && starts == reader->in_message) return "bad cont";
    if (first & RESERVED) return "rsv bits"; /* those of extensions, of which there are none */
    return NULL;
}

static const char *length_fault(const struct frame_reader *reader) {
    if (!(reader->head[1] & MASKED)) return "not masked"; /* RFC 6455, 5.1 */
    if (reader->head[0] & FRAME_CLOSE && (reader->head[1] & LENGTH) > FRAME_CONTROL_MAX) return "long ctl";
    return NULL;
}

static size_t head_whole_size(const struct frame_reader *reader) {
    if (reader->head_size < 2) return 2;
    unsigned length = reader->head[1] & LENGTH;
    return 2 + (length == LENGTH_64 ? 8 : length == LENGTH_16 ? 2 : 0) + MASK;
}

static uint64_t payload_size(const struct frame_reader *reader) {
    unsigned length = reader->head[1] & LENGTH;
    uint64_t size = 0;
    if (length < LENGTH_16) return length;
    for (int i = 0, bytes = length == LENGTH_16 ? 2 : 8; i < bytes; i++) size = size << 8 | reader->head[2 + i];
    return size;
}

/* The head's next bytes; true: it is whole, or there is a fault. */
static bool head_read(struct frame_reader *reader, uint8_t **at, const uint8_t *end, const char **reason) {
    *reason = NULL;
    while (reader->head_size < head_whole_size(reader)) {
        if (*at == end) return false;
        reader->head[reader->head_size++] = *(*at)++;
        if (reader->head_size == 1) *reason = first_fault(reader);
        if (reader->head_size == 2) *reason = length_fault(reader);
        if (*reason) return true;
    }
    reader->left = payload_size(reader);
    if (reader->left >> 63) *reason = "bad length";
    return true;
}

static void unmask(struct frame_reader *reader, uint8_t *bytes, size_t size) {
    uint8_t mask[8];
    const uint8_t *key = reader->head + reader->head_size - MASK;
    for (size_t i = 0; i < sizeof mask; i++) mask[i] = key[(reader->mask_at + i) % MASK];
    reader->mask_at = (uint8_t)((reader->mask_at + size) % MASK);
    uint64_t eight, wide;
    memcpy(&wide, mask, sizeof wide);
    for (; size >= sizeof eight; bytes += sizeof eight, size -= sizeof eight) {
        memcpy(&eight, bytes, sizeof eight);
        eight ^= wide;
        memcpy(bytes, &eight, sizeof eight);
    }
    for (size_t i = 0; i < size; i++) bytes[i] ^= mask[i];
}

enum frame_result frame_read(struct frame_reader *reader, uint8_t **at, uint8_t *end, struct frame_piece *piece,
                             const char **reason) {
    bool begins = !reader->in_payload;
    if (begins) {
        if (!head_read(reader, at, end, reason)) return FRAME_WAITS;
        if (*reason) return FRAME_FAULT;
        reader->in_payload = true;
        reader->mask_at = 0;
    } else if (*at == end) {
        return FRAME_WAITS;
    }
    size_t there = (size_t)(end - *at), size = reader->left < there ? (size_t)reader->left : there;
    uint8_t first = reader->head[0];
    unmask(reader, *at, size);
    reader->left -= size;
    *piece = (struct frame_piece){
        .bytes = *at,
        .size = size,
        .left = reader->left,
        .opcode = first & OPCODE,
        .begins = begins,
        .final = first & FRAME_FINAL,
    };
    *at += size;
    if (!reader->left) {
        if (!(first & FRAME_CLOSE)) reader->in_message = !(first & FRAME_FINAL);
        reader->in_payload = false;
        reader->head_size = 0;
    }
    return FRAME_PIECE;
}

bool frame_close_code_fits(unsigned code) {
    enum { LOWEST = 1000, RESERVED_CODE = 1004, NO_CODE = 1005, VANISHED = 1006, HIGHEST_REGISTERED = 1014 };
    if (code == RESERVED_CODE || code == NO_CODE || code == VANISHED) return false;
    return (code >= LOWEST && code <= HIGHEST_REGISTERED) || (code >= 3000 && code < 5000);
}
