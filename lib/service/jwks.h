/* A JSON Web Key Set (RFC 7517) as keys that tokens are checked with. Of its keys, those for signatures of RS256 (RSA, 2048
 * bits at least), ES256 (EC, P-256) and HS256 (oct, 32 bytes at least) count; others, such as keys for encryption, are passed
 * over. A key says its algorithm, or its kind does; it is used with no other. Any one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct jwks;

struct jwks_key {
    const char *id;        /* `kid` */
    const char *algorithm; /* "RS256", "ES256" or "HS256" */
    const void *bytes;     /* PEM of the public key (ended by a NUL that does not count), or the secret */
    size_t size;
    uint32_t number; /* for auth.c, which tells by it the keys of one set from those of the next */
};

/* A key of a usable kind that is broken, too weak, without kid or with the kid of one before it is left out. -EINVAL with the reason
 * (which quotes no key): no JSON, no set, or no usable key at all. secrets: the set is not public, so that keys of HS256 may be in it;
 * else they are passed over. */
int jwks_parse(const char *text, size_t size, bool secrets, struct jwks **jwks, struct error *error);
void jwks_free(struct jwks *jwks); /* NULL is fine */

const struct jwks_key *jwks_find(const struct jwks *jwks, const char *id); /* NULL: none */
size_t jwks_count(const struct jwks *jwks);
struct jwks_key *jwks_at(struct jwks *jwks, size_t i);
/* How many keys were left out, and why the first of them was. */
size_t jwks_refused(const struct jwks *jwks, const char **reason);
