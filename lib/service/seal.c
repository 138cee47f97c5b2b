#include "service/seal.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <string.h>

#include "base/text.h"
#include "service/hmac.h"

enum { NONCE = 12, TAG = 16, OVERHEAD = NONCE + TAG };

bool seal_of(const char *peer_token, const char *use, struct seal *seal) {
    return hmac_sha256(peer_token, strlen(peer_token), use, strlen(use), seal->key);
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
    uint8_t closed[SEAL_TEXT_MAX + OVERHEAD], base64[(SEAL_TEXT_MAX + OVERHEAD) / 3 * 4 + 5];
    if (size > SEAL_TEXT_MAX || !close_bytes(seal, holder, text, size, closed)) return false;
    int length = EVP_EncodeBlock(base64, closed, (int)(size + OVERHEAD));
    for (int i = 0; i < length && base64[i] != '='; i++)
        buffer_byte(out, base64[i] == '+' ? '-' : base64[i] == '/' ? '_' : base64[i]);
    return true;
}

bool seal_open(const struct seal *seal, uint64_t holder, const char *sealed, size_t size, struct buffer *out) {
    uint8_t text[SEAL_TEXT_MAX];
    int length, rest;
    struct buffer closed = {.data = NULL};
    bool good = size <= (SEAL_TEXT_MAX + OVERHEAD) * 2 && text_base64url(&closed, sealed, size) &&
                closed.size >= OVERHEAD && closed.size - OVERHEAD <= SEAL_TEXT_MAX;
    size_t open = good ? closed.size - OVERHEAD : 0;
    EVP_CIPHER_CTX *cipher = good ? EVP_CIPHER_CTX_new() : NULL;
    good = cipher && EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, seal->key, closed.data) == 1 &&
           EVP_DecryptUpdate(cipher, NULL, &length, (const uint8_t *)&holder, sizeof holder) == 1 &&
           EVP_DecryptUpdate(cipher, text, &length, closed.data + NONCE, (int)open) == 1 &&
           EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_SET_TAG, TAG, closed.data + NONCE + open) == 1 &&
           EVP_DecryptFinal_ex(cipher, text + length, &rest) == 1;
    EVP_CIPHER_CTX_free(cipher);
    buffer_free(&closed);
    if (good) buffer_append(out, text, open);
    return good;
}
