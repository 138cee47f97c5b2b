#include "service/token_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

struct known_token {
    char *bytes; /* NULL: the slot is empty */
    size_t size;
    struct auth_claims claims;
};

struct token_cache {
    struct known_token slots[TOKEN_CACHE_SLOTS];
};

struct token_cache *token_cache_new(void) {
    return mem_zero(1, sizeof(struct token_cache));
}

static void forget(struct known_token *known) {
    if (known->bytes) explicit_bzero(known->bytes, known->size);
    free(known->bytes);
    *known = (struct known_token){.bytes = NULL};
}

void token_cache_clear(struct token_cache *cache) {
    for (size_t i = 0; i < TOKEN_CACHE_SLOTS; i++) forget(&cache->slots[i]);
}

void token_cache_free(struct token_cache *cache) {
    if (!cache) return;
    token_cache_clear(cache);
    free(cache);
}

static size_t slot_of(const char *token, size_t size) { return hash_murmur2(token, size) % TOKEN_CACHE_SLOTS; }

bool token_cache_find(const struct token_cache *cache, const char *token, size_t size, struct auth_claims *claims) {
    const struct known_token *known = &cache->slots[slot_of(token, size)];
    if (!known->bytes || known->size != size || memcmp(known->bytes, token, size) != 0) return false;
    *claims = known->claims;
    return true;
}

void token_cache_put(struct token_cache *cache, const char *token, size_t size, const struct auth_claims *claims) {
    struct known_token *known = &cache->slots[slot_of(token, size)];
    if (size > TOKEN_CACHE_LONGEST) return;
    forget(known);
    *known = (struct known_token){.bytes = mem_alloc(size), .size = size, .claims = *claims};
    memcpy(known->bytes, token, size);
}
