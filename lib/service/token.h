/* Issuing tokens with the HS256 key: for the simulator and tests. The daemons only verify (auth.h). Any thread. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct token_issuer;

int token_issuer_new(const char *hs256_key_file, struct token_issuer **issuer, struct error *error);
void token_issuer_free(struct token_issuer *issuer); /* NULL is fine */

/* A token of the user, good until expires_ms. scope NULL: none. The caller frees. */
char *token_issue(struct token_issuer *issuer, int64_t user, const char *scope, int64_t expires_ms);
