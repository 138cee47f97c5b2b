#include "ws/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"

struct tls_pair {
    SSL_CTX *holder; /* of nothing but the chain and the key */
};

/* OpenSSL's oldest complaint of this thread, in words; the others are forgotten. */
static int refuse(const char *certificate, const char *key, struct error *error) {
    char reason[256] = "unknown";
    unsigned long code = ERR_get_error();
    if (code) ERR_error_string_n(code, reason, sizeof reason);
    ERR_clear_error();
    return error_set(error, -EINVAL, "the certificate %s and the key %s cannot be used: %s", certificate, key, reason);
}

int tls_pair_load(const char *certificate, const char *key, struct tls_pair **pair, struct error *error) {
    ERR_clear_error();
    SSL_CTX *holder = SSL_CTX_new(TLS_server_method());
    if (!holder || SSL_CTX_use_certificate_chain_file(holder, certificate) != 1 ||
        SSL_CTX_use_PrivateKey_file(holder, key, SSL_FILETYPE_PEM) != 1 || SSL_CTX_check_private_key(holder) != 1) {
        SSL_CTX_free(holder);
        return refuse(certificate, key, error);
    }
    *pair = MEM_NEW(&(struct tls_pair){.holder = holder});
    return 0;
}

void tls_pair_free(struct tls_pair *pair) {
    if (!pair) return;
    SSL_CTX_free(pair->holder);
    free(pair);
}

int64_t tls_pair_expires(const struct tls_pair *pair) {
    struct tm end = {.tm_year = 0};
    if (ASN1_TIME_to_tm(X509_get0_notAfter(SSL_CTX_get0_certificate(pair->holder)), &end) != 1) return 0;
    return timegm(&end);
}

static int take(SSL *ssl, void *context) {
    const struct tls_pair *pair = *(struct tls_pair **)context;
    STACK_OF(X509) *chain = NULL;
    SSL_CTX_get0_chain_certs(pair->holder, &chain);
    SSL_certs_clear(ssl);
    return SSL_use_cert_and_key(ssl, SSL_CTX_get0_certificate(pair->holder), SSL_CTX_get0_privatekey(pair->holder),
                                chain, 1);
}

static int choose_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *chosen_size,
                           const unsigned char *offered, unsigned offered_size, void *context) {
    static const unsigned char OURS[] = "\x08http/1.1";
    unsigned char *found;
    int result = SSL_select_next_proto(&found, chosen_size, OURS, sizeof OURS - 1, offered, offered_size);
    *chosen = found;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

SSL_CTX *tls_server_context(struct tls_pair **current) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context) abort(); /* no memory */
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_mode(context,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_cert_cb(context, take, current);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    return context;
}
