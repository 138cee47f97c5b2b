#include "service/external_id.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

enum { HASH_BITS = 50 };

bool external_id_is(const char *text, size_t size) {
    if (!size || size > EXTERNAL_ID_MAX) return false;
    for (size_t i = 0; i < size; i++)
        if (text[i] <= ' ' || text[i] >= 0x7f) return false;
    return true;
}

int64_t external_id_number(const char *text) {
    uint8_t digest[EVP_MAX_MD_SIZE];
    size_t size = 0;
    if (!EVP_Q_digest(NULL, "SHA256", NULL, text, strlen(text), digest, &size))
        abort(); // out of memory, which base/mem.h cannot see here
    uint64_t hash = bytes_get_be64(digest) >> (64 - HASH_BITS);
    return (int64_t)(UINT64_C(1) << 52 | hash * EXTERNAL_ID_PLACES);
}
