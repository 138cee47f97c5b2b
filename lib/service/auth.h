/* JWT verification: by the keys of a JWKS, which may rotate, and by a secret file (HS256) and a public key (PEM) file
 * (RS256). A token whose `kid` is in the JWKS is checked by that key alone; any other by the file of its algorithm. The
 * algorithm is pinned to the key: what a token says of it must be the key's, so that a public key is never an HMAC secret and
 * "none" is nothing. exp is required, exp and nbf are checked (60 s leeway for nbf only), the longest life, and aud and iss where
 * the options say what they must be. Any one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "service/external_id.h"

struct auth;

struct auth_options {
    const char *
        hs256_key_file; /* "" or NULL: not accepted. The file's bytes, a trailing newline cut off. At least 32 bytes. */
    const char *rs256_public_key_file; /* "" or NULL: not accepted */
    const char *jwks_file;             /* JSON Web Key Set; "" or NULL: none */
    bool jwks_fetched;                 /* the set comes by auth_take_keys; there is no jwks_file then */
    const char *audience, *issuer; /* what `aud` must be or hold one of (a list), what `iss` must be; "" or NULL: any */
    const char *audience_claim;    /* where the audience stands; "" or NULL: in `aud` */
    const char *user_claim;        /* where the user id stands: a name, or names with dots; "" or NULL: in `sub` */
    bool directory;                /* the user id is a text (external_id.h), not a number */
    int64_t max_life_ms;           /* of a token, from its iat on, or else from when it is first seen; 0: any */
};

struct auth_claims {
    int64_t user; /* `sub`; -1 for a gateway whose sub is no user id. With `external`: if its place is 0 */
    char external[EXTERNAL_ID_SIZE]; /* the id is this text, and the number is in the directory; "": it is a number */
    bool gateway;                    /* `scope` (space separated) holds "gateway" */
    bool moderator;                  /* `scope` holds "moderator" */
    int32_t level;      /* `level`, the user's account level; 0 where it is no whole number from 0 to 2^31-1 */
    int64_t expires_ms; /* `exp`, or the end of its longest life */
    uint32_t key;       /* that it was checked with: auth_has_key */
};

int auth_new(const struct auth_options *options, struct auth **auth, struct error *error);
void auth_free(struct auth *auth);

/* Reads the JWKS file again if it has changed since: 1 it has, and its keys count from now on; 0 it has not; negative: it
 * cannot be used, with the reason in error (said once a change), and the keys are as before. */
int auth_refresh(struct auth *auth, struct error *error);
/* Takes a set that was fetched (jwks_fetched): 1, 0 and negative as auth_refresh. What everybody can fetch holds no secrets: keys of HS256
 * in it do not count. */
int auth_take_keys(struct auth *auth, const char *text, size_t size, struct error *error);
/* A token was refused since the last call because its `kid` is not in the set: a newer set may have it. */
bool auth_missed(struct auth *auth);
size_t auth_keys(const struct auth *auth); /* how many keys count */
/* How many keys of the JWKS are left out, and why the first of them is. */
size_t auth_refused_keys(const struct auth *auth, const char **reason);
/* A key of claims still counts; the answer changes with the count of changes only. */
bool auth_has_key(const struct auth *auth, uint32_t key);
uint32_t auth_changes(const struct auth *auth);

/* The same as auth_verify for a token that was verified before, which costs next to nothing. -ENOENT: it is not remembered. */
int auth_recall(const struct auth *auth, const char *token, size_t size, int64_t now_ms, struct auth_claims *claims,
                struct error *error);

/* A token that was verified before is not computed anew, unless keys have changed since. 0; -EACCES (malformed, forged, not yet valid, for others, no usable sub), -ETIME (expired), reason in error. No part of the token is
 * in the reason. */
int auth_verify(struct auth *auth, const char *token, size_t size, int64_t now_ms, struct auth_claims *claims,
                struct error *error);
