#include "service/auth.h"

#include <errno.h>
#include <jwt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "json/json.h"
#include "service/jwks.h"
#include "service/token_cache.h"

enum {
    KEY_MAX = 1024 * 1024,
    TOKEN_MAX = 8 * 1024,
    VALUES_MAX = 512, // of a token's header, and of its claims
    SECRET_MIN = 32,  // RFC 7518, 3.2: as long as the hash
    NOT_BEFORE_LEEWAY_MS = 60 * 1000,
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
    char *audience, *issuer; /* NULL: any */
    int64_t max_life_ms;
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

static bool given(const char *path) { return path && *path; }

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
        .audience = given(options->audience) ? mem_string(options->audience) : NULL,
        .issuer = given(options->issuer) ? mem_string(options->issuer) : NULL,
        .max_life_ms = options->max_life_ms,
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
    free(auth->audience);
    free(auth->issuer);
    token_cache_free(auth->known);
    free(auth);
}

struct choice {
    jwt_alg_t algorithm;
    const unsigned char *bytes;
    size_t size;
    uint32_t number;
    bool missed; /* the token's `kid` is not in the set */
};

static jwt_alg_t algorithm_of(const char *name) {
    if (!strcmp(name, "HS256")) return JWT_ALG_HS256;
    if (!strcmp(name, "RS256")) return JWT_ALG_RS256;
    return !strcmp(name, "ES256") ? JWT_ALG_ES256 : JWT_ALG_NONE;
}

/* The key for what the token says of itself, among those that are configured: the token cannot make one algorithm use the
 * other's key, and what is not configured does not exist. */
static int choose_key(const struct auth *auth, const char *algorithm, const char *id, struct choice *choice,
                      struct error *error) {
    const struct jwks_key *key = auth->jwks && id ? jwks_find(auth->jwks, id) : NULL;
    choice->missed = id && !key;
    if (key) {
        if (strcmp(key->algorithm, algorithm))
            return error_set(error, -EACCES, "the token's algorithm is not its key's");
        *choice = (struct choice){algorithm_of(algorithm), key->bytes, key->size, key->number, false};
        return 0;
    }
    const struct key *file = !strcmp(algorithm, "HS256")   ? &auth->secret
                             : !strcmp(algorithm, "RS256") ? &auth->public_key
                                                           : NULL;
    if (!file || !file->bytes)
        return error_set(error, -EACCES,
                         auth->jwks || auth->jwks_fetched ? "the token's key is not known"
                                                          : "the token's algorithm is not accepted");
    *choice = (struct choice){algorithm_of(algorithm), file->bytes, file->size, 0, choice->missed};
    return 0;
}

/* The library makes trees of both parts before it looks at the signature. */
static bool has_many_values(const char *token, size_t size) {
    const char *end = token + size;
    struct buffer part = {.data = NULL};
    bool many = false;
    for (const char *dot; !many && (dot = memchr(token, '.', (size_t)(end - token))); token = dot + 1) {
        buffer_clear(&part);
        text_base64url(&part, token, (size_t)(dot - token));
        many = json_values(part.data, part.size) > VALUES_MAX;
    }
    buffer_free(&part);
    return many;
}

/* Chooses the key by the token's header. The token is not verified here. */
static int read_header(const struct auth *auth, const char *token, struct choice *choice, struct error *error) {
    jwt_t *unverified = NULL;
    if (jwt_decode(&unverified, token, NULL, 0)) return error_set(error, -EACCES, "the token is malformed");
    const char *algorithm = jwt_get_header(unverified, "alg");
    char *critical = jwt_get_headers_json(unverified, "crit");
    int code = critical
                   ? error_set(error, -EACCES, "the token demands extensions (crit) that are not known here")
                   : choose_key(auth, algorithm ? algorithm : "", jwt_get_header(unverified, "kid"), choice, error);
    free(critical);
    jwt_free(unverified);
    return code;
}

/* A user id in its only spelling: "0", or digits that start with another. */
static bool user_id(const char *text, int64_t *user) {
    if (!text || !*text || (text[0] == '0' && text[1])) return false;
    uint64_t value = 0;
    for (const char *at = text; *at; at++) {
        if (*at < '0' || *at > '9' || at - text >= 19) return false;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    if (value > INT64_MAX) return false;
    *user = (int64_t)value;
    return true;
}

static bool scope_holds(const char *scope, const char *word) {
    size_t length = strlen(word);
    while (*scope) {
        size_t here = strcspn(scope, " ");
        if (here == length && !memcmp(scope, word, length)) return true;
        scope += here + (scope[here] == ' ');
    }
    return false;
}

/* A NumericDate (RFC 7519: seconds, a fraction is allowed) in ms; code as json_want_real's. */
static int date_want(const json_t *json, const char *name, int64_t *ms, struct error *error) {
    double seconds;
    int code = json_want_real(json, name, 0, 9e12, &seconds, error);
    if (!code) *ms = (int64_t)(seconds * 1000);
    return code;
}

/* Is the claim that text, or a list that holds it? RFC 7519 has aud as either. */
static bool claim_holds(const json_t *claim, const char *text) {
    if (json_is_string(claim)) return !strcmp(json_string_value(claim), text);
    for (size_t i = 0; i < json_array_size(claim); i++) {
        const json_t *item = json_array_get(claim, i);
        if (json_is_string(item) && !strcmp(json_string_value(item), text)) return true;
    }
    return false;
}

/* The token must be made for us, by an issuer that we trust. */
static int check_parties(const struct auth *auth, const json_t *json, struct error *error) {
    const json_t *issuer = json_object_get(json, "iss");
    if (auth->audience && !claim_holds(json_object_get(json, "aud"), auth->audience))
        return error_set(error, -EACCES, "the token is for another audience");
    if (auth->issuer && (!json_is_string(issuer) || strcmp(json_string_value(issuer), auth->issuer)))
        return error_set(error, -EACCES, "the token is of another issuer");
    return 0;
}

/* Cuts what the token says of its end to the longest life. */
static int limit_life(const struct auth *auth, const json_t *json, int64_t now_ms, struct auth_claims *claims,
                      struct error *error) {
    int64_t begin_ms = now_ms;
    if (!auth->max_life_ms) return 0;
    if (date_want(json, "iat", &begin_ms, NULL) == -EINVAL)
        return error_set(error, -EACCES, "the token's iat is not usable");
    int64_t end_ms = (begin_ms < now_ms ? begin_ms : now_ms) + auth->max_life_ms;
    if (end_ms <= now_ms)
        return error_set(error, -ETIME, "the token is older than tokens may be (auth.token.max.life.s)");
    if (end_ms < claims->expires_ms) claims->expires_ms = end_ms;
    return 0;
}

static int claims_read(const json_t *json, int64_t now_ms, struct auth_claims *claims, struct error *error) {
    struct auth_claims read = {.user = -1};
    if (date_want(json, "exp", &read.expires_ms, NULL)) return error_set(error, -EACCES, "the token has no usable exp");
    if (read.expires_ms <= now_ms) return error_set(error, -ETIME, "the token has expired");

    int64_t not_before_ms;
    int code = date_want(json, "nbf", &not_before_ms, NULL);
    if (code == -EINVAL) return error_set(error, -EACCES, "the token's nbf is not usable");
    if (!code && not_before_ms > now_ms + NOT_BEFORE_LEEWAY_MS)
        return error_set(error, -EACCES, "the token is not valid yet");

    const char *scope = NULL;
    if (json_want_text(json, "scope", &scope, NULL) == -EINVAL)
        return error_set(error, -EACCES, "the token's scope is not usable");
    read.gateway = scope && scope_holds(scope, "gateway");
    read.moderator = scope && scope_holds(scope, "moderator");

    int64_t level = 0;
    json_want_int(json, "level", 0, INT32_MAX, &level, NULL);
    read.level = (int32_t)level;

    const char *subject = NULL;
    json_want_text(json, "sub", &subject, NULL);
    if (!user_id(subject, &read.user) && !read.gateway)
        return error_set(error, -EACCES, "the token's sub is no user id");
    *claims = read;
    return 0;
}

static int verify_unknown(const struct auth *auth, const char *token, size_t size, int64_t now_ms,
                          struct auth_claims *claims, bool *missed, struct error *error) {
    if (size > TOKEN_MAX) return error_set(error, -EACCES, "the token is longer than %d bytes", TOKEN_MAX);
    if (!size || memchr(token, '\0', size)) return error_set(error, -EACCES, "the token is malformed");
    if (has_many_values(token, size)) return error_set(error, -EACCES, "the token has more than %d values", VALUES_MAX);

    char *copy = mem_stringn(token, size);
    jwt_t *jwt = NULL;
    char *text = NULL;
    json_t *json = NULL;
    struct choice key = {.bytes = NULL};
    struct auth_claims read;
    int code = read_header(auth, copy, &key, error);
    if (code) goto finish;
    code = -EACCES;
    if (jwt_decode(&jwt, copy, key.bytes, (int)key.size) || jwt_get_alg(jwt) != key.algorithm) {
        error_set(error, code, "the token's signature is wrong");
        goto finish;
    }
    text = jwt_get_grants_json(jwt, NULL);
    json = text ? json_parse(text, strlen(text), NULL) : NULL;
    if (!json) {
        error_set(error, code, "the token is malformed");
        goto finish;
    }
    code = check_parties(auth, json, error);
    if (!code) code = claims_read(json, now_ms, &read, error);
    if (!code) code = limit_life(auth, json, now_ms, &read, error);
    read.key = key.number;
    if (!code) *claims = read;
finish:
    *missed = key.missed;
    json_decref(json);
    free(text);
    jwt_free(jwt);
    free(copy);
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
    bool missed = false;
    code = verify_unknown(auth, token, size, now_ms, claims, &missed, error);
    if (code && missed) auth->missed = true;
    if (!code) token_cache_put(auth->known, token, size, claims);
    return code;
}
