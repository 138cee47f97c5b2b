/* Texts that strangers carry and give back, but may neither read nor make: encrypted and authenticated (AES-256-GCM) by a key that all
 * processes with the same peer.token have. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum { SEAL_KEY_SIZE = 32, SEAL_TEXT_MAX = 512 /* bytes */ };

struct seal {
    uint8_t key[SEAL_KEY_SIZE];
};

/* use: what the texts are for; those of another use do not open. False: the library of ciphers failed. */
bool seal_of(const char *peer_token, const char *use, struct seal *seal);

/* Appends the sealed text in base64url: four characters for three bytes of it and of 28 more. It opens for that holder alone. False: the
 * text is too long, or the library of ciphers failed. */
bool seal_close(const struct seal *seal, uint64_t holder, const char *text, size_t size, struct buffer *out);
/* Appends the text. False: it is not what seal_close made for the holder. */
bool seal_open(const struct seal *seal, uint64_t holder, const char *sealed, size_t size, struct buffer *out);
