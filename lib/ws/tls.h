/* A server's certificate chain and its key, which may be replaced while connections live: each handshake takes the current pair, and a
 * connection keeps the pair with which it was made. (OpenSSL's own way to load a new pair into a context leaves the old one
 * beside it when the kind of key has changed.) Loop's thread. */
#pragma once

#include <openssl/ssl.h>
#include <stdint.h>

#include "base/error.h"

struct tls_pair;

/* PEM files. -EINVAL with the reason: unreadable, malformed, or a key that is not the certificate's. */
int tls_pair_load(const char *certificate, const char *key, struct tls_pair **pair, struct error *error);
void tls_pair_free(struct tls_pair *pair);             /* NULL is fine */
int64_t tls_pair_expires(const struct tls_pair *pair); /* the certificate's last second, since the epoch */

/* The context of a server, whose every handshake takes *current, which must be there then. TLS 1.2 at least; speaks http/1.1 to those
 * who ask (ALPN). */
SSL_CTX *tls_server_context(struct tls_pair **current);
