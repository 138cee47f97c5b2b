#include "service/jwks.h"

#include <errno.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/text.h"
#include "json/json.h"

enum {
    RSA_BITS_MIN = 2048,
    SECRET_MIN = 32,  /* RFC 7518, 3.2: as long as the hash */
    P256_BYTES = 32,  /* of a coordinate */
    VALUE_MAX = 4096, /* characters of one member */
    KEYS_MAX = 1000
};

struct jwks {
    struct jwks_key *keys;
    size_t count, refused;
    struct error first_refused;
    bool secrets; /* keys of HS256 count */
};

static void key_free(struct jwks_key *key) {
    void *bytes = (void *)(uintptr_t)key->bytes;
    if (bytes) explicit_bzero(bytes, key->size);
    free(bytes);
    free((void *)(uintptr_t)key->id);
}

void jwks_free(struct jwks *jwks) {
    if (!jwks) return;
    for (size_t i = 0; i < jwks->count; i++) key_free(&jwks->keys[i]);
    free(jwks->keys);
    free(jwks);
}

const struct jwks_key *jwks_find(const struct jwks *jwks, const char *id) {
    for (size_t i = 0; i < jwks->count; i++)
        if (!strcmp(jwks->keys[i].id, id)) return &jwks->keys[i];
    return NULL;
}

size_t jwks_count(const struct jwks *jwks) { return jwks->count; }

struct jwks_key *jwks_at(struct jwks *jwks, size_t i) {
    return &jwks->keys[i];
}

size_t jwks_refused(const struct jwks *jwks, const char **reason) {
    *reason = jwks->first_refused.text;
    return jwks->refused;
}

/* A member in base64url, appended to out. */
static int member_bytes(const json_t *key, const char *name, struct buffer *out, struct error *error) {
    const char *text;
    if (json_want_text(key, name, &text, NULL)) return error_set(error, -EINVAL, "\"%s\" is missing or no text", name);
    size_t length = strlen(text);
    if (length && length <= VALUE_MAX && text_base64url(out, text, length)) return 0;
    return error_set(error, -EINVAL, "\"%s\" is no base64url", name);
}

/* Makes a public key of the parameters and writes it as PEM. Takes the builder. */
static int to_pem(const char *kind, OSSL_PARAM_BLD *builder, int bits_min, struct jwks_key *made, struct error *error) {
    EVP_PKEY *key = NULL;
    char *text;
    int code = 0;
    OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, kind, NULL), *check = NULL;
    BIO *pem = BIO_new(BIO_s_mem());
    if (!parameters || !context || !pem || EVP_PKEY_fromdata_init(context) != 1 ||
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) != 1 ||
        !(check = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL)) || EVP_PKEY_public_check(check) != 1) {
        code = error_set(error, -EINVAL, "it is no public key");
        goto finish;
    }
    if (EVP_PKEY_get_bits(key) < bits_min) {
        code = error_set(error, -EINVAL, "it has fewer than %d bits", bits_min);
        goto finish;
    }
    PEM_write_bio_PUBKEY(pem, key);
    long size = BIO_get_mem_data(pem, &text);
    made->bytes = mem_stringn(text, (size_t)size);
    made->size = (size_t)size;
finish:
    EVP_PKEY_CTX_free(check);
    BIO_free(pem);
    EVP_PKEY_free(key);
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(parameters);
    return code;
}

static int rsa_key(const json_t *json, struct jwks_key *made, struct error *error) {
    struct buffer n = {0}, e = {0};
    int code = member_bytes(json, "n", &n, error);
    if (!code) code = member_bytes(json, "e", &e, error);
    if (!code) {
        OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
        BIGNUM *modulus = BN_bin2bn(n.data, (int)n.size, NULL), *exponent = BN_bin2bn(e.data, (int)e.size, NULL);
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus);
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent);
        code = to_pem("RSA", builder, RSA_BITS_MIN, made, error);
        OSSL_PARAM_BLD_free(builder);
        BN_free(modulus);
        BN_free(exponent);
    }
    buffer_free(&n);
    buffer_free(&e);
    return code;
}

static int ec_key(const json_t *json, struct jwks_key *made, struct error *error) {
    struct buffer point = {0};
    buffer_byte(&point, POINT_CONVERSION_UNCOMPRESSED);
    int code = member_bytes(json, "x", &point, error);
    if (!code && point.size != 1 + P256_BYTES) code = error_set(error, -EINVAL, "\"x\" is not of %d bytes", P256_BYTES);
    if (!code) code = member_bytes(json, "y", &point, error);
    if (!code && point.size != 1 + 2 * P256_BYTES)
        code = error_set(error, -EINVAL, "\"y\" is not of %d bytes", P256_BYTES);
    if (!code) {
        OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
        OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0);
        OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point.data, point.size);
        code = to_pem("EC", builder, 0, made, error);
        OSSL_PARAM_BLD_free(builder);
    }
    buffer_free(&point);
    return code;
}

static int secret_key(const json_t *json, struct jwks_key *made, struct error *error) {
    struct buffer secret = {0};
    int code = member_bytes(json, "k", &secret, error);
    if (!code && secret.size < SECRET_MIN)
        code = error_set(error, -EINVAL, "\"k\" has fewer than %d bytes", SECRET_MIN);
    if (!code) {
        uint8_t *bytes = mem_alloc(secret.size);
        memcpy(bytes, secret.data, secret.size);
        made->bytes = bytes;
        made->size = secret.size;
    }
    if (secret.data) explicit_bzero(secret.data, secret.size);
    buffer_free(&secret);
    return code;
}

static const struct key_kind {
    const char *type, *curve, *algorithm;
    int (*read)(const json_t *json, struct jwks_key *made, struct error *error);
} KINDS[] = {
    {"RSA", NULL, "RS256", rsa_key},
    {"EC", "P-256", "ES256", ec_key},
    {"oct", NULL, "HS256", secret_key},
};

static bool is(const json_t *json, const char *name, const char *wanted, bool if_absent) {
    const char *text;
    int code = json_want_text(json, name, &text, NULL);
    return code == 0 ? !strcmp(text, wanted) : code == -ENOENT && if_absent;
}

/* "key_ops" (RFC 7517, 4.3), where a key has it, must name what is done with the key here. */
static bool is_to_verify(const json_t *json) {
    const json_t *operations = json_object_get(json, "key_ops");
    for (size_t i = 0; i < json_array_size(operations); i++) {
        const char *operation = json_string_value(json_array_get(operations, i));
        if (operation && !strcmp(operation, "verify")) return true;
    }
    return !operations;
}

/* The use that a key has here; NULL: not for checking tokens, or not in a way that is known here. */
static const struct key_kind *kind_of(const json_t *json) {
    if (!json_is_object(json) || !is(json, "use", "sig", true) || !is_to_verify(json)) return NULL;
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
        const struct key_kind *kind = &KINDS[i];
        if (is(json, "kty", kind->type, false) && is(json, "alg", kind->algorithm, true) &&
            (!kind->curve || is(json, "crv", kind->curve, false)))
            return kind;
    }
    return NULL;
}

static int read_key(struct jwks *jwks, const json_t *json, struct error *error) {
    const struct key_kind *kind = kind_of(json);
    const char *id;
    if (!kind || (kind->read == secret_key && !jwks->secrets)) return 0;
    if (json_want_text(json, "kid", &id, NULL) || !*id) return error_set(error, -EINVAL, "\"kid\" is missing");
    if (jwks_find(jwks, id)) return error_set(error, -EINVAL, "\"kid\" is another key's as well");
    struct jwks_key made = {.algorithm = kind->algorithm};
    int code = kind->read(json, &made, error);
    if (code) return code;
    made.id = mem_string(id);
    jwks->keys = mem_resize(jwks->keys, jwks->count + 1, sizeof *jwks->keys);
    jwks->keys[jwks->count++] = made;
    return 0;
}

static void add_key(struct jwks *jwks, size_t i, const json_t *json) {
    struct error error;
    if (!read_key(jwks, json, &error)) return;
    error_prefix(&error, -EINVAL, "keys[%zu]", i);
    if (!jwks->refused++) jwks->first_refused = error;
}

int jwks_parse(const char *text, size_t size, bool secrets, struct jwks **jwks, struct error *error) {
    struct jwks *made = MEM_NEW(&(struct jwks){.secrets = secrets});
    json_t *json = json_parse(text, size, error);
    int code = json ? 0 : -EINVAL;
    const json_t *keys = json_object_get(json, "keys");
    if (!code && (!json_is_array(keys) || json_array_size(keys) > KEYS_MAX))
        code = error_set(error, -EINVAL, "there is no list \"keys\" of at most %d", KEYS_MAX);
    for (size_t i = 0; !code && i < json_array_size(keys); i++) add_key(made, i, json_array_get(keys, i));
    if (!code && !made->count)
        code = error_set(error, -EINVAL, "%s",
                         made->refused ? made->first_refused.text
                                       : "none of the keys is for RS256, ES256 (P-256) or HS256 signatures");
    json_decref(json);
    if (code) {
        jwks_free(made);
        return code;
    }
    *jwks = made;
    return 0;
}
