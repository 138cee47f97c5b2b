#include "service/token.h"

#include <errno.h>
#include <inttypes.h>
#include <jwt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { KEY_MAX = 4096, SUB_MAX = 24 };

struct token_issuer {
    unsigned char key[KEY_MAX];
    size_t size;
};

int token_issuer_new(const char *hs256_key_file, struct token_issuer **issuer, struct error *error) {
    FILE *file = fopen(hs256_key_file, "re");
    if (!file) return error_set(error, -errno, "cannot read the key file %s: %s", hs256_key_file, strerror(errno));
    struct token_issuer *made = mem_zero(1, sizeof *made);
    made->size = fread(made->key, 1, sizeof made->key, file);
    fclose(file);
    if (made->size && made->key[made->size - 1] == '\n') made->size--; /* as auth.c reads it */
    if (made->size == 0) {
        free(made);
        return error_set(error, -EINVAL, "the key file %s is empty", hs256_key_file);
    }
    *issuer = made;
    return 0;
}

void token_issuer_free(struct token_issuer *issuer) {
    if (!issuer) return;
    explicit_bzero(issuer->key, sizeof issuer->key);
    free(issuer);
}

char *token_issue(struct token_issuer *issuer, int64_t user, const char *scope, int64_t expires_ms) {
    char sub[SUB_MAX];
    jwt_t *jwt = NULL;
    snprintf(sub, sizeof sub, "%" PRId64, user);
    if (jwt_new(&jwt)) abort(); /* as when memory is refused: the only way it fails */
    jwt_add_grant(jwt, "sub", sub);
    if (scope) jwt_add_grant(jwt, "scope", scope);
    jwt_add_grant_int(jwt, "exp", (long)(expires_ms / 1000));
    jwt_set_alg(jwt, JWT_ALG_HS256, issuer->key, (int)issuer->size);
    char *encoded = jwt_encode_str(jwt);
    char *token = mem_string(encoded);
    free(encoded);
    jwt_free(jwt);
    return token;
}
