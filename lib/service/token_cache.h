/* Tokens that were verified a while ago, so that their signatures need not be computed for each request: a table of fixed size by the
 * token's hash, in which a newer token takes the place of an older one. A token is known only if all its bytes are the same. One thread. */
#pragma once

#include "service/auth.h"

enum { TOKEN_CACHE_SLOTS = 8192, TOKEN_CACHE_LONGEST = 2048 /* bytes; longer ones are not kept */ };

struct token_cache;

struct token_cache *token_cache_new(void);
void token_cache_free(struct token_cache *cache); /* NULL is fine */

/* False: it is not known. One that has expired is, so that its life does not begin anew. */
bool token_cache_find(const struct token_cache *cache, const char *token, size_t size, struct auth_claims *claims);
void token_cache_put(struct token_cache *cache, const char *token, size_t size, const struct auth_claims *claims);
void token_cache_clear(struct token_cache *cache); /* other keys count now */
