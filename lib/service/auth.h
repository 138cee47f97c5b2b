/* JWT verification: HS256 with a secret file, RS256 with a public key (PEM) file. The algorithm is pinned to the key: a token
 * is checked only against the key of the algorithm that is configured for it, so the public key is never an HMAC secret and
 * "none" is nothing. exp is required, exp and nbf are checked (60 s leeway for nbf only). Any one thread. */
#ifndef SERVICE_AUTH_H
#define SERVICE_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct auth;

struct auth_options {
    const char *
        hs256_key_file; /* "" or NULL: not accepted. The file's bytes, a trailing newline cut off. At least 32 bytes. */
    const char *rs256_public_key_file; /* "" or NULL: not accepted */
};

struct auth_claims {
    int64_t user;       /* `sub`; -1 for a gateway whose sub is no user id */
    bool gateway;       /* `scope` (space separated) holds "gateway" */
    int64_t expires_ms; /* `exp` */
};

int auth_new(const struct auth_options *options, struct auth **auth, struct error *error);
void auth_free(struct auth *auth);

/* 0; -EACCES (malformed, forged, not yet valid, no usable sub), -ETIME (expired), reason in error. No part of the token is
 * in the reason. */
int auth_verify(struct auth *auth, const char *token, size_t size, int64_t now_ms, struct auth_claims *claims,
                struct error *error);

#endif
