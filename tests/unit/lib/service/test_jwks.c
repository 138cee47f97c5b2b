/* Tests jwks.c, auth.c and signature.c. JSON Web Key Sets: which keys count, and whose token is whose while they rotate. The keys are made anew in
 * each run. */
#include <fcntl.h>
#include <jwt.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <sys/stat.h>

#include "service/auth.h"
#include "service/jwks.h"
#include "unit/kit/kit.h"

#define NOW_MS INT64_C(1800000000000)
#define FILE_SECRET "the secret of the file, longer than 32 bytes"
#define OCT_SECRET "a secret of the set, longer than 32 bytes"
#define SECRET_BASE64URL "YSBzZWNyZXQgb2YgdGhlIHNldCwgbG9uZ2VyIHRoYW4gMzIgYnl0ZXM"

struct pair {
    char *private_pem, *public_pem;
    struct buffer first, second; /* RSA: n, e; EC: x, y; in base64url */
};

struct world {
    char *folder, set[96], secret[96];
    struct pair rsa, other_rsa, ec, small_rsa, p384;
};

/* ---- making keys, sets and tokens ---- */

static void put_base64url(struct buffer *out, const uint8_t *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (size_t bit = 0; bit < size * 8; bit += 6) {
        unsigned value = 0;
        for (size_t i = bit; i < bit + 6; i++)
            value = value << 1 | (i < size * 8 ? bytes[i / 8] >> (7 - i % 8) & 1 : 0);
        buffer_byte(out, (uint8_t)digits[value]);
    }
}

static void put_number(struct buffer *out, const EVP_PKEY *key, const char *name, int least) {
    uint8_t bytes[1024];
    BIGNUM *number = NULL;
    assert_int_equal(EVP_PKEY_get_bn_param(key, name, &number), 1);
    int size = BN_num_bytes(number) > least ? BN_num_bytes(number) : least;
    assert_int_equal(BN_bn2binpad(number, bytes, size), size);
    put_base64url(out, bytes, (size_t)size);
    BN_free(number);
}

static char *pem_of(EVP_PKEY *key, bool private) {
    BIO *bio = BIO_new(BIO_s_mem());
    char *text;
    if (private)
        PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
    else
        PEM_write_bio_PUBKEY(bio, key);
    long size = BIO_get_mem_data(bio, &text);
    char *copy = mem_stringn(text, (size_t)size);
    BIO_free(bio);
    return copy;
}

static struct pair pair_of(EVP_PKEY *key, const char *first, const char *second, int least) {
    struct pair pair = {.private_pem = pem_of(key, true), .public_pem = pem_of(key, false)};
    put_number(&pair.first, key, first, least);
    put_number(&pair.second, key, second, least);
    EVP_PKEY_free(key);
    return pair;
}

static struct pair rsa_pair(unsigned bits) {
    return pair_of(EVP_RSA_gen(bits), OSSL_PKEY_PARAM_RSA_N, OSSL_PKEY_PARAM_RSA_E, 0);
}

static struct pair ec_pair(const char *curve, int least) {
    return pair_of(EVP_EC_gen(curve), OSSL_PKEY_PARAM_EC_PUB_X, OSSL_PKEY_PARAM_EC_PUB_Y, least);
}

static void pair_free(struct pair *pair) {
    free(pair->private_pem);
    free(pair->public_pem);
    buffer_free(&pair->first);
    buffer_free(&pair->second);
}

/* These return a JWK; the caller frees. */
static char *rsa_jwk(struct pair *pair, const char *id) {
    return mem_format("{\"kty\":\"RSA\",\"kid\":\"%s\",\"use\":\"sig\",\"alg\":\"RS256\",\"n\":\"%s\",\"e\":\"%s\"}",
                      id, buffer_cstring(&pair->first), buffer_cstring(&pair->second));
}

static char *ec_jwk(struct pair *pair, const char *id) {
    return mem_format("{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"%s\",\"x\":\"%s\",\"y\":\"%s\"}", id,
                      buffer_cstring(&pair->first), buffer_cstring(&pair->second));
}

static char *oct_jwk(const char *secret, const char *id) {
    FREED_BUFFER k = {.size = 0};
    put_base64url(&k, (const uint8_t *)secret, strlen(secret));
    char *text = mem_format("{\"kty\":\"oct\",\"kid\":\"%s\",\"k\":\"%s\"}", id, buffer_cstring(&k));
    return text;
}

/* Writes {"keys":[...]} of up to three JWKs and frees them. */
static void write_set(const char *path, char *a, char *b, char *c) {
    FREED char *text = mem_format("{\"keys\":[%s%s%s%s%s]}", a, b ? "," : "", b ? b : "", c ? "," : "", c ? c : "");
    kit_write(path, text);
    free(a);
    free(b);
    free(c);
}

static char *token_of(const char *algorithm, const char *key, const char *id) {
    jwt_t *jwt = NULL;
    jwt_new(&jwt);
    jwt_add_grant(jwt, "sub", "42");
    jwt_add_grant_int(jwt, "exp", NOW_MS / 1000 + 600);
    if (id) jwt_add_header(jwt, "kid", id);
    assert_int_equal(jwt_set_alg(jwt, jwt_str_alg(algorithm), (const unsigned char *)key, key ? (int)strlen(key) : 0),
                     0);
    char *text = jwt_encode_str(jwt), *copy = mem_string(text);
    assert_non_null(copy);
    free(text);
    jwt_free(jwt);
    return copy;
}

static int verify(struct auth *auth, const char *algorithm, const char *key, const char *id) {
    struct auth_claims claims = {.user = -2};
    struct error error = {.text = ""};
    FREED char *token = token_of(algorithm, key, id);
    int code = auth_verify(auth, token, strlen(token), NOW_MS, &claims, &error);
    assert_true(code ? claims.user == -2 && error.text[0] : claims.user == 42);
    return code;
}

static struct auth *make(const char *set, const char *secret) {
    struct auth *auth = NULL;
    if (auth_new(&(struct auth_options){.jwks_file = set, .hs256_key_file = secret}, &auth, &failure))
        fail_msg("%s", failure.text);
    return auth;
}

SET_UP_ONCE() {
    struct world *world = kit_zero(sizeof *world);
    world->folder = kit_folder();
    snprintf(world->set, sizeof world->set, "%s/jwks.json", world->folder);
    snprintf(world->secret, sizeof world->secret, "%s/secret", world->folder);
    kit_write(world->secret, FILE_SECRET "\n");
    world->rsa = rsa_pair(2048);
    world->other_rsa = rsa_pair(2048);
    world->small_rsa = rsa_pair(1024);
    world->ec = ec_pair("P-256", 32);
    world->p384 = ec_pair("P-384", 48);
    return world;
}

TEAR_DOWN(struct world *world) {
    struct pair *pairs[] = {&world->rsa, &world->other_rsa, &world->small_rsa, &world->ec, &world->p384};
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) pair_free(pairs[i]);
}

/* ---- the tests ---- */

TEST(each_kind_of_key_counts, struct world *world) {
    write_set(world->set, rsa_jwk(&world->rsa, "r"), ec_jwk(&world->ec, "e"), oct_jwk(OCT_SECRET, "o"));
    struct auth *auth = make(world->set, NULL);
    assert_int_equal(auth_keys(auth), 3);
    assert_int_equal(verify(auth, "RS256", world->rsa.private_pem, "r"), 0);
    assert_int_equal(verify(auth, "ES256", world->ec.private_pem, "e"), 0);
    assert_int_equal(verify(auth, "HS256", OCT_SECRET, "o"), 0);
    auth_free(auth);
}

TEST(a_token_is_its_keys_alone, struct world *world) {
    write_set(world->set, rsa_jwk(&world->rsa, "r"), rsa_jwk(&world->other_rsa, "r2"), ec_jwk(&world->ec, "e"));
    struct auth *auth = make(world->set, world->secret);
    const struct {
        const char *algorithm, *key, *id;
    } forged[] = {
        {"HS256", world->rsa.public_pem, "r"},        /* the public key as a secret */
        {"HS256", world->ec.public_pem, "e"},         /* likewise */
        {"HS256", FILE_SECRET, "r"},                  /* the file's secret is not for kids of the set */
        {"none", NULL, "r"},                          /* unsigned */
        {"none", NULL, NULL},                         /* unsigned, of no key */
        {"RS256", world->rsa.private_pem, "r2"},      /* signed by another key of the set */
        {"RS256", world->rsa.private_pem, "e"},       /* of another kind */
        {"RS384", world->rsa.private_pem, "r"},       /* another algorithm of the same key */
        {"RS256", world->rsa.private_pem, "unknown"}, /* of nobody */
        {"RS256", world->rsa.private_pem, NULL},      /* does not say whose */
        {"RS256", world->rsa.private_pem, "R"},       /* another spelling */
        {"ES256", world->ec.private_pem, NULL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(forged); i++) {
        if (verify(auth, forged[i].algorithm, forged[i].key, forged[i].id) != -EACCES)
            fail_msg("case %zu was taken", i);
    }
    assert_int_equal(verify(auth, "HS256", FILE_SECRET, NULL), 0);
    assert_int_equal(verify(auth, "HS256", FILE_SECRET, "unknown"), 0); /* what was before the set goes on */
    auth_free(auth);
}

TEST(keys_rotate, struct world *world) {
    write_set(world->set, rsa_jwk(&world->rsa, "old"), NULL, NULL);
    struct auth *auth = make(world->set, NULL);
    assert_int_equal(auth_refresh(auth, &failure), 0);
    assert_int_equal(verify(auth, "RS256", world->other_rsa.private_pem, "new"), -EACCES);

    write_set(world->set, rsa_jwk(&world->rsa, "old"), rsa_jwk(&world->other_rsa, "new"), NULL);
    assert_int_equal(auth_refresh(auth, &failure), 1);
    assert_int_equal(verify(auth, "RS256", world->rsa.private_pem, "old"), 0);
    assert_int_equal(verify(auth, "RS256", world->other_rsa.private_pem, "new"), 0);

    kit_write(world->set, "{\"keys\":[");
    assert_fails(auth_refresh(auth, &failure), -EINVAL, world->set);
    assert_int_equal(auth_refresh(auth, &failure), 0); /* said once */
    assert_int_equal(verify(auth, "RS256", world->rsa.private_pem, "old"), 0);

    unlink(world->set);
    assert_int_equal(auth_refresh(auth, &failure), -ENOENT);
    assert_int_equal(auth_refresh(auth, &failure), 0);
    assert_int_equal(auth_keys(auth), 2);

    write_set(world->set, rsa_jwk(&world->other_rsa, "new"), NULL, NULL);
    assert_int_equal(auth_refresh(auth, &failure), 1);
    assert_int_equal(verify(auth, "RS256", world->rsa.private_pem, "old"), -EACCES);
    assert_int_equal(verify(auth, "RS256", world->other_rsa.private_pem, "new"), 0);
    auth_free(auth);
}

static size_t count_of(const char *text) {
    struct jwks *jwks = NULL;
    if (jwks_parse(text, strlen(text), true, &jwks, &failure)) fail_msg("%s", failure.text);
    size_t count = jwks_count(jwks);
    jwks_free(jwks);
    return count;
}

TEST(what_is_not_for_tokens_is_passed_over, struct world *world) {
    FREED char *good = ec_jwk(&world->ec, "e");
    static const char *const OTHERS[] = {
        "{\"kty\":\"RSA\",\"use\":\"enc\",\"alg\":\"RSA-OAEP\",\"kid\":\"x\",\"n\":\"AQAB\",\"e\":\"AQAB\"}",
        "{\"kty\":\"RSA\",\"alg\":\"PS256\",\"kid\":\"x\",\"n\":\"AQAB\",\"e\":\"AQAB\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-384\",\"alg\":\"ES384\",\"kid\":\"x\"}",
        "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"x\",\"x\":\"AQAB\"}",
        "{\"kty\":\"oct\",\"alg\":\"A128KW\",\"kid\":\"x\",\"k\":\"AQAB\"}",
        "{\"kty\":\"oct\",\"key_ops\":[\"sign\"],\"kid\":\"x\",\"k\":\"" SECRET_BASE64URL "\"}",
        "{\"kty\":\"oct\",\"key_ops\":\"verify\",\"kid\":\"x\",\"k\":\"" SECRET_BASE64URL "\"}",
        "{\"kty\":7}",
        "7",
    };
    for (size_t i = 0; i < ARRAY_SIZE(OTHERS); i++) {
        FREED char *text = mem_format("{\"keys\":[%s,%s]}", OTHERS[i], good);
        assert_int_equal(count_of(text), 1);
    }
    assert_int_equal(
        count_of(
            "{\"keys\":[{\"kty\":\"oct\",\"key_ops\":[\"sign\",\"verify\"],\"use\":\"sig\",\"kid\":\"x\",\"k\":\"" SECRET_BASE64URL
            "\"}]}"),
        1);
}

/* In the same tick of the file system's clock, with as many bytes, in the same place, and made out to be as old (cp -p). */
TEST(a_change_right_after_the_reading_is_seen, struct world *world) {
    for (int i = 0; i < 50; i++) {
        struct auth *auth;
        write_set(world->set, oct_jwk(OCT_SECRET, "one"), NULL, NULL);
        auth = make(world->set, NULL);
        assert_int_equal(auth_refresh(auth, &failure), 0);
        struct stat before;
        assert_int_equal(stat(world->set, &before), 0);
        write_set(world->set, oct_jwk(OCT_SECRET, "two"), NULL, NULL);
        const struct timespec times[] = {before.st_atim, before.st_mtim};
        assert_int_equal(utimensat(AT_FDCWD, world->set, times, 0), 0);
        assert_int_equal(auth_refresh(auth, &failure), 1);
        assert_int_equal(auth_refresh(auth, &failure), 0);
        assert_int_equal(verify(auth, "HS256", OCT_SECRET, "one"), -EACCES);
        assert_int_equal(verify(auth, "HS256", OCT_SECRET, "two"), 0);
        auth_free(auth);
    }
}

static void refused(char *keys, const char *reason) {
    struct jwks *jwks = NULL;
    struct error error = {.text = ""};
    FREED char *text = mem_format("{\"keys\":[%s]}", keys);
    if (jwks_parse(text, strlen(text), true, &jwks, &error) != -EINVAL) fail_msg("taken: %s", text);
    if (!strstr(error.text, reason)) fail_msg("\"%s\" is not \"%s\"", error.text, reason);
    assert_null(jwks);
    free(keys);
}

TEST(broken_and_weak_keys_are_refused, struct world *world) {
    struct jwks *jwks = NULL;
    static const char *const NO_SETS[] = {"", "[]", "{}", "{\"keys\":{}}", "{\"keys\":7}"};
    for (size_t i = 0; i < ARRAY_SIZE(NO_SETS); i++)
        assert_int_equal(jwks_parse(NO_SETS[i], strlen(NO_SETS[i]), true, &jwks, &failure), -EINVAL);
    refused(mem_string(""), "none of the keys");
    refused(mem_string("{\"kty\":\"RSA\",\"use\":\"enc\"}"), "none of the keys");
    refused(rsa_jwk(&world->small_rsa, "r"), "2048 bits");
    refused(oct_jwk("0123456789012345678901234567890", "o"), "32 bytes");
    refused(ec_jwk(&world->p384, "e"), "32 bytes");
    refused(ec_jwk(&world->rsa, "e"), "32 bytes");
    refused(mem_string("{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}"), "\"kid\" is missing");
    refused(mem_string("{\"kty\":\"RSA\",\"kid\":\"r\",\"n\":\"A+/B\",\"e\":\"AQAB\"}"), "base64url");
    refused(mem_string("{\"kty\":\"RSA\",\"kid\":\"r\",\"n\":\"AQABA\",\"e\":\"AQAB\"}"), "base64url");
    refused(mem_string("{\"kty\":\"RSA\",\"kid\":\"r\",\"e\":\"AQAB\"}"), "\"n\" is missing");
    /* A point that is not on the curve. */
    struct pair moved = {0};
    buffer_string(&moved.first, buffer_cstring(&world->ec.second));
    buffer_string(&moved.second, buffer_cstring(&world->ec.first));
    refused(ec_jwk(&moved, "e"), "no public key");
    pair_free(&moved);
}

/* An issuer's mistake in one key must not shut out everybody. */
TEST(a_bad_key_costs_that_key, struct world *world) {
    struct auth *auth;
    const char *reason;
    write_set(world->set, oct_jwk("too short", "o"), rsa_jwk(&world->rsa, "r"), ec_jwk(&world->ec, "r"));
    auth = make(world->set, NULL);
    assert_int_equal(auth_keys(auth), 1);
    assert_int_equal(auth_refused_keys(auth, &reason), 2);
    assert_string_equal(reason, "keys[0]: \"k\" has fewer than 32 bytes");
    assert_int_equal(verify(auth, "RS256", world->rsa.private_pem, "r"), 0);
    assert_int_equal(verify(auth, "ES256", world->ec.private_pem, "r"), -EACCES); /* the first of a kid counts */
    auth_free(auth);
}

static uint32_t key_of(struct auth *auth, const char *key, const char *id) {
    struct auth_claims claims = {.key = 0};
    FREED char *token = token_of("RS256", key, id);
    assert_int_equal(auth_verify(auth, token, strlen(token), NOW_MS, &claims, NULL), 0);
    return claims.key;
}

TEST(keys_that_stay_are_known_again, struct world *world) {
    write_set(world->set, rsa_jwk(&world->rsa, "a"), rsa_jwk(&world->other_rsa, "b"), NULL);
    struct auth *auth = make(world->set, NULL);
    uint32_t a = key_of(auth, world->rsa.private_pem, "a"), b = key_of(auth, world->other_rsa.private_pem, "b");
    uint32_t changes = auth_changes(auth);
    assert_true(a != b && auth_has_key(auth, a) && auth_has_key(auth, b) && auth_has_key(auth, 0));
    write_set(world->set, rsa_jwk(&world->other_rsa, "a"), rsa_jwk(&world->other_rsa, "b"), NULL);
    assert_int_equal(auth_refresh(auth, &failure), 1);
    assert_true(auth_changes(auth) != changes);
    assert_true(!auth_has_key(auth, a) && auth_has_key(auth, b)); /* of the same kid, but another key */
    auth_free(auth);
}

/* A set that auth_take_keys gives; the caller frees. */
static char *set_of(char *a, char *b) {
    char *text = mem_format("{\"keys\":[%s%s%s]}", a, b ? "," : "", b ? b : "");
    free(a);
    free(b);
    return text;
}

TEST(a_set_may_be_fetched, struct world *world) {
    struct auth *auth = NULL;
    assert_int_equal(auth_new(&(struct auth_options){.jwks_fetched = true}, &auth, &failure), 0);
    assert_int_equal(auth_keys(auth), 0);
    assert_int_equal(verify(auth, "RS256", world->rsa.private_pem, "a"), -EACCES);
    assert_true(auth_missed(auth));
    assert_false(auth_missed(auth));
    FREED char *first = set_of(rsa_jwk(&world->rsa, "a"), oct_jwk(OCT_SECRET, "o"));
    assert_int_equal(auth_take_keys(auth, first, strlen(first), &failure), 1);
    assert_int_equal(auth_take_keys(auth, first, strlen(first), &failure), 0);
    assert_int_equal(auth_keys(auth), 1);
    assert_int_equal(verify(auth, "RS256", world->rsa.private_pem, "a"), 0);
    assert_int_equal(verify(auth, "RS256", world->other_rsa.private_pem, "a"), -EACCES);
    assert_false(auth_missed(auth));
    assert_int_equal(verify(auth, "HS256", OCT_SECRET, "o"), -EACCES); /* everybody can read it */
    assert_true(auth_missed(auth));
    assert_int_equal(auth_take_keys(auth, "{", 1, &failure), -EINVAL);
    assert_int_equal(verify(auth, "RS256", world->rsa.private_pem, "a"), 0);
    FREED char *second = set_of(rsa_jwk(&world->other_rsa, "b"), NULL);
    assert_int_equal(auth_take_keys(auth, second, strlen(second), &failure), 1);
    assert_int_equal(verify(auth, "RS256", world->rsa.private_pem, "a"), -EACCES);
    assert_int_equal(verify(auth, "RS256", world->other_rsa.private_pem, "b"), 0);
    auth_free(auth);
}

TEST(a_set_that_cannot_be_used_stops_the_start, struct world *world) {
    struct auth *auth = NULL;
    kit_write(world->set, "{}");
    assert_fails(auth_new(&(struct auth_options){.jwks_file = world->set}, &auth, &failure), -EINVAL, world->set);
    unlink(world->set);
    assert_int_equal(auth_new(&(struct auth_options){.jwks_file = world->set}, &auth, &failure), -ENOENT);
    assert_null(auth);
}
