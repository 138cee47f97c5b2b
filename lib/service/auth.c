#include "service/auth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "json/json.h"
#include "service/claims.h"
#include "service/jwks.h"
#include "service/signature.h"
#include "service/token_cache.h"

enum {
    KEY_MAX = 1024 * 1024,
    TOKEN_MAX = 8 * 1024,
    VALUES_MAX = 512, // of a token's header, and of its claims
    SECRET_MIN = 32,  // RFC 7518, 3.2: as long as the hash
    YOUNG_S = 2
};

struct key {
    unsigned char *bytes; // NULL: this algorithm is not accepted; else ended by a NUL that does not count
    size_t size;
};

struct version { /* of a file; what a replaced or rewritten one differs in */
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified, changed;
};

struct auth {
    struct key secret, public_key;
    char *jwks_file; /* NULL: none */
    struct version jwks_version;
    uint32_t jwks_hash;
    bool jwks_young;         /* when it was read: a change in the same tick of the file system's clock would not show */
    bool jwks_fetched;       /* the set comes by auth_take_keys */
    struct buffer jwks_text; /* what came */
    bool missed;             /* auth_missed */
    struct jwks *jwks;       /* NULL: none */
    struct claim_rules rules;
    uint32_t numbers, changes; /* of JWKS keys: the last one that was given, and how often the set changed */
    struct token_cache *known;
};

static void key_free(struct key *key) {
    if (key->bytes) explicit_bzero(key->bytes, key->size);
    free(key->bytes);
}

static int key_read(const char *path, struct key *key, struct error *error) {
    FILE *file = fopen(path, "re");
    if (!file) {
        int code = -errno;
        return error_set(error, code, "cannot read the key file %s: %s", path, strerror(-code));
    }
    unsigned char *bytes = mem_alloc(KEY_MAX + 1);
    size_t size = fread(bytes, 1, KEY_MAX + 1, file);
    int failed = ferror(file);
    fclose(file);
    if (failed || size > KEY_MAX) {
        free(bytes);
        return failed ? error_set(error, -EIO, "cannot read the key file %s", path)
                      : error_set(error, -EFBIG, "the key file %s has more than %d bytes", path, KEY_MAX);
    }
    bytes[size] = '\0';
    *key = (struct key){.bytes = bytes, .size = size};
    return 0;
}

static int secret_read(const char *path, struct key *key, struct error *error) {
    int code = key_read(path, key, error);
    if (code) return code;
    if (key->size && key->bytes[key->size - 1] == '\n') key->size--;
    if (key->size < SECRET_MIN)
        return error_set(error, -EINVAL, "the HS256 key file %s has fewer than %d bytes", path, SECRET_MIN);
    if (strstr((const char *)key->bytes, "-----BEGIN "))
        return error_set(error, -EINVAL, "the HS256 key file %s is a PEM file: a public key is no secret", path);
    return 0;
}

static int public_key_read(const char *path, struct key *key, struct error *error) {
    int code = key_read(path, key, error);
    if (code) return code;
    if (!strstr((const char *)key->bytes, "-----BEGIN PUBLIC KEY-----"))
        return error_set(error, -EINVAL, "the RS256 key file %s is no PEM file of a public key (BEGIN PUBLIC KEY)",
                         path);
    return 0;
}

static bool given(const char *text) { return text && *text; }

static char *copy_of(const char *text, const char *otherwise) { return mem_string(given(text) ? text : otherwise); }

/* All zero when the file cannot be looked at, so that its coming back is a change. */
static struct version version_of(const char *path) {
    struct stat status;
    struct version version;
    memset(&version, 0, sizeof version); /* they are compared whole */
    if (stat(path, &status)) return version;
    version.device = status.st_dev;
    version.inode = status.st_ino;
    version.size = status.st_size;
    version.modified = status.st_mtim;
    version.changed = status.st_ctim;
    return version;
}

static bool is_young(const struct version *version) {
    return version->changed.tv_sec >= clock_wall_ms() / 1000 - YOUNG_S;
}

/* A key that was there before keeps its number. 0 are the keys of files, which stay. */
static void number_keys(struct auth *auth, struct jwks *jwks) {
    for (size_t i = 0; i < jwks_count(jwks); i++) {
        struct jwks_key *key = jwks_at(jwks, i);
        const struct jwks_key *before = auth->jwks ? jwks_find(auth->jwks, key->id) : NULL;
        bool same = before && !strcmp(before->algorithm, key->algorithm) && before->size == key->size &&
                    !memcmp(before->bytes, key->bytes, key->size);
        key->number = same ? before->number : ++auth->numbers;
    }
}

static int jwks_take(struct auth *auth, const char *text, size_t size, struct error *error) {
    struct jwks *jwks;
    int code = jwks_parse(text, size, !auth->jwks_fetched, &jwks, error);
    if (code) return code;
    number_keys(auth, jwks);
    jwks_free(auth->jwks);
    auth->jwks = jwks;
    auth->changes++;
    token_cache_clear(auth->known);
    return 1;
}

/* As auth_refresh. changed: to our knowledge; else it is only made sure. */
static int jwks_read(struct auth *auth, bool changed, struct error *error) {
    struct key file = {.bytes = NULL};
    /* Before it is read: what is written meanwhile is a change again. */
    auth->jwks_version = version_of(auth->jwks_file);
    auth->jwks_young = is_young(&auth->jwks_version);
    int code = key_read(auth->jwks_file, &file, error);
    if (code) return code;
    uint32_t hash = hash_murmur2(file.bytes, file.size);
    if (changed || hash != auth->jwks_hash) code = jwks_take(auth, (const char *)file.bytes, file.size, error);
    if (code < 0) error_prefix(error, code, "the JWKS file %s", auth->jwks_file);
    auth->jwks_hash = hash;
    key_free(&file);
    return code;
}

int auth_refresh(struct auth *auth, struct error *error) {
    if (!auth->jwks_file) return 0;
    struct version now = version_of(auth->jwks_file);
    bool changed = memcmp(&now, &auth->jwks_version, sizeof now) != 0;
    return changed || auth->jwks_young ? jwks_read(auth, changed, error) : 0;
}

int auth_take_keys(struct auth *auth, const char *text, size_t size, struct error *error) {
    if (auth->jwks && size == auth->jwks_text.size && !memcmp(text, auth->jwks_text.data, size)) return 0;
    int code = jwks_take(auth, text, size, error);
    if (code < 0) return code;
    buffer_clear(&auth->jwks_text);
    buffer_append(&auth->jwks_text, text, size);
    return code;
}

bool auth_missed(struct auth *auth) {
    bool missed = auth->missed;
    auth->missed = false;
    return missed;
}

size_t auth_keys(const struct auth *auth) {
    return (auth->secret.bytes != NULL) + (auth->public_key.bytes != NULL) + (auth->jwks ? jwks_count(auth->jwks) : 0);
}

size_t auth_refused_keys(const struct auth *auth, const char **reason) {
    *reason = "";
    return auth->jwks ? jwks_refused(auth->jwks, reason) : 0;
}

bool auth_has_key(const struct auth *auth, uint32_t key) {
    bool found = !key;
    for (size_t i = 0; !found && auth->jwks && i < jwks_count(auth->jwks); i++)
        found = jwks_at(auth->jwks, i)->number == key;
    return found;
}

uint32_t auth_changes(const struct auth *auth) { return auth->changes; }

int auth_new(const struct auth_options *options, struct auth **auth, struct error *error) {
    struct auth *made = MEM_NEW(&(struct auth){
        .rules = {.audience = copy_of(options->audience, ""),
                  .audience_claim = copy_of(options->audience_claim, "aud"),
                  .issuer = copy_of(options->issuer, ""),
                  .user_claim = copy_of(options->user_claim, "sub"),
                  .directory = options->directory,
                  .max_life_ms = options->max_life_ms},
        .jwks_fetched = options->jwks_fetched,
        .known = token_cache_new(),
    });
    int code = 0;
    if (given(options->hs256_key_file)) code = secret_read(options->hs256_key_file, &made->secret, error);
    if (!code && given(options->rs256_public_key_file))
        code = public_key_read(options->rs256_public_key_file, &made->public_key, error);
    if (!code && given(options->jwks_file)) {
        made->jwks_file = mem_string(options->jwks_file);
        code = jwks_read(made, true, error);
    }
    if (code < 0) goto finish;
    code = 0;
    *auth = made;
    made = NULL;
finish:
    auth_free(made);
    return code;
}

void auth_free(struct auth *auth) {
    if (!auth) return;
    key_free(&auth->secret);
    key_free(&auth->public_key);
    jwks_free(auth->jwks);
    buffer_free(&auth->jwks_text);
    free(auth->jwks_file);
    free((void *)(uintptr_t)auth->rules.audience);
    free((void *)(uintptr_t)auth->rules.audience_claim);
    free((void *)(uintptr_t)auth->rules.issuer);
    free((void *)(uintptr_t)auth->rules.user_claim);
    token_cache_free(auth->known);
    free(auth);
}

/* A token in its three parts, and the key that it says it is signed with. */
struct envelope {
    struct buffer header, claims, signature;
    const char *algorithm;
    const void *key; /* PEM of a public key, or a secret */
    size_t key_size;
    uint32_t number;
    bool missed; /* its `kid` is not in the set */
};

static void envelope_free(struct envelope *envelope) {
    buffer_free(&envelope->header);
    buffer_free(&envelope->claims);
    buffer_free(&envelope->signature);
}

/* The key for what the token says of itself, among those that are configured: the token cannot make one algorithm use the
 * other's key, and what is not configured does not exist. */
static int choose_key(const struct auth *auth, const char *algorithm, const char *id, struct envelope *envelope,
                      struct error *error) {
    const struct jwks_key *key = auth->jwks && id ? jwks_find(auth->jwks, id) : NULL;
    if (key) {
        if (strcmp(key->algorithm, algorithm))
            return error_set(error, -EACCES, "the token's algorithm is not its key's");
        envelope->algorithm = key->algorithm;
        envelope->key = key->bytes;
        envelope->key_size = key->size;
        envelope->number = key->number;
        return 0;
    }
    envelope->missed = id != NULL;
    bool secret = !strcmp(algorithm, "HS256"), public = !strcmp(algorithm, "RS256");
    const struct key *file = secret ? &auth->secret : public ? &auth->public_key : NULL;
    if (!file || !file->bytes)
        return error_set(error, -EACCES,
                         auth->jwks || auth->jwks_fetched ? "the token's key is not known"
                                                          : "the token's algorithm is not accepted");
    envelope->algorithm = secret ? "HS256" : "RS256";
    envelope->key = file->bytes;
    envelope->key_size = file->size;
    return 0;
}

/* Tokens of access (RFC 9068) and those that do not say what they are. A token that says that it is something else, as one of logout does, is no
 * token here. */
static bool is_known_type(const char *type) {
    static const char APPLICATION[] = "application/";
    if (!strncasecmp(type, APPLICATION, strlen(APPLICATION))) type += strlen(APPLICATION);
    return !strcasecmp(type, "JWT") || !strcasecmp(type, "at+jwt");
}

static int read_header(const struct auth *auth, struct envelope *envelope, struct error *error) {
    json_t *header = json_parse(envelope->header.data, envelope->header.size, NULL);
    const char *algorithm = "", *id = NULL, *type = "JWT";
    int code = -EACCES;
    if (!json_is_object(header) || json_want_text(header, "alg", &algorithm, NULL) == -EINVAL ||
        json_want_text(header, "kid", &id, NULL) == -EINVAL || json_want_text(header, "typ", &type, NULL) == -EINVAL)
        error_set(error, code, "the token is malformed");
    else if (json_object_get(header, "crit"))
        error_set(error, code, "the token demands extensions (crit) that are not known here");
    else if (!is_known_type(type))
        error_set(error, code, "the token is of another kind (typ)");
    else
        code = choose_key(auth, algorithm, id, envelope, error);
    json_decref(header);
    return code;
}

/* Splits it, and decodes the parts. *signed_size: of what is signed, which are the first two. */
static int take_apart(const char *token, size_t size, struct envelope *envelope, size_t *signed_size,
                      struct error *error) {
    const char *end = token + size, *first = memchr(token, '.', size);
    const char *second = first ? memchr(first + 1, '.', (size_t)(end - first - 1)) : NULL;
    if (!second || !text_base64url(&envelope->header, token, (size_t)(first - token)) ||
        !text_base64url(&envelope->claims, first + 1, (size_t)(second - first - 1)) ||
        !text_base64url(&envelope->signature, second + 1, (size_t)(end - second - 1)))
        return error_set(error, -EACCES, "the token is malformed");
    if (json_values(envelope->header.data, envelope->header.size) > VALUES_MAX ||
        json_values(envelope->claims.data, envelope->claims.size) > VALUES_MAX)
        return error_set(error, -EACCES, "the token has more than %d values", VALUES_MAX);
    *signed_size = (size_t)(second - token);
    return 0;
}

static int verify_unknown(struct auth *auth, const char *token, size_t size, int64_t now_ms, struct auth_claims *claims,
                          struct error *error) {
    struct envelope envelope = {.algorithm = NULL};
    json_t *json = NULL;
    size_t signed_size = 0;
    if (size > TOKEN_MAX) return error_set(error, -EACCES, "the token is longer than %d bytes", TOKEN_MAX);
    int code = take_apart(token, size, &envelope, &signed_size, error);
    if (!code) code = read_header(auth, &envelope, error);
    if (!code && !signature_good(envelope.algorithm, envelope.key, envelope.key_size, token, signed_size,
                                 envelope.signature.data, envelope.signature.size))
        code = error_set(error, -EACCES, "the token's signature is wrong");
    if (code) {
        auth->missed = auth->missed || envelope.missed;
        goto finish;
    }
    json = json_parse(envelope.claims.data, envelope.claims.size, NULL);
    code = json_is_object(json) ? claims_read(&auth->rules, json, now_ms, claims, error)
                                : error_set(error, -EACCES, "the token is malformed");
    if (!code) claims->key = envelope.number;
finish:
    json_decref(json);
    envelope_free(&envelope);
    return code;
}

int auth_recall(const struct auth *auth, const char *token, size_t size, int64_t now_ms, struct auth_claims *claims,
                struct error *error) {
    struct auth_claims read;
    if (!token_cache_find(auth->known, token, size, &read)) return -ENOENT;
    if (read.expires_ms <= now_ms) return error_set(error, -ETIME, "the token has expired");
    *claims = read;
    return 0;
}

int auth_verify(struct auth *auth, const char *token, size_t size, int64_t now_ms, struct auth_claims *claims,
                struct error *error) {
    int code = auth_recall(auth, token, size, now_ms, claims, error);
    if (code != -ENOENT) return code;
    code = verify_unknown(auth, token, size, now_ms, claims, error);
    if (!code) token_cache_put(auth->known, token, size, claims);
    return code;
}
