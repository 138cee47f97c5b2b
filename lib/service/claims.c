#include "service/claims.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

enum { NOT_BEFORE_LEEWAY_MS = 60 * 1000 };

static const char SEPARATORS[] = " \t,"; /* of a list in a setting */

/* Is the text one of the words? */
static bool holds_word(const char *words, const char *separators, const char *text) {
    size_t length = strlen(text);
    for (words += strspn(words, separators); *words; words += strspn(words, separators)) {
        size_t here = strcspn(words, separators);
        if (here == length && !memcmp(words, text, length)) return true;
        words += here;
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

/* The claim of that name, or else, as a.b, b in a: some issuers have dots in names. */
static const json_t *claim_of(const json_t *json, const char *name) {
    const json_t *plain = json_object_get(json, name);
    if (plain) return plain;
    while (*name) {
        size_t length = strcspn(name, ".");
        json = json_object_getn(json, name, length);
        name += length + (name[length] == '.');
    }
    return json;
}

/* ---- who made it, for whom ---- */

/* Is the claim one of these texts, or a list that holds one? RFC 7519 has aud as either. */
static bool claim_holds(const json_t *claim, const char *texts) {
    if (json_is_string(claim)) return holds_word(texts, SEPARATORS, json_string_value(claim));
    for (size_t i = 0; i < json_array_size(claim); i++) {
        const json_t *item = json_array_get(claim, i);
        if (json_is_string(item) && holds_word(texts, SEPARATORS, json_string_value(item))) return true;
    }
    return false;
}

/* The token must be made for us, by an issuer that we trust. */
static int check_parties(const struct claim_rules *rules, const json_t *json, struct error *error) {
    const json_t *issuer = json_object_get(json, "iss");
    if (*rules->audience && !claim_holds(claim_of(json, rules->audience_claim), rules->audience))
        return error_set(error, -EACCES, "the token is for another audience");
    if (*rules->issuer && (!json_is_string(issuer) || strcmp(json_string_value(issuer), rules->issuer)))
        return error_set(error, -EACCES, "the token is of another issuer");
    return 0;
}

/* ---- when it is good ---- */

static int read_life(const json_t *json, int64_t now_ms, struct auth_claims *claims, struct error *error) {
    if (date_want(json, "exp", &claims->expires_ms, NULL))
        return error_set(error, -EACCES, "the token has no usable exp");
    if (claims->expires_ms <= now_ms) return error_set(error, -ETIME, "the token has expired");

    int64_t not_before_ms;
    int code = date_want(json, "nbf", &not_before_ms, NULL);
    if (code == -EINVAL) return error_set(error, -EACCES, "the token's nbf is not usable");
    if (!code && not_before_ms > now_ms + NOT_BEFORE_LEEWAY_MS)
        return error_set(error, -EACCES, "the token is not valid yet");
    return 0;
}

/* Cuts what the token says of its end to the longest life. */
static int limit_life(const struct claim_rules *rules, const json_t *json, int64_t now_ms, struct auth_claims *claims,
                      struct error *error) {
    int64_t begin_ms = now_ms;
    if (!rules->max_life_ms) return 0;
    if (date_want(json, "iat", &begin_ms, NULL) == -EINVAL)
        return error_set(error, -EACCES, "the token's iat is not usable");
    int64_t end_ms = (begin_ms < now_ms ? begin_ms : now_ms) + rules->max_life_ms;
    if (end_ms <= now_ms)
        return error_set(error, -ETIME, "the token is older than tokens may be (auth.token.max.life.s)");
    if (end_ms < claims->expires_ms) claims->expires_ms = end_ms;
    return 0;
}

/* ---- who the user is, and what they may do ---- */

/* A user id in its only spelling: "0", or digits that start with another. */
static bool user_id(const char *text, int64_t *user) {
    size_t size = text ? strlen(text) : 0;
    return size && (text[0] != '0' || size == 1) && text_number(text, size, INT64_MAX, user);
}

/* A text of the provider's. Programs, which are no users here, have one, too. */
static bool read_external(const struct claim_rules *rules, const json_t *json, struct auth_claims *claims) {
    const char *text = json_string_value(claim_of(json, rules->user_claim));
    if (claims->gateway || !text || !external_id_is(text, strlen(text))) return false;
    strcpy(claims->external, text);
    claims->user = external_id_number(text);
    return true;
}

/* A claim that is not `sub`, which is a text by RFC 7519, may have the id as a number. */
static bool read_number(const struct claim_rules *rules, const json_t *json, int64_t *user) {
    const json_t *claim = claim_of(json, rules->user_claim);
    if (!json_is_integer(claim) || !strcmp(rules->user_claim, "sub")) return user_id(json_string_value(claim), user);
    if (json_integer_value(claim) < 0) return false;
    *user = json_integer_value(claim);
    return true;
}

int claims_read(const struct claim_rules *rules, const json_t *json, int64_t now_ms, struct auth_claims *claims,
                struct error *error) {
    struct auth_claims read = {.user = -1};
    int code = check_parties(rules, json, error);
    if (!code) code = read_life(json, now_ms, &read, error);
    if (code) return code;

    const char *scope = NULL;
    if (json_want_text(json, "scope", &scope, NULL) == -EINVAL)
        return error_set(error, -EACCES, "the token's scope is not usable");
    read.gateway = scope && holds_word(scope, " ", "gateway");
    read.moderator = scope && holds_word(scope, " ", "moderator");

    int64_t level = 0;
    json_want_int(json, "level", 0, INT32_MAX, &level, NULL);
    read.level = (int32_t)level;

    bool named = rules->directory ? read_external(rules, json, &read) : read_number(rules, json, &read.user);
    if (!named && !read.gateway) return error_set(error, -EACCES, "the token's %s is no user id", rules->user_claim);
    code = limit_life(rules, json, now_ms, &read, error);
    if (!code) *claims = read;
    return code;
}
