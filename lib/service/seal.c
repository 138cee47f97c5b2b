#include "service/seal.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <string.h>

enum { NONCE = 12, TAG = 16, OVERHEAD = NONCE + TAG };

bool seal_of(const char *peer_token, const char *use, struct seal *seal) {
    size_t size;
    return EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, peer_token, strlen(peer_token), (const uint8_t *)use,
                     strlen(use), seal->key, sizeof seal->key, &size) != NULL;
}

/* A nonce of chance: a key may close 2^32 texts before two of them are likely to be the same. */
static bool close_bytes(const struct seal *seal, uint64_t holder, const char *text, size_t size, uint8_t *closed) {
    uint8_t *bytes = closed + NONCE;
    int length, rest;
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    bool good = cipher && RAND_bytes(closed, NONCE) == 1 &&
                EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, seal->key, closed) == 1 &&
                EVP_EncryptUpdate(cipher, NULL, &length, (const uint8_t *)&holder, sizeof holder) == 1 &&
                EVP_EncryptUpdate(cipher, bytes, &length, (const uint8_t *)text, (int)size) == 1 &&
                EVP_EncryptFinal_ex(cipher, bytes + length, &rest) == 1 &&
                EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, TAG, bytes + size) == 1;
    EVP_CIPHER_CTX_free(cipher);
    return good;
}

bool seal_close(const struct seal *seal, uint64_t holder, const char *text, size_t size, struct buffer *out) {
    static const char DIGITS[] = "0123456789abcdef";
    uint8_t closed[SEAL_TEXT_MAX + OVERHEAD];
    if (size > SEAL_TEXT_MAX || !close_bytes(seal, holder, text, size, closed)) return false;
    for (size_t i = 0; i < size + OVERHEAD; i++) {
        buffer_byte(out, (uint8_t)DIGITS[closed[i] >> 4]);
        buffer_byte(out, (uint8_t)DIGITS[closed[i] & 15]);
    }
    return true;
}

static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_digits(const char *sealed, uint8_t *closed, size_t size) {
    for (size_t i = 0; i < size; i++) {
        int high = digit(sealed[2 * i]), low = digit(sealed[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        closed[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

bool seal_open(const struct seal *seal, uint64_t holder, const char *sealed, size_t size, struct buffer *out) {
    uint8_t closed[SEAL_TEXT_MAX + OVERHEAD], text[SEAL_TEXT_MAX + OVERHEAD];
    int length, rest;
    if (size % 2 || size < 2 * OVERHEAD || size > 2 * sizeof closed || !read_digits(sealed, closed, size / 2))
        return false;
    size_t open = size / 2 - OVERHEAD;
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    bool good = cipher && EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, seal->key, closed) == 1 &&
                EVP_DecryptUpdate(cipher, NULL, &length, (const uint8_t *)&holder, sizeof holder) == 1 &&
                EVP_DecryptUpdate(cipher, text, &length, closed + NONCE, (int)open) == 1 &&
                EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_SET_TAG, TAG, closed + NONCE + open) == 1 &&
                EVP_DecryptFinal_ex(cipher, text + length, &rest) == 1;
    EVP_CIPHER_CTX_free(cipher);
    if (good) buffer_append(out, text, open);
    return good;
}
