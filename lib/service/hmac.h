/* HMAC-SHA256, by OpenSSL. Any thread. */
#pragma once

#include <openssl/evp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HMAC_SIZE = 32 };

/* False: out of memory. */
static inline bool hmac_sha256(const void *key, size_t key_size, const void *text, size_t size,
                               uint8_t digest[HMAC_SIZE]) {
    size_t digest_size;
    return EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, key, key_size, (const uint8_t *)text, size, digest, HMAC_SIZE,
                     &digest_size) != NULL;
}
