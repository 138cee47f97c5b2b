/* Tokens: those that count, and the many ways in which one may be forged or wrong. */
#include <jwt.h>

#include "json/json.h"
#include "service/auth.h"
#include "unit/kit/kit.h"
#include "unit/lib/service/tokens.h"

struct keys {
    char *folder, secret[96], public_key[96], other[96];
    struct auth *both, *hs256, *rs256, *none;
};

static struct auth *make(const char *secret, const char *public_key) {
    struct auth *auth = NULL;
    struct auth_options options = {.hs256_key_file = secret, .rs256_public_key_file = public_key};
    if (auth_new(&options, &auth, &failure)) fail_msg("%s", failure.text);
    return auth;
}

SET_UP() {
    struct keys *keys = kit_zero(sizeof *keys);
    keys->folder = kit_folder();
    snprintf(keys->secret, sizeof keys->secret, "%s/secret", keys->folder);
    snprintf(keys->public_key, sizeof keys->public_key, "%s/public.pem", keys->folder);
    snprintf(keys->other, sizeof keys->other, "%s/other", keys->folder);
    kit_write(keys->secret, TOKENS_SECRET "\n");
    kit_write(keys->public_key, TOKENS_PUBLIC_KEY);
    keys->both = make(keys->secret, keys->public_key);
    keys->hs256 = make(keys->secret, "");
    keys->rs256 = make(NULL, keys->public_key);
    keys->none = make(NULL, NULL);
    return keys;
}

TEAR_DOWN(struct keys *keys) {
    auth_free(keys->both);
    auth_free(keys->hs256);
    auth_free(keys->rs256);
    auth_free(keys->none);
}

static int verify(struct auth *auth, const char *token, struct auth_claims *claims) {
    struct error error = {.text = ""};
    int code = auth_verify(auth, token, strlen(token), TOKENS_NOW_MS, claims, &error);
    assert_true(code == 0 || error.text[0]);
    // Nothing of the token gets into a log.
    const char *dot = strchr(token, '.');
    if (code && dot && strlen(dot) > 8) {
        char part[9] = "";
        memcpy(part, dot + 1, 8);
        assert_null(strstr(error.text, part));
    }
    return code;
}

#define assert_user(auth, token, wanted)                                                                               \
    do {                                                                                                               \
        struct auth_claims found = {.user = -2};                                                                       \
        assert_int_equal(verify(auth, token, &found), 0);                                                              \
        assert_true(found.user == (wanted) && !found.gateway);                                                         \
    } while (0)

#define assert_refused(auth, token, code)                                                                              \
    do {                                                                                                               \
        struct auth_claims untouched = {.user = -2};                                                                   \
        assert_int_equal(verify(auth, token, &untouched), code);                                                       \
        assert_int_equal(untouched.user, -2);                                                                          \
    } while (0)

TEST(genuine_tokens_count, struct keys *keys) {
    assert_user(keys->both, TOKEN_HS256, 42);
    assert_user(keys->both, TOKEN_RS256, 42);
    assert_user(keys->hs256, TOKEN_HS256, 42);
    assert_user(keys->rs256, TOKEN_RS256, 42);
    assert_user(keys->both, TOKEN_SUB_ZERO, 0);
    assert_user(keys->both, TOKEN_SUB_LARGEST, INT64_MAX);
    struct auth_claims claims;
    assert_int_equal(verify(keys->both, TOKEN_HS256, &claims), 0);
    assert_int_equal(claims.expires_ms, TOKENS_NOW_MS + 600 * 1000);
}

/* A good token of the tests' secret with these claims besides; the caller frees. */
static char *token_having(const char *claims) {
    jwt_t *jwt = NULL;
    assert_int_equal(jwt_new(&jwt), 0);
    jwt_add_grant(jwt, "sub", "42");
    jwt_add_grant_int(jwt, "exp", TOKENS_NOW_MS / 1000 + 600);
    assert_int_equal(jwt_add_grants_json(jwt, claims), 0);
    jwt_set_alg(jwt, JWT_ALG_HS256, (const unsigned char *)TOKENS_SECRET, (int)strlen(TOKENS_SECRET));
    char *encoded = jwt_encode_str(jwt);
    jwt_free(jwt);
    return encoded;
}

TEST(tokens_for_others_are_refused, struct keys *keys) {
    static const struct {
        const char *audience, *issuer, *claims;
        int code;
    } CASES[] = {
        {"", "", "{\"aud\":\"anybody\",\"iss\":\"anybody\"}", 0},
        {"us", NULL, "{\"aud\":\"us\"}", 0},
        {"us", NULL, "{\"aud\":[\"them\",\"us\"],\"iss\":\"anybody\"}", 0},
        {"us", NULL, "{\"aud\":\"them\"}", -EACCES},
        {"us", NULL, "{\"aud\":\"us too\"}", -EACCES},
        {"us", NULL, "{\"aud\":[\"them\"]}", -EACCES},
        {"us", NULL, "{\"aud\":{\"us\":1}}", -EACCES},
        {"us", NULL, "{\"aud\":null}", -EACCES},
        {"us", NULL, "{}", -EACCES},
        {NULL, "them", "{\"iss\":\"them\"}", 0},
        {NULL, "them", "{\"iss\":\"us\"}", -EACCES},
        {NULL, "them", "{\"iss\":[\"them\"]}", -EACCES},
        {NULL, "them", "{}", -EACCES},
        {"us", "them", "{\"aud\":\"us\",\"iss\":\"them\"}", 0},
        {"us", "them", "{\"aud\":\"us\"}", -EACCES},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct auth *auth = NULL;
        struct auth_claims claims;
        struct auth_options options = {
            .hs256_key_file = keys->secret, .audience = CASES[i].audience, .issuer = CASES[i].issuer};
        assert_int_equal(auth_new(&options, &auth, NULL), 0);
        FREED char *token = token_having(CASES[i].claims);
        if (verify(auth, token, &claims) != CASES[i].code) fail_msg("case %zu", i);
        auth_free(auth);
    }
}

TEST(algorithms_that_are_not_configured_do_not_exist, struct keys *keys) {
    assert_refused(keys->rs256, TOKEN_HS256, -EACCES);
    assert_refused(keys->hs256, TOKEN_RS256, -EACCES);
    assert_refused(keys->none, TOKEN_HS256, -EACCES);
    assert_refused(keys->none, TOKEN_RS256, -EACCES);
    assert_refused(keys->none, TOKEN_NONE, -EACCES);
    assert_refused(keys->both, TOKEN_HS512, -EACCES);
    assert_refused(keys->both, TOKEN_HS256_LOWER_CASE, -EACCES);
}

/* libjwt would accept them: it takes whatever key it is given for the algorithm that the token says. */
TEST(public_key_is_no_secret, struct keys *keys) {
    struct auth *all[] = {keys->both, keys->hs256, keys->rs256};
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        assert_refused(all[i], TOKEN_FORGED_PUBLIC_KEY, -EACCES);
        assert_refused(all[i], TOKEN_FORGED_PUBLIC_KEY_NO_NEWLINE, -EACCES);
        assert_refused(all[i], TOKEN_RS256_SAYS_HS256, -EACCES);
        assert_refused(all[i], TOKEN_HS256_SAYS_RS256, -EACCES);
    }
}

TEST(unsigned_and_badly_signed_tokens_are_refused, struct keys *keys) {
    static const char *const TOKENS[] = {
        TOKEN_NONE,
        TOKEN_NONE_NO_DOT,
        TOKEN_NONE_CAPITALS,
        TOKEN_NONE_SIGNED,
        TOKEN_NO_ALG,
        TOKEN_HS256_UNSIGNED,
        TOKEN_HS256_TAMPERED,
        TOKEN_HS256_TWO_PARTS,
        TOKEN_HS256_OTHER_SECRET,
        TOKEN_RS256_OTHER_KEY,
        TOKEN_RS256_TAMPERED,
        TOKEN_CRITICAL,
    };
    for (size_t i = 0; i < ARRAY_SIZE(TOKENS); i++) {
        assert_refused(keys->both, TOKENS[i], -EACCES);
        assert_refused(keys->hs256, TOKENS[i], -EACCES);
        assert_refused(keys->rs256, TOKENS[i], -EACCES);
    }
}

TEST(malformed_tokens_are_refused, struct keys *keys) {
    static const char *const TOKENS[] = {
        "", ".", "..", "...", "a.b.c", "\xff\xfe.\xff.\xff", "e30.e30.", TOKEN_CLAIMS_LIST};
    for (size_t i = 0; i < ARRAY_SIZE(TOKENS); i++) assert_refused(keys->both, TOKENS[i], -EACCES);

    struct auth_claims claims;
    assert_int_equal(auth_verify(keys->both, TOKEN_HS256 "\0x", sizeof TOKEN_HS256 + 1, TOKENS_NOW_MS, &claims, NULL),
                     -EACCES);
    FREED char *endless = mem_alloc(100000);
    memset(endless, 'a', 100000);
    assert_int_equal(auth_verify(keys->both, endless, 100000, TOKENS_NOW_MS, &claims, NULL), -EACCES);
    struct buffer many = {.data = NULL}; // {"a":[1,1,...
    buffer_string(&many, "e30.eyJhIjpb");
    for (int i = 0; i < 500; i++) buffer_string(&many, i % 2 ? "LDEs" : "MSwx");
    buffer_string(&many, "MV19.c2ln");
    assert_fails_saying(auth_verify(keys->both, buffer_cstring(&many), many.size, TOKENS_NOW_MS, &claims, &failure),
                        -EACCES, "the token has more than 512 values");
    buffer_free(&many);
    // A token is its size, not a C string.
    assert_int_equal(
        auth_verify(keys->both, TOKEN_HS256 "trailing", sizeof TOKEN_HS256 - 1, TOKENS_NOW_MS, &claims, NULL), 0);
    assert_int_equal(auth_recall(keys->both, TOKEN_HS256, sizeof TOKEN_HS256 - 1, TOKENS_NOW_MS, &claims, NULL), 0);
    assert_int_equal(auth_recall(keys->both, TOKEN_HS256, sizeof TOKEN_HS256 - 2, TOKENS_NOW_MS, &claims, NULL),
                     -ENOENT);
    assert_int_equal(auth_verify(keys->both, TOKEN_HS256, sizeof TOKEN_HS256 - 2, TOKENS_NOW_MS, &claims, NULL),
                     -EACCES);
}

TEST(expiry_is_required_and_exact, struct keys *keys) {
    assert_refused(keys->both, TOKEN_EXPIRES_NOW, -ETIME);
    assert_user(keys->both, TOKEN_EXPIRES_IN_FRACTION, 42);
    assert_refused(keys->both, TOKEN_NO_EXP, -EACCES);
    assert_refused(keys->both, TOKEN_EXP_TEXT, -EACCES);
    assert_refused(keys->both, TOKEN_EXP_NEGATIVE, -EACCES);
    assert_refused(keys->both, TOKEN_EXP_HUGE, -EACCES);

    struct auth_claims claims;
    int64_t end_ms = TOKENS_NOW_MS + 600 * 1000;
    assert_int_equal(auth_verify(keys->both, TOKEN_HS256, sizeof TOKEN_HS256 - 1, end_ms - 1, &claims, NULL), 0);
    assert_int_equal(auth_verify(keys->both, TOKEN_HS256, sizeof TOKEN_HS256 - 1, end_ms, &claims, NULL), -ETIME);
}

TEST(tokens_have_a_longest_life, struct keys *keys) {
    struct auth_options options = {.hs256_key_file = keys->secret, .max_life_ms = 60 * 1000};
    struct auth *auth = NULL;
    struct auth_claims claims;
    assert_int_equal(auth_new(&options, &auth, NULL), 0);
    int64_t end_ms = TOKENS_NOW_MS + options.max_life_ms; /* it has no iat, and is first seen now */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(auth_verify(auth, TOKEN_HS256, sizeof TOKEN_HS256 - 1, TOKENS_NOW_MS, &claims, NULL), 0);
        assert_int_equal(claims.expires_ms, end_ms);
        assert_int_equal(auth_verify(auth, TOKEN_HS256, sizeof TOKEN_HS256 - 1, end_ms, &claims, NULL), -ETIME);
    }
    auth_free(auth);
}

TEST(not_before_has_a_minute_of_leeway, struct keys *keys) {
    assert_user(keys->both, TOKEN_NBF_PAST, 42);
    assert_user(keys->both, TOKEN_NBF_LEEWAY, 42);
    assert_refused(keys->both, TOKEN_NBF_FUTURE, -EACCES);
    assert_refused(keys->both, TOKEN_NBF_TEXT, -EACCES);
}

TEST(subject_is_a_user_id_in_its_only_spelling, struct keys *keys) {
    static const char *const TOKENS[] = {TOKEN_SUB_TOO_LARGE,    TOKEN_SUB_LONG,   TOKEN_SUB_NEGATIVE,
                                         TOKEN_SUB_LEADING_ZERO, TOKEN_SUB_SPACE,  TOKEN_SUB_WORD,
                                         TOKEN_SUB_EMPTY,        TOKEN_SUB_NUMBER, TOKEN_SUB_NONE};
    for (size_t i = 0; i < ARRAY_SIZE(TOKENS); i++) assert_refused(keys->both, TOKENS[i], -EACCES);
}

TEST(gateways_are_told_by_their_scope, struct keys *keys) {
    struct auth_claims claims;
    assert_int_equal(verify(keys->both, TOKEN_GATEWAY_WORD, &claims), 0);
    assert_true(claims.gateway && claims.user == -1);
    assert_int_equal(verify(keys->both, TOKEN_GATEWAY_NO_SUB, &claims), 0);
    assert_true(claims.gateway && claims.user == -1);
    assert_int_equal(verify(keys->both, TOKEN_GATEWAY_USER, &claims), 0);
    assert_true(claims.gateway && claims.user == 42);
    assert_user(keys->both, TOKEN_GATEWAY_NEARLY, 42);
    assert_refused(keys->both, TOKEN_SCOPE_LIST, -EACCES);
}

TEST(moderators_are_told_by_their_scope, struct keys *keys) {
    struct auth_claims claims;
    assert_int_equal(verify(keys->both, TOKEN_MODERATOR, &claims), 0);
    assert_true(claims.moderator && !claims.gateway && claims.user == 42);
    assert_int_equal(verify(keys->both, TOKEN_MODERATOR_NEARLY, &claims), 0);
    assert_true(!claims.moderator && claims.user == 42);
    assert_refused(keys->both, TOKEN_MODERATOR_WORD, -EACCES); /* a moderator is a user */
}

TEST(a_level_that_is_none_counts_as_the_lowest, struct keys *keys) {
    static const char *const TOKENS[] = {TOKEN_GATEWAY_USER, TOKEN_MODERATOR_NEARLY, TOKEN_LEVEL_TEXT,
                                         TOKEN_LEVEL_LARGE};
    struct auth_claims claims;
    assert_int_equal(verify(keys->both, TOKEN_MODERATOR, &claims), 0);
    assert_int_equal(claims.level, 3);
    for (size_t i = 0; i < ARRAY_SIZE(TOKENS); i++) {
        assert_int_equal(verify(keys->both, TOKENS[i], &claims), 0);
        assert_int_equal(claims.level, 0);
    }
}

static void refuses_file(struct keys *keys, bool secret, const char *text, const char *reason) {
    struct auth *auth = NULL;
    struct error error = {.text = ""};
    if (text)
        kit_write(keys->other, text);
    else
        unlink(keys->other);
    struct auth_options options = {.hs256_key_file = secret ? keys->other : "",
                                   .rs256_public_key_file = secret ? "" : keys->other};
    assert_true(auth_new(&options, &auth, &error) < 0);
    assert_null(auth);
    assert_non_null(strstr(error.text, reason));
    assert_non_null(strstr(error.text, keys->other));
}

TEST(unusable_key_files_are_refused, struct keys *keys) {
    refuses_file(keys, true, NULL, "No such file");
    refuses_file(keys, false, NULL, "No such file");
    refuses_file(keys, true, "", "32 bytes");
    refuses_file(keys, true, "0123456789012345678901234567890\n", "32 bytes");
    refuses_file(keys, true, TOKENS_PUBLIC_KEY, "no secret");
    refuses_file(keys, false, "", "BEGIN PUBLIC KEY");
    refuses_file(keys, false, "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n", "BEGIN PUBLIC KEY");
}
