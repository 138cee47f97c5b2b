/* Takes apart what a client sends: WebSocket frames (RFC 6455, 5.2), which must be masked. Bytes may be cut anywhere. A breach
 * of the rules is told at the first byte that shows it. Pure; the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_opcode {
    FRAME_CONTINUATION = 0,
    FRAME_TEXT = 1,
    FRAME_BINARY = 2,
    FRAME_CLOSE = 8,
    FRAME_PING = 9,
    FRAME_PONG = 10
};

enum {
    FRAME_FINAL = 0x80,        /* bits of the first byte */
    FRAME_CONTROL_MAX = 125,   /* bytes of a control frame's payload */
    FRAME_HEAD_MAX = 2 + 8 + 4 /* bytes before a payload: length and mask */
};

struct frame_reader { /* all zero: at the beginning of a frame, and of a message */
    uint64_t left;    /* of the payload */
    uint8_t head[FRAME_HEAD_MAX];
    uint8_t head_size; /* bytes of it that have come */
    uint8_t mask_at;   /* of the mask's four bytes, the one for the next byte */
    bool in_message;   /* one has begun, and its last frame is still to come */
    bool in_payload;
};

/* A part of a frame's payload; `bytes` points into the input, where it was unmasked. A frame has at least one piece, and the first
 * may be empty: it comes with the frame's head. */
struct frame_piece {
    uint8_t *bytes;
    size_t size;
    uint64_t left; /* of the frame behind it; 0: it is the last */
    uint8_t opcode;
    bool begins; /* the frame */
    bool final;  /* the frame is its message's last */
};

enum frame_result {
    FRAME_WAITS, /* all bytes are taken, and there is no piece */
    FRAME_PIECE,
    FRAME_FAULT /* the connection is to be failed with 1002 */
};

/* Moves *at past the bytes that it has taken. reason: for the peer; set with FRAME_FAULT. */
enum frame_result frame_read(struct frame_reader *reader, uint8_t **at, uint8_t *end, struct frame_piece *piece,
                             const char **reason);

/* A close frame may have that code (RFC 6455, 7.4, and what IANA has registered since). */
bool frame_close_code_fits(unsigned code);
