/* Verified tokens: one that is found was put with the same claims and has not expired, and the last that was put is found. */
#include "base/chance.h"
#include "service/token_cache.h"
#include "unit/kit/kit.h"

enum { TOKENS = 3 * TOKEN_CACHE_SLOTS, STEPS = 200000 };

TEST(what_is_found_was_put) {
    struct token_cache *cache = token_cache_new();
    struct chance chance = {.state = 11};
    FREED int64_t *expires = calloc(TOKENS, sizeof *expires); /* of those that were put since the last clear; 0: not */
    size_t found = 0;
    for (int64_t now = 1; now <= STEPS; now++) {
        uint32_t number = chance_next(&chance) % TOKENS;
        char token[32];
        size_t size = (size_t)snprintf(token, sizeof token, "token.of.%05u", number);
        struct auth_claims claims = {.user = -7};
        if (token_cache_find(cache, token, size, &claims)) {
            assert_true(expires[number] && claims.expires_ms == expires[number] && claims.user == number);
            assert_false(token_cache_find(cache, token, size - 1, &claims));
            found++;
        } else {
            assert_int_equal(claims.user, -7);
        }
        if (chance_next(&chance) % 3 == 0) {
            expires[number] = now + 1 + chance_next(&chance) % 100000;
            claims = (struct auth_claims){.user = number, .expires_ms = expires[number]};
            token_cache_put(cache, token, size, &claims);
            assert_true(token_cache_find(cache, token, size, &claims));
        }
        if (chance_next(&chance) % 50000 == 0) {
            token_cache_clear(cache);
            memset(expires, 0, TOKENS * sizeof *expires);
        }
    }
    assert_true(found > STEPS / 20);
    token_cache_free(cache);
}

TEST(long_tokens_are_not_kept) {
    struct token_cache *cache = token_cache_new();
    char token[TOKEN_CACHE_LONGEST + 1];
    struct auth_claims claims = {.user = 7, .expires_ms = 10};
    memset(token, 'a', sizeof token);
    token_cache_put(cache, token, sizeof token, &claims);
    assert_false(token_cache_find(cache, token, sizeof token, &claims));
    token_cache_put(cache, token, sizeof token - 1, &claims);
    assert_true(token_cache_find(cache, token, sizeof token - 1, &claims));
    token_cache_free(cache);
}
