/* Signatures of tokens (RFC 7515, 7518) by RS256, ES256 and HS256. Pure; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether the key, which is of that algorithm, has signed the text. key: PEM of the public key, or the secret of HS256. */
bool signature_good(const char *algorithm, const void *key, size_t key_size, const void *text, size_t size,
                    const void *signature, size_t signature_size);
