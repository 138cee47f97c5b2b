#include "service/signature.h"

#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdint.h>
#include <string.h>

#include "service/hmac.h"

enum { ES256_NUMBER = 32 /* bytes of each of the two */, DER_MAX = 80 };

static bool hs256(const void *key, size_t key_size, const void *text, size_t size, const void *signature,
                  size_t signature_size) {
    uint8_t digest[HMAC_SIZE];
    return hmac_sha256(key, key_size, text, size, digest) && signature_size == sizeof digest &&
           !CRYPTO_memcmp(signature, digest, sizeof digest);
}

/* A token has the two numbers of a signature one behind the other, OpenSSL wants them in DER. Returns the size, 0: they are none. */
static size_t es256_der(const uint8_t *signature, size_t size, uint8_t der[DER_MAX]) {
    if (size != 2 * ES256_NUMBER) return 0;
    ECDSA_SIG *numbers = ECDSA_SIG_new();
    if (!numbers) return 0;
    BIGNUM *r = BN_bin2bn(signature, ES256_NUMBER, NULL), *s = BN_bin2bn(signature + ES256_NUMBER, ES256_NUMBER, NULL);
    uint8_t *end = der;
    int length = 0;
    if (ECDSA_SIG_set0(numbers, r, s)) {
        length = i2d_ECDSA_SIG(numbers, &end);
    } else {
        BN_free(r);
        BN_free(s);
    }
    ECDSA_SIG_free(numbers);
    return length > 0 ? (size_t)length : 0;
}

static EVP_PKEY *read_public_key(const void *pem, size_t size) {
    BIO *bio = BIO_new_mem_buf(pem, (int)size);
    EVP_PKEY *key = bio ? PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL) : NULL;
    BIO_free(bio);
    return key;
}

static bool by_public_key(int kind, const void *pem, size_t pem_size, const void *text, size_t size,
                          const void *signature, size_t signature_size) {
    EVP_PKEY *key = read_public_key(pem, pem_size);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool good = key && context && EVP_PKEY_get_base_id(key) == kind &&
                EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
                EVP_DigestVerify(context, signature, signature_size, text, size) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    return good;
}

bool signature_good(const char *algorithm, const void *key, size_t key_size, const void *text, size_t size,
                    const void *signature, size_t signature_size) {
    uint8_t der[DER_MAX];
    if (!strcmp(algorithm, "HS256")) return hs256(key, key_size, text, size, signature, signature_size);
    if (!strcmp(algorithm, "RS256"))
        return by_public_key(EVP_PKEY_RSA, key, key_size, text, size, signature, signature_size);
    size_t der_size = strcmp(algorithm, "ES256") ? 0 : es256_der(signature, signature_size, der);
    return der_size && by_public_key(EVP_PKEY_EC, key, key_size, text, size, der, der_size);
}
